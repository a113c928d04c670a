//! Attempts as tasks: secrets bound, deadline and cancellation applied, panics caught, outcomes sent back.
//!
//! A task never decides anything: it performs the attempt it was given and reports. Secrets live in the task's memory
//! only, and are masked in whatever leaves it.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use sprag_core::action::cost::{self, COST_ESTIMATE, without};
use sprag_core::action::error::kind;
use sprag_core::action::{
    ActionError, Attempt, BoxFuture, ConfigProblem, Control, Failure, Fault, Outcome, Permission, Probe, Runner,
    SecretRules, Superseded,
};
use sprag_core::document::source::nearest;
use sprag_core::expression::template::{self, Frozen};
use sprag_core::ids::AttemptId;
use sprag_core::ids::trace;
use sprag_core::machine::{ConfigCheck, UnknownType};
use sprag_core::text::redact::Redactor;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::dead_letters::settle_anywhere;
use super::grants::{self, Masks};
use super::runner::EffectRunner;
use super::secret_hosts::SecretHosts;
use super::secret_rules::Rules;
use super::traces::Traces;
use crate::decide::{ActionTypes, AttemptJob, Edited, Task};
use crate::engine::inbox::Inbox;
use crate::jobs::dead_letters::LettersToRetry;
use crate::lane::member::{Place, Whereabouts};
use crate::leases::Grant;
use crate::limits::{GrantReceived, LimitDemand, LimitGrant, Peers, owner_slot};
use crate::requests::{AttemptRef, Call, Checkpoint, LettersSettled, ReportOutcome};

/// Runners keep an attempt's time themselves, and may need a moment more to end what they started. After that the
/// attempt is dropped.
const SLACK: Duration = Duration::from_secs(10);

/// How many tasks are kept, at least, before those that ended are looked for.
const SWEEP_MIN: usize = 64;

/// Where secrets come from, asked at attempt time.
pub trait SecretSource: Send + Sync {
    /// The secret of that name; `None` when it does not exist.
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, String>>;

    /// Whether the operator lets this machine name this secret.
    fn allows(&self, machine: &str, name: &str) -> bool {
        let _ = (machine, name);
        true
    }
}

/// No secrets.
pub(crate) struct NoSecrets;

impl SecretSource for NoSecrets {
    fn get<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Result<Option<String>, String>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// The runners of this process by action type.
pub(crate) type Runners = BTreeMap<String, Arc<dyn Runner>>;

/// Runs attempts as tasks of a runtime.
pub(crate) struct TaskRunner {
    runtime: tokio::runtime::Handle,
    runners: Arc<Runners>,
    secrets: Arc<dyn SecretSource>,
    inbox: Inbox,
    masks: Masks,
    tasks: BTreeMap<AttemptId, Running>,
    /// How many tasks are kept before those that ended are looked for.
    sweep_at: usize,
    /// Whether what attempts send names their spans.
    is_traced: bool,
    /// Where limit owners are, and the way there.
    link: Option<(Whereabouts, Arc<dyn Peers>)>,
}

/// What the runners of this process say about action types.
pub(crate) struct RunnerTypes {
    runners: Arc<Runners>,
    secrets: Arc<dyn SecretSource>,
}

impl RunnerTypes {
    pub(crate) fn new(runners: &Arc<Runners>, secrets: &Arc<dyn SecretSource>) -> Self {
        Self {
            runners: Arc::clone(runners),
            secrets: Arc::clone(secrets),
        }
    }
}

impl ActionTypes for RunnerTypes {
    fn destination(&self, kind: &str, config: &Value) -> Option<String> {
        self.runners.get(kind)?.destination(kind, config)
    }

