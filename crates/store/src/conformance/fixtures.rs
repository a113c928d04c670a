//! Records to test with. A number makes each one different, and later numbers make later ids.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use sprag_core::action::Status;
use sprag_core::ids::{ActionId, ExecutionId, Slot, scatter};
use sprag_core::time::Timestamp;

use super::Subject;
use crate::page::{Page, Paged};
use crate::records::{
    Action, Execution, ExecutionStatus, HistoryEntry, Idempotency, InboxEntry, MachineVersion, Receipt, Scope, Timer,
    TimerKey,
};
use crate::traits::{Commit, Error, Fence, LaneStore, Loaded, Mutation, Queue, Reader, ShardId, Wanted};

/// The shard of the tests.
pub(crate) const SHARD: ShardId = ShardId(0);

pub(crate) const SCHEDULED: u8 = Status::Scheduled as u8;
pub(crate) const QUEUED: u8 = Status::Queued as u8;
pub(crate) const RUNNING: u8 = Status::Running as u8;
pub(crate) const RETRYING: u8 = Status::Retrying as u8;
pub(crate) const SUCCEEDED: u8 = Status::Succeeded as u8;
pub(crate) const DEAD: u8 = Status::Dead as u8;

/// More than any test stores of one kind.
const ITEMS_MAX: usize = 1_000;

/// A store, opened and owned.
pub(crate) struct Opened {
    pub(crate) lane: Box<dyn LaneStore>,
    pub(crate) reader: Box<dyn Reader>,
    pub(crate) fence: Fence,
}

impl Opened {
    pub(crate) fn new(subject: &dyn Subject) -> Result<Self, Error> {
        let (mut lane, reader) = subject.open();
        let fence = lane.acquire(SHARD)?;
        Ok(Self { lane, reader, fence })
    }

    /// Closes the store and opens it again.
    pub(crate) fn reopen(self, subject: &dyn Subject) -> Result<Self, Error> {
        drop(self);
        Self::new(subject)
    }

    pub(crate) fn commit(&mut self, mutations: &[Mutation]) -> Result<(), Error> {
        self.lane.commit(&[self.fence], mutations)
    }

    /// A commit that the store must refuse.
    #[track_caller]
    pub(crate) fn refuse(&mut self, mutations: &[Mutation]) {
        let result = self.commit(mutations);
        assert!(
            matches!(result, Err(Error::Refused { .. })),
            "{result:?} for {mutations:?}"
        );
    }

    /// All that is stored about these executions.
    pub(crate) fn load(&mut self, executions: &[&Execution]) -> Result<Loaded, Error> {
        let executions = executions.iter().map(|execution| execution.id).collect();
        self.lane.load(&Wanted {
            executions,
            ..Wanted::default()
        })
    }
}

/// Commits that all wait from the beginning.
pub(crate) struct CommitQueue {
    pub(crate) waiting: VecDeque<Commit>,
    pub(crate) told: Vec<Result<(), Error>>,
    /// Taken and not told of, now and at most.
    under_way: usize,
    pub(crate) under_way_max: usize,
}

impl CommitQueue {
    pub(crate) fn new(commits: impl IntoIterator<Item = Commit>) -> Self {
        Self {
            waiting: commits.into_iter().collect(),
            told: Vec::new(),
            under_way: 0,
            under_way_max: 0,
        }
    }
}

impl Queue for CommitQueue {
    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Commit>> {
        let next = self.waiting.pop_front();
        self.under_way += usize::from(next.is_some());
        self.under_way_max = self.under_way_max.max(self.under_way);
        Poll::Ready(next)
    }

    fn tell(&mut self, result: Result<(), Error>) {
        self.under_way -= 1;
        self.told.push(result);
    }
}

/// The instant with this number.
pub(crate) fn at(number: u64) -> Timestamp {
    Timestamp::from_millis(1_763_000_000_000).plus(number)
}

pub(crate) fn execution(number: u64) -> Execution {
    let slot = Slot(u16::try_from(scatter(number) & 0xffff).unwrap_or(0));
    Execution {
        id: ExecutionId::compose(at(number), slot, scatter(number)),
        machine: "order".to_owned(),
        version: 1,
        key: None,
        status: ExecutionStatus::Running,
        sequence: 1,
        created_at: at(number),
        updated_at: at(number),
        body: format!("{{\"body\":{number}}}").into_bytes(),
        variables: format!("{{\"variables\":{number}}}").into_bytes(),
        tags: Vec::new(),
    }
}

