//! The workload `action`: one operation is one action, from its trigger through its attempts to its end.
//!
//! The code that triggers an action, judges its outcomes and performs its attempts is the code of the server: the runners, the
//! outbound guard, the retry policy. Secrets come from this host, are in memory during an attempt only, and no reason of a failure
//! shows one: where a configuration names a secret, only the type of an error is reported.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use sprag_core::action::cost::without;
use sprag_core::action::error::kind;
use sprag_core::action::outcome::{Failure, Outcome, Probe};
use sprag_core::action::retry::{Judgement, Trial};
use sprag_core::action::runner::{Attempt, BoxFuture, Control, Runner, Superseded};
use sprag_core::action::secret::{self, Owner};
use sprag_core::action::{Definition, OnUnknown};
use sprag_core::clock::Clock;
use sprag_core::document::Finding;
use sprag_core::expression::template::{Frozen, TemplateLimits};
use sprag_core::ids::{ActionId, AttemptId, ExecutionId, Slot};
use sprag_core::machine::Fate;
use sprag_core::machine::testing::{Ending, Occasion, Taken, TestSubject};
use sprag_runners::Registry;
use sprag_runners::http::Wire;
use sprag_runners::secrets::Secrets;

use super::standard::Standard;
use super::stub::{self, Scenarios, Stub};
use super::{Stateless, User, Workload};
use crate::plan::{ActionCall, Share};

/// Actions of one definition.
pub(super) struct Actions {
    subject: TestSubject,
    runner: Arc<dyn Runner>,
    registry: Registry,
    secrets: Arc<Secrets>,
    clock: Arc<dyn Clock>,
    variables: Map<String, Value>,
    /// What answers in the place of the target.
    scenarios: Option<Scenarios>,
    /// Serves the replies of scenarios as long as it lives.
    _stub: Option<Arc<Stub>>,
    share: Share,
    performed: AtomicU64,
    /// Ids of actions must differ between agents and runs.
    entropy: u64,
}

/// One action on its way.
struct Operation<'a> {
    of: &'a Actions,
    definition: &'a Definition,
    id: ActionId,
    config: Frozen,
    script: Option<stub::SharedScript>,
    checkpoint: Mutex<Option<Value>>,
}

impl Actions {
    /// Checks that this host can perform the action.
    pub(super) async fn new(call: &ActionCall, host: &Standard, seed: u64, share: Share) -> Result<Self, String> {
        let subject = call.subject().map_err(|found| first(&found))?;
        let definition = subject.definition().ok_or("the plan has no action")?;
        let kind = definition.kind.clone();
        let stub = match call.scenarios.as_slice() {
            [] => None,
            _ => Some(Arc::new(
                Stub::start()
                    .await
                    .map_err(|error| format!("no stub server: {error}"))?,
            )),
        };
        let registry = match &stub {
            Some(stub) => {
                let wire = Wire {
                    detour: Some(Arc::<Stub>::clone(stub)),
                    ..Wire::default()
                };
                let (clock, secrets) = (Arc::clone(host.clock()), Arc::clone(host.secrets()));
                Registry::over(host.options(), clock, secrets, &wire)
                    .map_err(|error| format!("the runners cannot be made: {error}"))?
            }
            None => host.registry().clone(),
        };
        let found = subject.check(&registry);
        if !found.is_empty() {
            return Err(first(&found));
        }
        let runner = registry.get(&kind).cloned();
        Ok(Self {
            runner: runner.ok_or_else(|| format!("no runner of this agent serves the type `{kind}`"))?,
            scenarios: stub.is_some().then(|| Scenarios::new(&call.scenarios, seed)),
            variables: call.variables.clone(),
            secrets: Arc::clone(host.secrets()),
            clock: Arc::clone(host.clock()),
            entropy: getrandom::u64().map_err(|error| format!("no random numbers: {error}"))?,
            performed: AtomicU64::new(0),
            _stub: stub,
            subject,
            registry,
            share,
        })
    }

