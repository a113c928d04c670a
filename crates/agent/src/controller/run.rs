//! A run from the first connection to the result.

use std::io;
use std::time::Duration;

use sprag_core::time::Timestamp;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::collect::{AgentState, AgentView, Collector, Quiet, Verdict};
use super::follow::follow;
use super::judge;
use super::options::{Live, Options, Progress, Stop};
use super::output::Files;
use super::preflight::{self, NotReady, Session};
use super::result::Whole;
use crate::agent::plan_digest;
use crate::plan::{AgentLoss, Model, Plan, Share};
use crate::stats::{Counts, Series};
use crate::time::{Micros, whole_micros};
use sprag_wire::{RunResult, RunStatus, ThresholdResult};

/// Sightings that wait for the collector at most.
const SIGHTINGS_MAX: usize = 1_024;
/// From one point of the time series to the next.
const POINT_EVERY: Duration = Duration::from_secs(1);

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan and the agents do not fit together.
    #[error("{0}")]
    Plan(String),
    /// An agent is not READY.
    #[error(transparent)]
    NotReady(#[from] NotReady),
    /// A caller stopped the run before the start.
    #[error("the run was stopped before its start")]
    Stopped(Stop),
    /// The files cannot be written.
    #[error("the result cannot be written")]
    Output(#[from] io::Error),
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was performed, and the thresholds hold.
    Good,
    /// An agent failed or was lost.
    Agents,
    /// A threshold does not hold.
    Threshold,
    /// A caller stopped it.
    Stopped(Stop),
}

/// A run with its result.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The result, as it was written.
    pub result: RunResult,
    /// Why it ended.
    pub ending: Ending,
}

/// A run under way.
struct Running<'a> {
    plan: &'a Plan,
    options: &'a Options,
    clock: Micros,
    collector: Collector,
    sessions: Vec<(super::connect::Client, String)>,
    series: Series,
    files: Option<Files>,
    /// When the workload starts, in microseconds since 1970.
    start: u64,
    abort: Option<Abort>,
}

/// Why the run is aborted, and until when the agents may take.
struct Abort {
    cause: Ending,
    reason: String,
    until: Instant,
}

/// What wakes the controller.
enum Wake {
    Seen(usize, super::collect::Seen),
    Point,
    Stop(Stop),
}

/// Runs the plan on all agents. `text` is the plan as agents get it. `stop` ends it early: once in order, a caller that wants it at
/// once drops the future.
pub async fn run(
    options: &Options,
    (plan, text): (&Plan, &str),
    progress: &mut dyn Progress,
    mut stop: mpsc::Receiver<Stop>,
) -> Result<Finished, Error> {
    check(options, plan)?;
    let clock = Micros::start(options.clock.clone());
    let files = options.output.as_deref().map(Files::create).transpose()?;
    let digest = plan_digest(text);
    let start = clock.unix().saturating_add(whole_micros(options.start_in));
    let deadline = Instant::now() + options.start_in.saturating_sub(options.ready_before);
    let sessions = tokio::select! {
        biased;
        Some(why) = stop.recv() => return Err(Error::Stopped(why)),
        sessions = preflight::prepare(options, text, &digest, &clock, deadline) => sessions?,
    };
    for session in &sessions {
        session.start(start, options.compensates).await;
    }
    let (sightings, mut seen) = mpsc::channel(SIGHTINGS_MAX);
    // Agents are silent until the workload starts.
    let quiet_until = clock.elapsed() + Duration::from_micros(start.saturating_sub(clock.unix()));
    let views = sessions
        .iter()
        .map(|session| view(session, planned(plan, session.index, sessions.len()), quiet_until))
        .collect();
    let mut running = Running {
        plan,
        options,
        collector: Collector::new(views, plan.on_agent_lost, options.silence),
        sessions: sessions
            .iter()
            .map(|session| (session.client.clone(), session.run_id.clone()))
            .collect(),
        series: Series::default(),
        files,
        start,
        abort: None,
        clock,
    };
    for session in sessions {
        let (connect, on_loss) = (options.connect.clone(), plan.on_controller_lost);
        tokio::spawn(follow(session, connect, on_loss, sightings.clone()));
    }
    drop(sightings);
    running.collect(&mut seen, progress, &mut stop).await?;
    running.finish(&digest)
}