    fn problems(&self, edited: Edited<'_>) -> Vec<ConfigProblem> {
        let Edited { owner, runner, config } = edited;
        // What a program elsewhere accepts is not known here.
        let runner = self.runners.get(owner.kind).filter(|_| runner.is_none());
        let rules = Rules {
            runner: runner.map(AsRef::as_ref),
            source: self.secrets.as_ref(),
        };
        let mut problems = rules.problems(config, owner);
        if let Some(detail) = cost::problem(&config.config) {
            problems.push(ConfigProblem {
                pointer: format!("/{COST_ESTIMATE}"),
                detail,
                remedy: "write it as in `costEstimate: 0.01`".to_owned(),
                fault: Fault::Definition,
            });
        }
        if let Some(runner) = runner {
            problems.extend(runner.validate(owner.kind, &without(config.config.clone())));
        }
        problems
    }

    fn can_settle(&self, kind: &str) -> bool {
        self.runners.contains_key(kind)
    }

    fn configs(&self) -> &dyn ConfigCheck {
        self
    }

    fn permissions(&self, kind: &str, config: &Value) -> Vec<Permission> {
        let runner = self.runners.get(kind);
        runner.map_or_else(Vec::new, |runner| runner.permissions(kind, config))
    }
}

impl SecretRules for RunnerTypes {
    fn takes_secret(&self, kind: &str, pointer: &str) -> bool {
        let runner = self.runners.get(kind);
        runner.is_none_or(|runner| runner.takes_secret(kind, pointer))
    }

    fn allows_secret(&self, machine: &str, name: &str) -> bool {
        self.secrets.allows(machine, name)
    }
}

impl ConfigCheck for RunnerTypes {
    fn check(&self, kind: &str, config: &Value) -> Result<Vec<ConfigProblem>, UnknownType> {
        match self.runners.get(kind) {
            Some(runner) => Ok(runner.validate(kind, config)),
            None => Err(UnknownType {
                nearest: nearest(kind, self.runners.keys().map(String::as_str)).map(str::to_owned),
            }),
        }
    }

    fn warnings(&self, kind: &str, config: &Value) -> Vec<ConfigProblem> {
        let runner = self.runners.get(kind);
        runner.map_or_else(Vec::new, |runner| runner.warnings(kind, config))
    }
}

/// A task that runs.
pub(crate) struct Running {
    cancel: watch::Sender<bool>,
    abort: AbortHandle,
}

impl TaskRunner {
    /// For the runners of this process, on the present runtime.
    pub(crate) fn new(runners: Arc<Runners>, secrets: Arc<dyn SecretSource>, inbox: Inbox, masks: Masks) -> Self {
        Self {
            runtime: tokio::runtime::Handle::current(),
            runners,
            secrets,
            inbox,
            masks,
            tasks: BTreeMap::new(),
            sweep_at: SWEEP_MIN,
            is_traced: false,
            link: None,
        }
    }

    /// The same, with the way to limit owners.
    pub(crate) fn linked(mut self, link: Option<(Whereabouts, Arc<dyn Peers>)>) -> Self {
        self.link = link;
        self
    }

    /// The same, whose attempts name their spans in what they send if anybody draws traces.
    pub(crate) fn traced(mut self, traces: &Traces) -> Self {
        self.is_traced = traces.is_on();
        self
    }

    /// Forgets tasks that ended, once they may be half of all: so each start pays for two looks, however many run.
    fn forget_finished(&mut self) {
        if self.tasks.len() >= self.sweep_at {
            self.tasks.retain(|_, running| !running.abort.is_finished());
            self.sweep_at = SWEEP_MIN.max(self.tasks.len() * 2);
        }
    }
}

/// Says something to the owner of a limit, wherever that is now. None where the owner could not be asked.
async fn sent((whereabouts, peers): (Whereabouts, Arc<dyn Peers>), demand: &LimitDemand) -> Option<LimitGrant> {
    let Place::There { advertise, .. } = whereabouts.place(owner_slot(&demand.limit.key)) else {
        return None;
    };
    let token = whereabouts.view()?.token.clone();
    match peers.demand(&advertise, &token, demand).await {
        Ok(allowed) => Some(allowed),
        Err(error) => {
            tracing::debug!(%error, key = demand.limit.key, "the owner of a limit could not be asked");
            None
        }
    }
}

impl EffectRunner for TaskRunner {
    fn retry_elsewhere(&mut self, letters: LettersToRetry) {
        let (link, inbox) = (self.link.clone(), self.inbox.clone());
        self.runtime.spawn(async move {
            let settled = settle_anywhere(link, &inbox, &letters).await;
            inbox.put(LettersSettled {
                job: letters.job,
                settled,
            });
        });
    }