/// The same with a business key.
pub(crate) fn keyed(number: u64, key: &str) -> Execution {
    Execution {
        key: Some(key.to_owned()),
        ..execution(number)
    }
}

pub(crate) fn action(execution: &Execution, number: u64) -> Action {
    Action {
        id: ActionId::compose(at(number), execution.id.slot(), scatter(number)),
        execution: execution.id,
        machine: execution.machine.clone(),
        action_id: "send".to_owned(),
        kind: "webhook".to_owned(),
        status: RUNNING,
        line: "webhook".to_owned(),
        priority: 50,
        run_at: at(number),
        created_at: at(number),
        error_kind: None,
        fingerprint: None,
        died_at: None,
        body: format!("{{\"action\":{number}}}").into_bytes(),
        tags: Vec::new(),
    }
}

pub(crate) fn entry(execution: &Execution, sequence: u64) -> HistoryEntry {
    let body = format!("{{\"entry\":{sequence}}}").into_bytes();
    HistoryEntry {
        execution: execution.id,
        sequence,
        at: at(sequence),
        body,
    }
}

pub(crate) fn timer(execution: &Execution, visit: u64, index: u16, due: u64) -> Timer {
    let key = TimerKey {
        execution: execution.id,
        visit,
        index,
    };
    Timer {
        key,
        due_at: at(due),
        schedule: None,
    }
}

pub(crate) fn input(execution: &Execution, position: u64) -> InboxEntry {
    InboxEntry {
        execution: execution.id,
        position,
        body: format!("{{\"input\":{position}}}").into_bytes(),
    }
}

/// The answer under the scope with this number, kept until the instant with that one.
pub(crate) fn idempotency(number: u64, expiry: u64) -> Idempotency {
    let mut digest = [0; 32];
    digest[..8].copy_from_slice(&scatter(number).to_be_bytes());
    Idempotency {
        scope: Scope::new(Slot(u16::try_from(number & 0xffff).unwrap_or(0)), digest),
        digest: [u8::try_from(number & 0xff).unwrap_or(0); 32],
        answer: format!("{{\"number\":{number}}}").into_bytes(),
        expires_at: at(expiry),
    }
}

pub(crate) fn receipt(execution: &Execution, message: &str) -> Receipt {
    Receipt {
        execution: execution.id,
        message: message.to_owned(),
        answer: br#"{"handled":true}"#.to_vec(),
    }
}

pub(crate) fn version(machine: &str, version: u32) -> MachineVersion {
    MachineVersion {
        machine: machine.to_owned(),
        version,
        digest: [u8::try_from(version & 0xff).unwrap_or(0); 32],
        definition: format!("{{\"id\":\"{machine}\",\"version\":{version}}}").into_bytes(),
        created_at: at(u64::from(version)),
    }
}

/// Inserts of executions.
pub(crate) fn inserts(executions: &[&Execution]) -> Vec<Mutation> {
    executions
        .iter()
        .map(|&execution| Mutation::InsertExecution(execution.clone()))
        .collect()
}

/// All rows of a list, read in pages of `limit` rows. Every page but the last is full, and the last one says that it is.
pub(crate) fn pages<T, C>(
    limit: usize,
    mut read: impl FnMut(&Page<C>) -> Result<Paged<T, C>, Error>,
) -> Result<Vec<T>, Error> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let Paged { rows, next } = read(&Page::new(after, limit))?;
        assert!(rows.len() <= limit, "a page holds no more than it may");
        let is_first = all.is_empty();
        assert!(is_first || !rows.is_empty(), "a page that is announced has rows");
        assert!(
            next.is_none() || rows.len() == limit,
            "a page that is not the last is full"
        );
        all.extend(rows);
        assert!(all.len() <= ITEMS_MAX, "the pages come to an end");
        match next {
            Some(next) => after = Some(next),
            None => return Ok(all),
        }
    }
}

/// Text that no backend can compress.
pub(crate) fn noise(bytes: usize) -> String {
    let mut drawn = 1;
    let letter = |_| {
        drawn = scatter(drawn);
        char::from(b'!' + u8::try_from(drawn % 90).unwrap_or(0))
    };
    (0..bytes).map(letter).collect()
}