/// What no agent can see alone.
fn check(options: &Options, plan: &Plan) -> Result<(), Error> {
    let agents = options.agents.len();
    if agents == 0 {
        return Err(Error::Plan(
            "no agents are given; name them with `--agents HOST:PORT,…`".to_owned(),
        ));
    }
    for (number, address) in options.agents.iter().enumerate() {
        if options.agents[..number].contains(address) {
            return Err(Error::Plan(format!("agent `{address}` is given twice")));
        }
    }
    if let AgentLoss::Quorum(quorum) = plan.on_agent_lost
        && usize::try_from(quorum).is_ok_and(|quorum| quorum > agents)
    {
        return Err(Error::Plan(format!(
            "a quorum of `{quorum}` is more than the `{agents}` agents that are given; lower it, or give more agents"
        )));
    }
    let users = match plan.main.model {
        Model::Closed { users } => usize::try_from(users).unwrap_or(usize::MAX),
        Model::Open { .. } => usize::MAX,
    };
    if users < agents {
        return Err(Error::Plan(format!(
            "a concurrency of `{users}` over `{agents}` agents leaves some without work; raise it, or give fewer agents"
        )));
    }
    Ok(())
}

/// How long after the start of the workload an agent's first operation starts.
fn planned(plan: &Plan, index: usize, agents: usize) -> u64 {
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let share = Share {
        index: number(index),
        of: number(agents),
    };
    let first = match plan.main.model {
        Model::Closed { users } => share.user_starts(users, plan.main.ramp_up).next(),
        Model::Open { rate, .. } => Some(share.arrival(0, rate, &plan.main)),
    };
    first.map_or(0, whole_micros)
}

fn view(session: &Session, planned: u64, quiet_until: Duration) -> AgentView {
    AgentView {
        name: session.name.clone(),
        address: session.address.clone(),
        state: AgentState::Ready,
        message: String::new(),
        offset: session.offset,
        planned,
        first_start: None,
        ops: 0,
        errors: 0,
        heard: quiet_until,
        quiet: Quiet::No,
    }
}