    fn send_demand(&mut self, demand: LimitDemand) {
        let Some(link) = self.link.clone() else { return };
        let inbox = self.inbox.clone();
        self.runtime.spawn(async move {
            let allowed = sent(link, &demand).await;
            let LimitDemand { limit, number, .. } = demand;
            inbox.put(GrantReceived { limit, number, allowed });
        });
    }

    fn start(&mut self, job: AttemptJob) {
        self.forget_finished();
        let (cancel, cancelled) = watch::channel(false);
        let attempt = job.attempt;
        let runner = self.runners.get(&job.kind).cloned();
        let secrets = Arc::clone(&self.secrets);
        let link = Link {
            attempt,
            inbox: self.inbox.clone(),
            cancelled,
            checkpointed: Mutex::default(),
            is_traced: self.is_traced,
        };
        let inbox = self.inbox.clone();
        let task = self.runtime.spawn(async move {
            let work = Work {
                runner: runner.as_deref(),
                secrets: secrets.as_ref(),
                line: &link,
            };
            let outcome = perform(work, &job).await;
            inbox.put(ReportOutcome { attempt, outcome });
        });
        self.tasks.insert(
            attempt.attempt,
            Running {
                cancel,
                abort: task.abort_handle(),
            },
        );
    }

    fn cancel(&mut self, attempt: AttemptRef) {
        if let Some(running) = self.tasks.get(&attempt.attempt) {
            running.cancel.send_replace(true);
        }
    }

    fn grant(&mut self, grant: Grant) {
        let (secrets, masks, inbox) = (Arc::clone(&self.secrets), self.masks.clone(), self.inbox.clone());
        self.runtime
            .spawn(async move { grants::give(grant, secrets.as_ref(), &masks, &inbox).await });
    }

    fn abandon(&mut self, attempt: AttemptId) {
        self.masks.forget(attempt);
        if let Some(running) = self.tasks.remove(&attempt) {
            running.abort.abort();
        }
    }
}

impl Drop for TaskRunner {
    fn drop(&mut self) {
        for running in self.tasks.values() {
            running.abort.abort();
        }
    }
}

/// What an attempt is performed with.
#[derive(Clone, Copy)]
pub(crate) struct Work<'a> {
    pub(crate) runner: Option<&'a dyn Runner>,
    pub(crate) secrets: &'a dyn SecretSource,
    pub(crate) line: &'a dyn Line,
}

/// An attempt's way to the lane, which keeps what it checkpoints.
pub(crate) trait Line: Control {
    /// What this attempt checkpointed last: a probe must see that.
    fn checkpointed(&self) -> Option<Value>;

    /// The same line, as runners see it.
    fn control(&self) -> &dyn Control;
}

/// An attempt's line to the engine.
struct Link {
    attempt: AttemptRef,
    inbox: Inbox,
    cancelled: watch::Receiver<bool>,
    checkpointed: Mutex<Option<Value>>,
    is_traced: bool,
}

