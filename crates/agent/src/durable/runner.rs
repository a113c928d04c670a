//! The runner of the type `load`: it finds and checks the agents, runs the controller, and passes on who stops it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sprag_core::action::definition::LOAD;
use sprag_core::action::error::kind;
use sprag_core::action::{Attempt, BoxFuture, ConfigProblem, Fault, Outcome, Permission, Runner};
use sprag_core::clock::Clock;
use sprag_runners::http::outbound::{self, Guard};
use sprag_runners::secrets::Secrets;
use tokio::sync::mpsc;

use super::config::{self, LoadConfig};
use super::directory::{Found, parts};
use super::loads::Loads;
use super::options::Options;
use super::{outcome, results};
use crate::controller::{self, Error, Finished, Stop};
use crate::plan::Plan;

/// How long agents may take to end an aborted run. The engine drops a cancelled attempt after ten seconds; agents end by
/// themselves within fifteen.
const ABORT_WITHIN: Duration = Duration::from_secs(8);
/// What an attempt needs besides the phases of its plan: to connect, to start at one instant, to end.
const AROUND: Duration = Duration::from_secs(20);

/// Runs actions of the type `load`.
pub struct LoadRunner {
    loads: Loads,
    options: Options,
    guard: Guard,
    /// For agents that registered: they showed a token.
    open: Guard,
    secrets: Arc<Secrets>,
    clock: Arc<dyn Clock>,
}

impl LoadRunner {
    /// A runner that reaches the agents of `loads`, and others where `outbound` lets it.
    pub fn new(
        loads: Loads,
        options: Options,
        outbound: &outbound::Options,
        secrets: Arc<Secrets>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, outbound::OptionsError> {
        Ok(Self {
            loads,
            options,
            guard: Guard::new(outbound)?,
            open: Guard::unguarded()?,
            secrets,
            clock,
        })
    }

    async fn perform(&self, attempt: Attempt<'_>) -> Result<Outcome, Box<Outcome>> {
        let LoadConfig { plan, text, agents } =
            config::read(attempt.config).map_err(|problems| Box::new(outcome::invalid(&problems)))?;
        check_time(&plan, attempt.timeout)?;
        let agents = self.named(&agents)?;
        let checked = self.checked(&agents).await?;
        let agents: Vec<String> = agents.into_iter().map(|found| found.address).collect();
        let connect = self.options.connect(&self.secrets, checked).await;
        let connect = connect.map_err(|message| Box::new(Outcome::not_done(kind::INVALID_CONFIGURATION, message)))?;
        let mut reservation = self.loads.begin(attempt.action, &agents).map_err(|busy| {
            let fix = "wait until that load has ended, or name another agent";
            Box::new(outcome::refused(kind::CONFLICT, busy.to_string(), fix))
        })?;
        let results = self.options.results.as_deref();
        let options = controller::Options {
            connect,
            abort_within: ABORT_WITHIN,
            output: results.map(|folder| results::folder(folder, attempt.action, attempt.number)),
            ..controller::Options::new(agents, Arc::clone(&self.clock))
        };
        let (stop, stops) = mpsc::channel(1);
        let run = controller::run(&options, (&plan, &text), &mut reservation, stops);
        let finished = stoppable(run, stop, &attempt).await;
        if let Some(folder) = results {
            prune(folder.to_owned()).await;
        }
        Ok(outcome::of(finished))
    }

    /// Where the agents are that the configuration names, or all that registered.
    fn named(&self, agents: &[String]) -> Result<Vec<Found>, Box<Outcome>> {
        if agents.is_empty() {
            let registered = self.loads.directory().list().into_iter();
            let all: Vec<Found> = registered
                .map(|(_, address, _)| Found {
                    address,
                    is_registered: true,
                })
                .collect();
            if all.is_empty() {
                let fix = "start agents with `sprag agent --server URL`, or name their addresses in `agents`";
                let message = "no agent is named, and none is registered";
                return Err(Box::new(outcome::refused(kind::SERVICE_UNAVAILABLE, message, fix)));
            }
            return Ok(all);
        }
        let found = agents.iter().map(|agent| self.loads.directory().find(agent));
        found.collect::<Result<_, _>>().map_err(|error| {
            let fix = "write `host:port`, or see `GET /v1/agents` for the agents that are registered";
            Box::new(outcome::refused(kind::NOT_FOUND, error.to_string(), fix))
        })
    }

    /// The addresses behind the agents. Those that did not register pass the outbound guard.
    async fn checked(&self, agents: &[Found]) -> Result<BTreeMap<String, Vec<SocketAddr>>, Box<Outcome>> {
        let mut checked = BTreeMap::new();
        for Found { address, is_registered } in agents {
            let Some((host, port)) = parts(address) else { continue };
            let guard = if *is_registered { &self.open } else { &self.guard };
            let found = guard.check_tcp(host, port).await;
            let found = found.map_err(|error| Box::new(error.outcome()))?;
            checked.insert(address.clone(), found);
        }
        Ok(checked)
    }
}

impl Runner for LoadRunner {
    fn types(&self) -> &[&str] {
        &[LOAD]
    }

