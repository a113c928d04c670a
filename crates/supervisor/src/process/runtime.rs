//! A running service: its process, its probes, and its record.
//!
//! The supervisor writes to disk before it relies on something: the process right after its start, and the end of a
//! process before it reacts to it. If the first observation finds a running process, the supervisor adopts it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sprag_core::clock::Clock;
use sprag_process::{Stopped, Ticket, Tree, boot_id, cgroup};
use tokio::time::sleep;

use super::budget::{self, Policy};
use super::folder::StateFolder;
use super::launch::{self, Launch, LaunchError};
use super::log;
use super::observed::{Problem, SeenProcess, ServiceObservation};
use super::probe::{Asker, Probes, Subject, probe_mark};
use super::record::{Ended, ServiceRecord, Started};
use super::tree;
use super::watch::{Exit, Over, Watched};
use super::worker::Desired;
use crate::report::metrics::{Metrics, RestartCause};
use crate::services::Restart;

/// How long the end of a process that is gone from the table may take to be noted.
const NOTED_WITHIN: Duration = Duration::from_secs(2);
/// Between two looks for it.
const POLL: Duration = Duration::from_millis(5);

/// What all services of one supervisor share.
#[derive(Clone)]
pub(super) struct Around {
    pub(super) place: Arc<StateFolder>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) metrics: Arc<Metrics>,
}

/// One service at work. It lives as long as the supervisor does, also when its worker is replaced.
pub(super) struct Runtime {
    path: String,
    mark: String,
    log: PathBuf,
    place: Arc<StateFolder>,
    asker: Asker,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    /// How often something of it had to be killed.
    killed: AtomicU64,
    /// What an earlier supervisor left was there already then: services that begin together share a look for it.
    asked: Ticket,
    inner: Mutex<RuntimeState>,
}

#[derive(Default)]
struct RuntimeState {
    record: ServiceRecord,
    live: Option<Live>,
    problem: Option<Problem>,
    /// Whether it was looked for a process of an earlier supervisor.
    has_looked: bool,
    /// Whether an end now is one that was asked for.
    is_stopping: bool,
    /// What the file says about an end that was not requested.
    policy: Policy,
    /// Why it could not be started now, and which configuration was checked for that.
    obstacle: Option<String>,
    checked: u64,
    /// Why the next start is a restart.
    cause: Option<RestartCause>,
    /// The last problem with its log that was logged.
    log_problem: Option<String>,
}

/// A process and what is asked of it.
struct Live {
    started: Started,
    adopted: bool,
    probes: Probes,
    /// What the questions follow from.
    questions: u64,
}

/// Why a process is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// Its end was requested.
    Nobody,
    /// It did not come up.
    Startup,
    /// It does not live any more.
    Live,
}

impl Runtime {
    pub(super) fn new(path: &str, asker: Asker, around: &Around) -> Self {
        let Around { place, clock, metrics } = around.clone();
        Self {
            path: path.to_owned(),
            mark: place.mark(path),
            log: place.log(path),
            place,
            asker,
            clock,
            metrics,
            killed: AtomicU64::new(0),
            asked: Ticket::draw(),
            inner: Mutex::default(),
        }
    }

    /// How often something of it had to be killed, because it did not end when it was asked to.
    pub(super) fn killed(&self) -> u64 {
        self.killed.load(Ordering::Relaxed)
    }

    fn note_killed(&self) {
        self.killed.fetch_add(1, Ordering::Relaxed);
        self.metrics.forced(&self.path, "killed");
    }

    /// Whether it has a process; unknown before the first look.
    pub(super) fn has_process(&self) -> Option<bool> {
        let inner = self.inner();
        inner.has_looked.then_some(inner.live.is_some())
    }

    fn inner(&self) -> MutexGuard<'_, RuntimeState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks. The first time, what an earlier supervisor left is found; every time, the log is kept in bounds.
    ///
    /// It is called on the supervisor's own threads, which are there to be blocked. A thread of the runtime's for each
    /// look would be as many threads as there are services, and each holds memory for as long as it lives.
    pub(super) fn observe(self: &Arc<Self>, desired: &Desired) -> ServiceObservation {
        if desired.service.has_process() {
            self.look(desired);
        }
        self.inner().seen()
    }