    async fn run(&self) -> Result<(), String> {
        let performed = self.performed.fetch_add(1, Ordering::Relaxed);
        let number = performed * u64::from(self.share.of) + u64::from(self.share.index);
        let Some(definition) = self.subject.definition() else {
            return Ok(());
        };
        let now = self.clock.now();
        let occasion = Occasion {
            variables: self.variables.clone(),
            key: None,
            now,
            event: None,
            results: Map::new(),
        };
        let entropy = self.entropy.wrapping_add(number);
        let execution = ExecutionId::compose(now, Slot::default(), entropy);
        let config = match self.subject.trigger(&occasion, execution) {
            Some(Fate::Ready { frozen, .. }) => frozen.unwrap_or_else(|| constant(definition)),
            Some(Fate::Skipped(_)) => return Err("skipped: its condition is false".to_owned()),
            Some(Fate::Dead(error)) => return Err(format!("{}: {}", error.kind, error.message)),
            None => return Ok(()),
        };
        let operation = Operation {
            of: self,
            definition,
            id: ActionId::compose(now, Slot::default(), entropy),
            config,
            script: self.scenarios.as_ref().map(|scenarios| scenarios.script(number)),
            checkpoint: Mutex::default(),
        };
        match &operation.script {
            Some(script) => stub::within(Arc::clone(script), operation.run()).await,
            None => operation.run().await,
        }
    }
}

impl Operation<'_> {
    /// Tries until the action ends.
    async fn run(&self) -> Result<(), String> {
        let clock = &self.of.clock;
        let deadline = self.definition.deadline.map(|deadline| clock.now().plus(deadline));
        let mut number = 1;
        loop {
            let outcome = self.attempt(number).await;
            let (Outcome::NotDone(failure) | Outcome::Unknown(failure)) = &outcome else {
                return Ok(());
            };
            let is_unknown = matches!(outcome, Outcome::Unknown(_));
            if is_unknown && self.definition.on_unknown == OnUnknown::Review {
                return Err(self.reason(failure));
            }
            let now = clock.now();
            let trial = Trial {
                action: self.id,
                attempt: number,
                failure,
                now,
                deadline,
            };
            let Judgement::Again(due) = self.definition.policy.judge(trial) else {
                return Err(self.reason(failure));
            };
            tokio::time::sleep(Duration::from_millis(due.since(now))).await;
            number += 1;
        }
    }

    /// Why the action failed. A text that could hold a secret in some form is left out.
    fn reason(&self, failure: &Failure) -> String {
        let error = &failure.error;
        if self.config.late.is_empty() || error.kind == kind::INVALID_CONFIGURATION {
            format!("{}: {}", error.kind, error.message)
        } else {
            error.kind.clone()
        }
    }

    async fn attempt(&self, number: u32) -> Outcome {
        let timeout = Duration::from_millis(self.definition.timeout);
        if let Some(ending) = self.script.as_ref().and_then(stub::ending) {
            return scripted(ending, timeout).await;
        }
        let config = match self.bound(number).await {
            Ok(config) => config,
            Err(message) => return Outcome::not_done(kind::INVALID_CONFIGURATION, message),
        };
        let key = format!("{}.0", self.id);
        let checkpoint = self.checkpointed();
        let attempt = Attempt {
            id: AttemptId::compose(
                self.of.clock.now(),
                Slot::default(),
                self.of.entropy.wrapping_add(number.into()),
            ),
            action: self.id,
            action_id: &self.definition.action_id,
            kind: &self.definition.kind,
            number,
            config: &config,
            idempotency_key: &key,
            timeout,
            checkpoint: checkpoint.as_ref(),
            templates: &self.of.subject.machine.templates,
            control: self,
        };
        match self.of.runner.run(attempt).await {
            Outcome::Unknown(failure) => self.probed(attempt, failure).await,
            known => known,
        }
    }

    /// Asks the target about an unknown outcome.
    async fn probed(&self, attempt: Attempt<'_>, failure: Failure) -> Outcome {
        let checkpoint = self.checkpointed();
        let attempt = Attempt {
            checkpoint: checkpoint.as_ref().or(attempt.checkpoint),
            ..attempt
        };
        let Some(question) = self.of.runner.probe(attempt) else {
            return Outcome::Unknown(failure);
        };
        match tokio::time::timeout(attempt.timeout, question).await {
            Ok(Probe::Happened(done)) => Outcome::Done(done),
            Ok(Probe::DidNotHappen) => Outcome::NotDone(failure),
            Ok(Probe::Unclear) | Err(_) => Outcome::Unknown(failure),
        }
    }

    fn checkpointed(&self) -> Option<Value> {
        self.checkpoint.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The configuration with everything that only an attempt knows.
    async fn bound(&self, number: u32) -> Result<Value, String> {
        if self.config.late.is_empty() {
            return Ok(without(self.config.config.clone()));
        }
        let secrets = self.named_secrets().await?;
        let late = json!({
            "secrets": secrets,
            "attempt": { "number": number, "idempotencyKey": format!("{}.0", self.id) },
        });
        let config = self.config.bind(&late, TemplateLimits::default());
        // The text of the error repeats the template, not the secret.
        config.map(without).map_err(|error| error.to_string())
    }

    /// The secrets that the configuration names, if it may name them there.
    async fn named_secrets(&self) -> Result<BTreeMap<String, String>, String> {
        let uses = self.config.secrets().map_err(|error| error.kind.to_string())?;
        let owner = Owner {
            machine: &self.of.subject.machine.id,
            kind: &self.definition.kind,
        };
        if let Some(problem) = secret::problems(&uses, owner, &self.of.registry).first() {
            return Err(format!(
                "config{}: {}; {}",
                problem.pointer, problem.detail, problem.remedy
            ));
        }
        let paths = self.config.late_paths().map_err(|error| error.to_string())?;
        let mut secrets = BTreeMap::new();
        for path in paths.iter().filter(|path| path.root() == Some("secrets")) {
            let name = path
                .segments()
                .get(1)
                .ok_or("name one secret, as in `secrets.crm_token`")?;
            let value = self.of.secrets.get(name).await.map_err(|error| error.to_string())?;
            secrets.insert(name.to_string(), value);
        }
        Ok(secrets)
    }
}