impl Line for Link {
    fn checkpointed(&self) -> Option<Value> {
        self.checkpointed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn control(&self) -> &dyn Control {
        self
    }
}

impl Control for Link {
    fn checkpoint(&self, value: Value) -> BoxFuture<'_, Result<(), Superseded>> {
        Box::pin(async move {
            let (call, answer) = Call::asked(Checkpoint {
                attempt: self.attempt,
                value: value.clone(),
            });
            self.inbox.put_call(call);
            match answer.await {
                Ok(replied) if replied.answer.is_ok() => {
                    *self.checkpointed.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
                    Ok(())
                }
                Ok(_) | Err(_) => Err(Superseded),
            }
        })
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        let mut cancelled = self.cancelled.clone();
        Box::pin(async move {
            if cancelled.wait_for(|&asked| asked).await.is_err() {
                // The engine let go of the task: it is about to be aborted.
                std::future::pending::<()>().await;
            }
        })
    }

    fn traceparent(&self) -> Option<String> {
        let AttemptRef { attempt, execution, .. } = self.attempt;
        self.is_traced.then(|| trace::traceparent(execution, attempt))
    }
}

/// Performs the attempt: binds its secrets, runs it, asks the world about an unknown outcome, masks what it says.
pub(crate) async fn perform(work: Work<'_>, job: &AttemptJob) -> Outcome {
    let Some(runner) = work.runner else {
        let message = format!("no runner serves the type `{}`", job.kind);
        return Outcome::not_done(kind::INVALID_CONFIGURATION, message);
    };
    let Prepared {
        config,
        redactor,
        hosts,
    } = match prepare(work, job, runner).await {
        Ok(ready) => ready,
        Err(outcome) => return lost_or(job, *outcome),
    };
    let attempt = Attempt {
        id: job.attempt.attempt,
        action: job.attempt.action,
        action_id: &job.action_id,
        kind: &job.kind,
        number: job.number,
        config: &config,
        idempotency_key: &job.idempotency_key,
        timeout: Duration::from_millis(job.timeout_millis),
        checkpoint: job.checkpoint.as_ref(),
        templates: &job.templates,
        control: work.line.control(),
    };
    let outcome = match job.task {
        Task::Run => match run(runner, attempt).await {
            Outcome::Unknown(failure) => {
                let checkpointed = work.line.checkpointed();
                let checkpoint = checkpointed.as_ref().or(attempt.checkpoint);
                probe(runner, Attempt { checkpoint, ..attempt }, failure).await
            }
            known => known,
        },
        Task::Settle => settle(runner, attempt).await,
    };
    hosts.masked(outcome.masked(&redactor))
}

/// The configuration with its secrets, and what masks them.
struct Prepared {
    config: Value,
    redactor: Redactor,
    hosts: SecretHosts,
}

async fn prepare(work: Work<'_>, job: &AttemptJob, runner: &dyn Runner) -> Result<Prepared, Box<Outcome>> {
    let rules = Rules {
        runner: Some(runner),
        source: work.secrets,
    };
    rules.check(job)?;
    let secrets = resolve(work.secrets, &job.config).await?;
    let redactor = redactor(&secrets);
    let config = bind(job, &secrets).map_err(|outcome| Box::new(outcome.masked(&redactor)))?;
    let hosts = SecretHosts::of(job, &config, &secrets);
    let config = without(config);
    rules.check_rendered(job, &config, &redactor)?;
    Ok(Prepared {
        config,
        redactor,
        hosts,
    })
}

/// An attempt that was already under way is never "not done" because we could not look.
fn lost_or(job: &AttemptJob, outcome: Outcome) -> Outcome {
    match job.task {
        Task::Run => outcome,
        Task::Settle => died(),
    }
}

fn died() -> Outcome {
    Outcome::unknown(kind::CRASHED, "the process that ran the attempt died")
}

async fn run(runner: &dyn Runner, attempt: Attempt<'_>) -> Outcome {
    let guarded = AssertUnwindSafe(runner.run(attempt)).catch_unwind();
    match tokio::time::timeout(attempt.timeout.saturating_add(SLACK), guarded).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(panic)) => Outcome::unknown(kind::PANIC, panic_text(panic.as_ref())),
        Err(_) => {
            let message = format!("no outcome within {} ms", attempt.timeout.as_millis());
            Outcome::unknown(kind::TIMEOUT, message)
        }
    }
}