impl Running<'_> {
    async fn collect(
        &mut self,
        seen: &mut mpsc::Receiver<(usize, super::collect::Seen)>,
        progress: &mut dyn Progress,
        stop: &mut mpsc::Receiver<Stop>,
    ) -> Result<(), Error> {
        let mut point_at = Instant::now() + self.until_start() + POINT_EVERY;
        while !self.collector.is_over() {
            let wake = tokio::select! {
                biased;
                Some(why) = stop.recv() => Wake::Stop(why),
                () = tokio::time::sleep_until(point_at) => Wake::Point,
                Some((index, sighting)) = seen.recv() => Wake::Seen(index, sighting),
            };
            match wake {
                Wake::Stop(why) => self.abort(Ending::Stopped(why), why.reason().to_owned(), progress),
                Wake::Seen(index, sighting) => self.see(index, sighting, progress),
                Wake::Point => {
                    point_at += POINT_EVERY;
                    self.point(progress)?;
                }
            }
            if self.abort.as_ref().is_some_and(|abort| abort.until <= Instant::now()) {
                self.give_up();
            }
        }
        self.point(progress)
    }

    fn until_start(&self) -> Duration {
        Duration::from_micros(self.start.saturating_sub(self.clock.unix()))
    }

    fn see(&mut self, index: usize, sighting: super::collect::Seen, progress: &mut dyn Progress) {
        let before = self.collector.agents.get(index).map(|agent| agent.state);
        let verdict = self.collector.take(index, sighting, self.clock.elapsed());
        if let Some(agent) = self.collector.agents.get(index)
            && before != Some(agent.state)
            && matches!(agent.state, AgentState::Lost | AgentState::Failed)
        {
            progress.note(&format!(
                "agent {} is {}: {}",
                agent.name,
                agent.state.name(),
                agent.message
            ));
        }
        self.follow_verdict(verdict, progress);
    }

    fn follow_verdict(&mut self, verdict: Verdict, progress: &mut dyn Progress) {
        if let Verdict::Abort(reason) = verdict {
            self.abort(Ending::Agents, reason, progress);
        }
    }

    /// Takes a point, writes it, shows it, and checks what time brings.
    fn point(&mut self, progress: &mut dyn Progress) -> Result<(), Error> {
        let elapsed = self.clock.unix().saturating_sub(self.start);
        let total = self.collector.merged.total();
        let point = self.series.take(elapsed, &total);
        if let Some(files) = &mut self.files {
            files.point(&point)?;
        }
        progress.live(&Live {
            elapsed: Duration::from_micros(elapsed),
            duration: self.plan.main.duration,
            point: Some(point),
            total: &total,
            agents: &self.collector.agents,
            thresholds: &judge::thresholds(self.plan, &total),
        });
        let (notes, verdict) = self.collector.tick(self.clock.elapsed());
        for note in &notes {
            progress.note(note);
        }
        self.follow_verdict(verdict, progress);
        if let Some(reason) = judge::broken(self.plan, &total) {
            self.abort(Ending::Threshold, reason, progress);
        }
        Ok(())
    }

    /// Aborts every agent. The first reason counts.
    fn abort(&mut self, cause: Ending, reason: String, progress: &mut dyn Progress) {
        if self.abort.is_some() {
            return;
        }
        progress.note(&format!("aborting the run: {reason}"));
        for (client, run_id) in &self.sessions {
            tokio::spawn(preflight::abort(client.clone(), run_id.clone()));
        }
        self.abort = Some(Abort {
            cause,
            reason,
            until: Instant::now() + self.options.abort_within,
        });
    }

    /// Agents that do not end an aborted run in time count as lost.
    fn give_up(&mut self) {
        for agent in self.collector.agents.iter_mut().filter(|agent| !agent.state.is_over()) {
            agent.state = AgentState::Lost;
            "it did not end the aborted run in time".clone_into(&mut agent.message);
        }
    }

    fn finish(self, digest: &str) -> Result<Finished, Error> {
        let total = self.collector.merged.total();
        let thresholds = judge::thresholds(self.plan, &total);
        let (status, reason, ending) = self.outcome(&thresholds, &total);
        let millis = i64::try_from(self.start / 1_000).unwrap_or(i64::MAX);
        let whole = Whole {
            name: &self.plan.name,
            started_at: Timestamp::from_millis(millis).to_string(),
            digest,
            agents: &self.collector.agents,
            total: &total,
            thresholds,
        };
        let result = whole.result(status, reason);
        if let Some(files) = &self.files {
            files.finish(&result, self.series.points())?;
        }
        Ok(Finished { result, ending })
    }

    fn outcome(&self, thresholds: &[ThresholdResult], total: &Counts) -> (RunStatus, Option<String>, Ending) {
        if let Some(Abort { cause, reason, .. }) = &self.abort {
            let status = match cause {
                Ending::Stopped(_) => RunStatus::Aborted,
                _ => RunStatus::Failed,
            };
            return (status, Some(reason.clone()), *cause);
        }
        if let Some(broken) = thresholds.iter().find(|threshold| !threshold.ok) {
            let why = if total.ops() == 0 {
                "no operation ended".to_owned()
            } else {
                format!("threshold `{}` does not hold: {:.3}", broken.name, broken.value)
            };
            return (RunStatus::Failed, Some(why), Ending::Threshold);
        }
        let lost = self
            .collector
            .agents
            .iter()
            .filter(|agent| agent.state == AgentState::Lost);
        let lost: Vec<&str> = lost.map(|agent| agent.name.as_str()).collect();
        if lost.is_empty() {
            return (RunStatus::Completed, None, Ending::Good);
        }
        let reason = format!("lost agents: {}", lost.join(", "));
        (RunStatus::Partial, Some(reason), Ending::Good)
    }
}
