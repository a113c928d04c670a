//! Plays the people of the simulated world: starts executions and sends messages, at a gentle pace.
//!
//! It keeps nothing of its own but the next numbers: what is open it reads from the engine each time. Whatever is
//! refused is logged, and the next beat tries again.

use std::time::Duration;

use sprag_core::action::Status;
use sprag_core::filter::{Condition, Field};
use sprag_core::ids::ExecutionId;
use sprag_engine::Handle;
use sprag_engine::requests::{Archive, Refusal, SendMessage, Start, Target};
use sprag_store::Page;
use sprag_store::records::ExecutionStatus;
use sprag_store::traits::ActionQuery;
use sprag_wire::Execution;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::machines::{LEASE, NIGHTLY, ONBOARDING, ORDER, TAG, Versions};
use super::{number, people};

/// How often the driver looks at what is open.
const BEAT: Duration = Duration::from_secs(2);
/// Every so many beats one execution starts, of each machine in turn.
const BEATS_PER_START: usize = 3;
/// How many executions of a machine are there from the beginning.
const FIRST: usize = 2;
/// How many executions of a machine are open at once.
const OPEN_MAX: usize = 8;
/// How many executions of a machine are looked at; a user's own may be among them.
const LOOKED_AT_MAX: usize = 200;
/// When more dead letters than this wait, the demo archives the oldest.
const DEAD_MAX: usize = 10;
/// The key of the one execution of its machine.
pub(in super::super) const NIGHTLY_KEY: &str = "nightly";

/// A machine that is started again and again.
struct Series {
    machine: &'static str,
    /// What its keys begin with.
    prefix: &'static str,
    /// The number of the next one.
    next: u64,
}

/// What moves the demo.
pub(super) struct Driver {
    handle: Handle,
    versions: Versions,
    series: [Series; 3],
}

impl Driver {
    /// A driver that continues counting where an earlier one ended.
    pub(super) async fn new(handle: Handle, versions: Versions) -> Result<Self, Refusal> {
        let mut series = [
            (ORDER, "order", 1_001),
            (LEASE, "flat", 101),
            (ONBOARDING, "colleague", 1),
        ]
        .map(|(machine, prefix, next)| Series { machine, prefix, next });
        for one in &mut series {
            let known = executions(&handle, one.machine, None).await?;
            let numbers = known.iter().filter_map(|view| number(view.key.as_deref()?));
            one.next = numbers.max().map_or(one.next, |last| last + 1).max(one.next);
        }
        Ok(Self {
            handle,
            versions,
            series,
        })
    }

    /// Starts what is there from the beginning; gives the execution that always is.
    pub(super) async fn begin(&mut self) -> Result<ExecutionId, Refusal> {
        for turn in 0..self.series.len() {
            let Some(machine) = self.series.get(turn).map(|series| series.machine) else {
                continue;
            };
            for _ in open(&self.handle, machine).await?.len()..FIRST {
                self.start_next(turn).await?;
            }
        }
        self.nightly().await
    }

    /// The execution that is always there: started again when a user ended it.
    async fn nightly(&self) -> Result<ExecutionId, Refusal> {
        let (machine, key) = (NIGHTLY.to_owned(), NIGHTLY_KEY.to_owned());
        match self.handle.read().execution_by_key(machine, key).await? {
            Some(id) => Ok(id),
            None => self.start(NIGHTLY, NIGHTLY_KEY.to_owned()).await,
        }
    }

    /// Drives until it is dropped.
    pub(super) async fn run(mut self) {
        let mut beats: Interval = interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for beat in 0_usize.. {
            beats.tick().await;
            if let Err(refusal) = self.beat(beat).await {
                refused(&refusal);
            }
        }
    }

    /// One look at everything.
    async fn beat(&mut self, beat: usize) -> Result<(), Refusal> {
        for machine in [ORDER, LEASE, ONBOARDING, NIGHTLY] {
            for view in open(&self.handle, machine).await? {
                // One that cannot be helped must not keep the others from their turn.
                if let Err(refusal) = self.attend(&view).await {
                    refused(&refusal);
                }
            }
        }
        self.nightly().await?;
        if beat % BEATS_PER_START == BEATS_PER_START - 1 {
            self.start_next(beat / BEATS_PER_START % self.series.len()).await?;
        }
        self.clear().await
    }

    /// Starts the next execution of a series, unless enough are open.
    async fn start_next(&mut self, turn: usize) -> Result<(), Refusal> {
        let Some(series) = self.series.get_mut(turn) else {
            return Ok(());
        };
        if open(&self.handle, series.machine).await?.len() >= OPEN_MAX {
            return Ok(());
        }
        let key = format!("{}-{}", series.prefix, series.next);
        // A number is used once, whatever becomes of it.
        series.next += 1;
        let machine = series.machine;
        self.start(machine, key).await.map(drop)
    }

    async fn start(&self, machine: &str, key: String) -> Result<ExecutionId, Refusal> {
        let start = Start {
            machine: machine.to_owned(),
            version: self.versions.get(machine).copied(),
            variables: people::variables(machine, &key, self.handle.now()),
            key: Some(key),
            tags: vec![TAG.to_owned()],
        };
        Ok(self.handle.start(start).await?.id)
    }

    /// Sends what a person of the demo sends to this execution by now.
    async fn attend(&self, view: &Execution) -> Result<(), Refusal> {
        let now = self.handle.now();
        let idle = Duration::from_millis(now.since(view.updated_at));
        let key = view.key.as_deref().unwrap_or_default();
        let Some(message) = people::message(&view.machine, key, &view.configuration, idle, now) else {
            return Ok(());
        };
        let message = SendMessage {
            to: Target::Id(view.id),
            kind: message.kind.to_owned(),
            payload: message.payload,
            id: None,
        };
        self.handle.send(message).await.map(drop)
    }

    /// Puts the oldest dead letter of the demo away when too many wait.
    async fn clear(&self) -> Result<(), Refusal> {
        let query = ActionQuery {
            status: Some(Status::Dead.number()),
            page: Page::first(LOOKED_AT_MAX),
            ..ActionQuery::default()
        };
        let dead = self.handle.read().actions(query).await?;
        let ours: Vec<_> = dead.iter().filter(|view| is_ours(&view.tags)).collect();
        match ours.last() {
            Some(oldest) if ours.len() > DEAD_MAX => self.handle.ask(Archive(oldest.id)).await.map(drop),
            _ => Ok(()),
        }
    }
}

fn refused(refusal: &Refusal) {
    tracing::warn!(code = refusal.code.text(), "the demo was refused something: {refusal}");
}

fn is_ours(tags: &[String]) -> bool {
    tags.iter().any(|tag| tag == TAG)
}

/// The demo's executions of a machine that are at work.
async fn open(handle: &Handle, machine: &str) -> Result<Vec<Execution>, Refusal> {
    let found = executions(handle, machine, Some(ExecutionStatus::Running)).await?;
    Ok(found.into_iter().filter(|view| is_ours(&view.tags)).collect())
}

async fn executions(
    handle: &Handle,
    machine: &str,
    status: Option<ExecutionStatus>,
) -> Result<Vec<Execution>, Refusal> {
    let of = Condition::text(Field::Machine, machine);
    let status = status.map(|status| Condition::number(Field::Status, status as u8));
    let condition = status.into_iter().fold(of, Condition::and);
    let found = handle
        .read()
        .find_executions(condition, None, LOOKED_AT_MAX, Some)
        .await?;
    Ok(found.rows)
}