/// Asks the world about an unknown outcome.
async fn probe(runner: &dyn Runner, attempt: Attempt<'_>, failure: Failure) -> Outcome {
    let Some(question) = runner.probe(attempt) else {
        return Outcome::Unknown(failure);
    };
    let guarded = AssertUnwindSafe(question).catch_unwind();
    match tokio::time::timeout(attempt.timeout, guarded).await {
        Ok(Ok(Probe::Happened(done))) => Outcome::Done(done),
        Ok(Ok(Probe::DidNotHappen)) => Outcome::NotDone(failure),
        Ok(Ok(Probe::Unclear) | Err(_)) | Err(_) => Outcome::Unknown(failure),
    }
}

/// Finds out what became of an attempt of an earlier process.
async fn settle(runner: &dyn Runner, attempt: Attempt<'_>) -> Outcome {
    if let Some(checkpoint) = attempt.checkpoint
        && let Some(reap) = runner.reap(attempt.kind, checkpoint)
    {
        // A survivor that cannot be ended in time stays unknown, which is what the outcome says.
        let _ = tokio::time::timeout(attempt.timeout, reap).await;
    }
    probe(
        runner,
        attempt,
        Failure::new(ActionError::new(kind::CRASHED, "the process that ran the attempt died")),
    )
    .await
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "the runner panicked".to_owned())
}

/// What masks these secrets.
pub(crate) fn redactor(secrets: &BTreeMap<String, String>) -> Redactor {
    Redactor::new(secrets.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}

/// The secrets that the configuration names, and no others.
pub(crate) async fn resolve(
    source: &dyn SecretSource,
    config: &Frozen,
) -> Result<BTreeMap<String, String>, Box<Outcome>> {
    let paths = config.late_paths().map_err(|error| invalid(error.to_string()))?;
    let mut secrets = BTreeMap::new();
    for path in paths.iter().filter(|path| path.root() == Some("secrets")) {
        let Some(name) = path.segments().get(1) else {
            return Err(invalid("name one secret, as in `secrets.crm_token`".to_owned()));
        };
        match source.get(name).await {
            Ok(Some(value)) => {
                secrets.insert(name.to_string(), value);
            }
            Ok(None) => return Err(unset(name)),
            Err(error) => {
                let message = format!("secret `{name}`: {error}");
                return Err(Box::new(Outcome::not_done(kind::TEMPORARY_FAILURE, message)));
            }
        }
    }
    Ok(secrets)
}

/// The configuration with everything bound that is known only now.
pub(crate) fn bind(job: &AttemptJob, secrets: &BTreeMap<String, String>) -> Result<Value, Box<Outcome>> {
    // Most configurations have no place for any of it.
    let late = match job.config.late.as_slice() {
        [] => Value::Null,
        _ => known_now(job, secrets),
    };
    job.config
        .bind(&late, template::TemplateLimits::default())
        .map_err(|error| invalid(error.to_string()))
}

/// The names that only an attempt can bind.
fn known_now(job: &AttemptJob, secrets: &BTreeMap<String, String>) -> Value {
    let secrets: Map<String, Value> = secrets
        .iter()
        .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
        .collect();
    json!({
        "secrets": secrets,
        "attempt": {
            "id": job.attempt.attempt,
            "number": job.number,
            "idempotencyKey": job.idempotency_key,
        },
    })
}

fn unset(name: &str) -> Box<Outcome> {
    let error = ActionError::new(kind::INVALID_CONFIGURATION, format!("secret `{name}` is not set"));
    let error = error.with_details(json!({ "secret": name }));
    Box::new(Outcome::NotDone(Failure::new(error)))
}

fn invalid(message: String) -> Box<Outcome> {
    Box::new(Outcome::not_done(kind::INVALID_CONFIGURATION, message))
}