    fn look(self: &Arc<Self>, desired: &Desired) {
        let rotated = log::rotate(&self.log, desired.service.log);
        let obstacle = launch::obstacle(&desired.service, &desired.folder, &self.log);
        let mut inner = self.inner();
        self.note_log(&mut inner, rotated.err().map(|error| error.to_string()));
        inner.policy = Policy::of(&desired.service, desired.questions);
        inner.obstacle = obstacle;
        inner.checked = desired.digest;
        if !inner.has_looked {
            inner.record = self.place.records.load(&self.path);
            self.adopt(&mut inner, desired);
            inner.has_looked = true;
        }
        if let Some(live) = &mut inner.live
            && live.questions != desired.questions
        {
            live.probes = self.probes(desired, &live.started);
            live.questions = desired.questions;
        }
    }

    /// Says once what is wrong with the log; the service goes on.
    fn note_log(&self, inner: &mut RuntimeState, problem: Option<String>) {
        if let Some(error) = problem.as_ref().filter(|_| inner.log_problem != problem) {
            tracing::warn!(service = %self.path, %error, "log not rotated");
        }
        inner.log_problem = problem;
    }

    /// Takes over the process of an earlier supervisor, or notes that it ended meanwhile.
    fn adopt(self: &Arc<Self>, inner: &mut RuntimeState, desired: &Desired) {
        let remembered = inner.record.process.clone();
        let started = remembered
            .clone()
            .filter(Started::is_alive)
            .or_else(|| self.find_unrecorded(desired));
        let Some(started) = started else {
            if let Some(lost) = remembered {
                let ended = Ended {
                    exit: Exit::Unknown,
                    at: self.clock.now(),
                    digest: lost.digest,
                };
                let policy = inner.policy;
                budget::note_end(&mut inner.record, ended, &policy);
                self.save(&inner.record);
            }
            return;
        };
        let Ok(watched) = Watched::new(started.identity) else {
            return;
        };
        tracing::info!(service = %self.path, pid = started.identity.pid, "running process adopted");
        inner.record.process = Some(started.clone());
        self.save(&inner.record);
        self.hold(inner, desired, watched, started, true);
    }

    /// A process whose supervisor died before it could write down its id.
    fn find_unrecorded(&self, desired: &Desired) -> Option<Started> {
        let identity = tree::find(&self.mark, &self.log, self.asked)?;
        Some(Started {
            identity,
            boot: boot_id(),
            at: self.clock.now(),
            digest: desired.digest,
            log_offset: 0,
            cgroup: None,
        })
    }

    /// Watches a process and begins to ask it.
    fn hold(
        self: &Arc<Self>,
        inner: &mut RuntimeState,
        desired: &Desired,
        watched: Watched,
        started: Started,
        adopted: bool,
    ) {
        let runtime = Arc::clone(self);
        let mut tree = tree::started(&self.mark, &started);
        tokio::spawn(async move {
            let over = watched.ended().await;
            // What it leaves behind must not meet its successor. While its status is not taken, its group is known.
            if !runtime.inner().is_stopping {
                tree.kill().await;
            }
            let noted = tokio::task::spawn_blocking(move || runtime.note_end(over));
            if noted.await.is_err() {
                tracing::error!("end of process not recorded");
            }
        });
        inner.live = Some(Live {
            probes: self.probes(desired, &started),
            questions: desired.questions,
            started,
            adopted,
        });
    }

    fn probes(&self, desired: &Desired, started: &Started) -> Probes {
        let subject = Subject {
            mark: self.mark.clone(),
            folder: desired.folder.clone(),
            cwd: desired.service.cwd.clone(),
            env: desired.service.env.clone(),
            log: self.log.clone(),
            log_offset: started.log_offset,
        };
        Probes::start(&desired.service, &subject, &self.asker)
    }