    fn validate(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        config::written(config)
    }

    fn takes_secret(&self, _kind: &str, pointer: &str) -> bool {
        // What operations carry. Names, addresses and figures are shown.
        let phase = pointer
            .strip_prefix("/plan/prepare")
            .or_else(|| pointer.strip_prefix("/plan"));
        let within = |place: &str| {
            let rest = phase.and_then(|phase| phase.strip_prefix(place));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        ["/http/headers", "/http/body", "/machine/variables"]
            .into_iter()
            .any(within)
    }

    fn warnings(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        let agents = config::agents(config).into_iter().enumerate();
        let warning = |(position, agent): (usize, String)| {
            let (host, _) = parts(&agent)?;
            let is_registered = self
                .loads
                .directory()
                .find(&agent)
                .is_ok_and(|found| found.is_registered);
            let refused = self.guard.check_host(host).err().filter(|_| !is_registered)?;
            let line = refused.line_to_add()?;
            Some(ConfigProblem {
                pointer: format!("/agents/{position}"),
                detail: format!("no attempt would reach the agent: {refused}"),
                remedy: format!("name a registered agent, or have the operator add `{line}`"),
                fault: Fault::Unconfigured,
            })
        };
        agents.filter_map(warning).collect()
    }

    fn permissions(&self, _kind: &str, config: &Value) -> Vec<Permission> {
        let of = |scope: &str, object: String| Permission {
            scope: scope.to_owned(),
            object,
        };
        let agents = config::agents(config).into_iter().map(|agent| of("network", agent));
        let text = |pointer: &str| config.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        // Agents reach the target, on behalf of the action.
        let targets = ["/plan/http/url", "/plan/machine/server"].into_iter();
        let targets = targets
            .filter_map(text)
            .filter_map(|url| host_of(&url))
            .map(|host| of("network", host));
        let program = text("/plan/exec/command/0").map(|program| of("process", program));
        agents.chain(targets).chain(program).collect()
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.perform(attempt).await.unwrap_or_else(|failed| *failed) })
    }
}

/// The host and port of a URL.
fn host_of(url: &str) -> Option<String> {
    let url = url::Url::parse(url).ok()?;
    Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
}

/// Refuses a plan that the attempt has no time for.
fn check_time(plan: &Plan, timeout: Duration) -> Result<(), Box<Outcome>> {
    let phases = std::iter::once(&plan.main).chain(&plan.prepare);
    let needed = phases.fold(AROUND, |needed, phase| needed + phase.duration + phase.op_timeout);
    if needed <= timeout {
        return Ok(());
    }
    let message = format!(
        "the plan needs up to {} s, and an attempt may take {} s",
        needed.as_secs(),
        timeout.as_secs()
    );
    let fix = format!(
        "set `timeout: {}s` or more for the action, or shorten the plan",
        needed.as_secs()
    );
    Err(Box::new(outcome::refused(kind::INVALID_CONFIGURATION, message, &fix)))
}

/// Runs until the load ends, the action is cancelled, or its time is up. Then agents get time to end.
async fn stoppable(
    run: impl Future<Output = Result<Finished, Error>>,
    stop: mpsc::Sender<Stop>,
    attempt: &Attempt<'_>,
) -> Result<Finished, Error> {
    let mut run = pin!(run);
    let why = tokio::select! {
        biased;
        finished = &mut run => return finished,
        () = attempt.control.cancelled() => Stop::Cancelled,
        () = tokio::time::sleep(attempt.timeout) => Stop::OutOfTime,
    };
    // A run that does not listen any more is ending.
    let _ = stop.try_send(why);
    run.await
}

async fn prune(folder: std::path::PathBuf) {
    let pruned = tokio::task::spawn_blocking(move || results::prune(&folder)).await;
    if let Ok(Err(error)) = pruned {
        tracing::warn!(%error, "old load results not deleted");
    }
}