impl Control for Operation<'_> {
    fn checkpoint(&self, value: Value) -> BoxFuture<'_, Result<(), Superseded>> {
        *self.checkpoint.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        Box::pin(std::future::ready(Ok(())))
    }

    /// The load generator cuts an operation by dropping it.
    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

impl Workload for Actions {
    fn user(self: Arc<Self>) -> Box<dyn User> {
        Box::new(self)
    }
}

impl Stateless for Actions {
    fn perform_one(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(self.run())
    }
}

/// The configuration of a definition without expressions.
fn constant(definition: &Definition) -> Frozen {
    Frozen {
        config: definition.config.constant().cloned().unwrap_or_default(),
        ..Frozen::default()
    }
}

/// An outcome that a scenario scripts.
async fn scripted(ending: Taken<Ending>, timeout: Duration) -> Outcome {
    let waited = tokio::time::sleep(Duration::from_millis(ending.delay));
    match tokio::time::timeout(timeout, waited).await {
        Ok(()) => ending.what.outcome(),
        Err(_) => Outcome::unknown(kind::TIMEOUT, format!("no outcome within {} ms", timeout.as_millis())),
    }
}

/// The first of these findings, in one line.
fn first(found: &[Finding]) -> String {
    found.first().map_or_else(String::new, |finding| {
        let Finding {
            pointer,
            detail,
            remedy,
            ..
        } = finding;
        format!("`action.definition{}`: {detail}; {remedy}", pointer.replace('/', "."))
    })
}