    fn note_end(&self, over: Over) {
        let mut inner = self.inner();
        let identity = over.identity;
        let exit = over.exit();
        if inner.live.as_ref().is_none_or(|live| live.started.identity != identity) {
            return;
        }
        let live = inner.live.take().map(|live| live.started);
        if let Some(cgroup) = live.as_ref().and_then(|started| started.cgroup.as_deref()) {
            cgroup::remove(cgroup);
        }
        let digest = live.map_or(0, |started| started.digest);
        if inner.is_stopping {
            inner.record.process = None;
            inner.record.ended = None;
        } else {
            let at = self.clock.now();
            let (pid, how) = (identity.pid, exit.describe());
            // One whose work is done ended as it should.
            if exit.is_success() {
                tracing::info!(service = %self.path, pid, "{how}");
            } else {
                tracing::warn!(service = %self.path, pid, "{how}");
            }
            let policy = inner.policy;
            budget::note_end(&mut inner.record, Ended { exit, at, digest }, &policy);
            inner.cause = inner.record.ended.as_ref().and_then(|ended| again(ended, &policy));
        }
        self.save(&inner.record);
    }

    /// Starts a process, unless there is one. What is left of an earlier one is ended first.
    pub(super) async fn start(self: &Arc<Self>, desired: &Desired) -> Result<(), LaunchError> {
        // There may be one that was not looked for yet.
        if self.observe(desired).process.is_some() {
            return Ok(());
        }
        tree::marked(&self.mark).kill().await;
        tree::marked(&probe_mark(&self.mark)).kill().await;
        let (runtime, wanted) = (Arc::clone(self), desired.clone());
        let handle = tokio::runtime::Handle::current();
        let launched = tokio::task::spawn_blocking(move || {
            let _entered = handle.enter();
            runtime.launch(&wanted)
        });
        launched.await.unwrap_or_else(|_| {
            Err(LaunchError::Refused {
                program: self.path.clone(),
                source: std::io::Error::other("the start was broken off"),
            })
        })
    }

    fn launch(self: &Arc<Self>, desired: &Desired) -> Result<(), LaunchError> {
        let service = &desired.service;
        let mut inner = self.inner();
        let log_offset = log::length(&self.log);
        let cgroup = cgroup::create(&self.mark.replace('/', "+"));
        let watched = Launch::prepare(service, &desired.folder)
            .and_then(|launch| launch.start(service, &self.mark, &self.log, cgroup.as_deref()))
            .inspect_err(|error| self.note_problem(&mut inner, desired, error))?;
        let cgroup = cgroup.filter(|cgroup| cgroup::enter(cgroup, watched.identity.pid));
        let started = Started {
            identity: watched.identity,
            boot: boot_id(),
            at: self.clock.now(),
            digest: desired.digest,
            log_offset,
            cgroup,
        };
        let earlier = inner
            .record
            .ended
            .as_ref()
            .and_then(|ended| again(ended, &inner.policy));
        if let Some(cause) = inner.cause.take().or(earlier) {
            inner.record.restarts += 1;
            self.metrics.restarted(&self.path, cause);
        }
        let record = &mut inner.record;
        record.process = Some(started.clone());
        record.ended = None;
        inner.problem = None;
        inner.is_stopping = false;
        self.save(&inner.record);
        tracing::info!(service = %self.path, pid = started.identity.pid, "started");
        self.hold(&mut inner, desired, watched, started, false);
        Ok(())
    }

    fn note_problem(&self, inner: &mut RuntimeState, desired: &Desired, error: &LaunchError) {
        let text = error.text();
        let lasting = error.is_configuration();
        if !lasting {
            let policy = inner.policy;
            budget::note_failure(&mut inner.record, (self.clock.now(), 0), &policy, &text);
            inner.cause.get_or_insert(RestartCause::Start);
            self.save(&inner.record);
        }
        inner.problem = Some(Problem {
            text,
            lasting,
            digest: desired.digest,
        });
    }

    /// Ends every process of the service. Returns when none is left; `hurry` cuts the grace short.
    pub(super) async fn stop(&self, desired: &Desired, blame: Blame, hurry: impl Future<Output = ()>) -> Stopped {
        let started = {
            let mut inner = self.inner();
            inner.is_stopping = true;
            inner.cause = None;
            inner.live.as_ref().map(|live| live.started.clone())
        };
        let stop = desired.service.stop;
        let mut tree = self.tree(started.as_ref());
        let asked = tokio::select! {
            stopped = tree.end(stop.signal, stop.grace) => Some(stopped),
            () = hurry => None,
        };
        let stopped = match asked {
            Some(stopped) => stopped,
            None if self.tree(started.as_ref()).kill().await => Stopped::Forced,
            None => Stopped::Survived,
        };
        if stopped != Stopped::Gracefully {
            self.note_killed();
            tracing::warn!(service = %self.path, grace_ms = stop.grace.as_millis(), "did not stop in time, killed");
        }
        let ran = started.map_or(0, |started| self.clock.now().since(started.at));
        self.settle(blame, ran).await;
        stopped
    }

    /// Kills what is left of it, at once.
    pub(super) async fn kill(&self) {
        let started = {
            let mut inner = self.inner();
            inner.is_stopping = true;
            inner.live.as_ref().map(|live| live.started.clone())
        };
        if started.as_ref().is_some_and(Started::is_alive) {
            self.note_killed();
        }
        self.tree(started.as_ref()).kill().await;
    }

    fn tree(&self, started: Option<&Started>) -> Tree {
        started.map_or_else(
            || tree::marked(&self.mark),
            |started| tree::started(&self.mark, started),
        )
    }

    /// Waits until the end of the process was noted, and remembers whose fault it was.
    async fn settle(&self, blame: Blame, ran_millis: u64) {
        let looks = NOTED_WITHIN.as_millis() / POLL.as_millis();
        for _ in 0..looks {
            if self.inner().live.is_none() {
                break;
            }
            sleep(POLL).await;
        }
        let mut inner = self.inner();
        inner.is_stopping = false;
        let cause = match blame {
            Blame::Nobody => return,
            Blame::Startup => "its startup probe did not pass",
            Blame::Live => "its live probe did not pass",
        };
        let (at, policy) = (self.clock.now(), inner.policy);
        budget::note_failure(&mut inner.record, (at, ran_millis), &policy, cause);
        inner.cause = Some(RestartCause::Probe);
        self.save(&inner.record);
    }

    /// Forgets failures and ends: a person, or another configuration, starts anew.
    pub(super) fn forget(&self) {
        let mut inner = self.inner();
        let ServiceRecord {
            path,
            process,
            restarts,
            ..
        } = inner.record.clone();
        inner.record = ServiceRecord {
            path,
            process,
            restarts,
            ..ServiceRecord::default()
        };
        inner.problem = None;
        inner.cause = None;
        self.save(&inner.record);
    }

    /// Logs what cannot be written; the service continues.
    fn save(&self, record: &ServiceRecord) {
        if let Err(error) = self.place.records.save(record) {
            tracing::error!(service = %self.path, %error, "service record not written");
        }
    }
}

/// Why a start after this end is a restart. What did its work and ended is simply started another time.
fn again(ended: &Ended, policy: &Policy) -> Option<RestartCause> {
    let is_done = ended.exit.is_success() && policy.restart != Restart::Always;
    (!is_done).then_some(RestartCause::Crash)
}

impl RuntimeState {
    fn seen(&self) -> ServiceObservation {
        let ServiceRecord {
            ended,
            failures,
            streak,
            restarts,
            gave_up,
            ..
        } = self.record.clone();
        let process = self.live.as_ref().map(|live| SeenProcess {
            pid: live.started.identity.pid,
            since: live.started.at,
            adopted: live.adopted,
            digest: live.started.digest,
        });
        ServiceObservation {
            process,
            found: self.live.as_ref().map(|live| live.probes.found()).unwrap_or_default(),
            ended,
            problem: self.problem.clone(),
            failures,
            streak,
            restarts,
            gave_up,
            budget: self.policy.budget,
            obstacle: self.obstacle.clone(),
            checked: self.checked,
        }
    }
}
