//! Random mutations and questions from a seed. Few ids, so that they meet; mostly legal, so that there is something to
//! compare.

use sprag_core::ids::scatter;
use sprag_core::time::Timestamp;

use super::fixtures::{action, at, entry, execution, idempotency, input, receipt, timer, version};
use crate::page::Page;
use crate::records::{Action, Execution, ExecutionStatus, Fact, FactKind, MachineVersion, ProcessRun, Timer, TimerKey};
use crate::traits::{ActionQuery, Error, ExecutionQuery, Mutation, Reader, ReadyKey, Search, Variables, Wanted};

const EXECUTIONS: u64 = 24;
const ACTIONS: u64 = 60;
const SCOPES: u64 = 8;
const MACHINES: [&str; 2] = ["order", "refund"];
const KEYS: [&str; 3] = ["a", "b", "c"];
const LINES: [&str; 3] = ["email", "webhook", "webhook:x"];
const MESSAGES: [&str; 3] = ["m1", "m2", "m3"];
const ERRORS: [&str; 2] = ["timeout", "crashed"];
/// Fingerprints.
pub(super) const PRINTS: [&str; 2] = ["00aa", "11bb"];

/// Version numbers of each machine.
const VERSIONS: u8 = 40;

/// A version with a digest that others of its machine have too.
fn numbered_version(machine: &str, number: u32) -> MachineVersion {
    MachineVersion {
        digest: version(machine, number % 8).digest,
        ..version(machine, number)
    }
}

/// All versions that may be stored.
fn versions() -> impl Iterator<Item = MachineVersion> {
    MACHINES
        .into_iter()
        .flat_map(|machine| (0..VERSIONS).map(move |number| numbered_version(machine, number.into())))
}

/// The number decides the tags too: they never change.
fn tags(number: u64) -> Vec<String> {
    (0..number % 3).map(|tag| format!("tag{tag}")).collect()
}

/// A stream of numbers that a seed determines.
pub(super) struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed: scatter(seed),
            drawn: 0,
        }
    }

    /// A number below `bound`, which must not be 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.drawn += 1;
        scatter(self.seed ^ scatter(self.drawn)) % bound
    }

    /// True once in `times`.
    pub(super) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn size(&mut self, bound: u64) -> usize {
        usize::try_from(self.below(bound)).unwrap_or(0)
    }

    pub(super) fn byte(&mut self, bound: u8) -> u8 {
        u8::try_from(self.below(u64::from(bound))).unwrap_or(0)
    }

    fn text(&mut self, texts: &[&str]) -> String {
        let index = self.size(u64::try_from(texts.len()).unwrap_or(1));
        texts.get(index).copied().unwrap_or_default().to_owned()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.once_in(2) { Some(make(self)) } else { None }
    }

    fn status(&mut self) -> ExecutionStatus {
        // Mostly running: a closed execution frees its key, which is where it gets interesting, but it should be rare.
        let index = if self.once_in(2) { self.size(5) } else { 0 };
        ExecutionStatus::ALL
            .get(index)
            .copied()
            .unwrap_or(ExecutionStatus::Running)
    }

    /// One of the few executions, as it is when it is new: the number decides its machine and key.
    fn new_execution(&mut self) -> Execution {
        let number = self.below(EXECUTIONS);
        let key = KEYS
            .get(usize::try_from(number % 5).unwrap_or(0))
            .map(|key| (*key).to_owned());
        let machine = MACHINES[usize::from(number.is_multiple_of(3))].to_owned();
        Execution {
            machine,
            key,
            tags: tags(number),
            ..execution(number)
        }
    }

    /// One of the few actions, as it is when it is new: the number decides its execution.
    fn new_action(&mut self) -> Action {
        let number = self.below(ACTIONS);
        Action {
            tags: tags(number),
            ..action(&execution(number % EXECUTIONS), 1_000 + number)
        }
    }

    fn alter_execution(&mut self, execution: &mut Execution) {
        execution.version = self.byte(9).into();
        execution.status = self.status();
        execution.sequence = self.below(100);
        execution.updated_at = at(self.below(1_000));
        execution.body = vec![self.byte(255); self.size(300)];
        execution.variables = vec![self.byte(255); self.size(4_000)];
        if self.once_in(20) {
            execution.tags = (0..self.below(3)).map(|tag| format!("tag{tag}")).collect();
        }
    }

    fn alter_action(&mut self, action: &mut Action) {
        action.kind = self.text(&LINES);
        action.status = self.byte(9);
        action.line = self.text(&LINES);
        action.priority = self.byte(3) * 50;
        action.run_at = at(self.below(20));
        action.error_kind = self.maybe(|random| random.text(&ERRORS));
        action.fingerprint = self.maybe(|random| random.text(&PRINTS));
        action.died_at = self.maybe(|random| at(random.below(20)));
        action.body = vec![self.byte(255); self.size(300)];
    }

    fn timer(&mut self) -> Timer {
        let (visit, index) = (self.below(3), u16::from(self.byte(2)));
        let one = timer(&self.new_execution(), visit, index, self.below(20));
        Timer {
            schedule: self.maybe(|random| random.text(&LINES)),
            ..one
        }
    }

    /// A mutation that the records which `reader` sees mostly allow.
    pub(super) fn mutation(&mut self, reader: &dyn Reader) -> Result<Mutation, Error> {
        Ok(match self.below(17) {
            0 => Mutation::InsertMachineVersion(numbered_version(&self.text(&MACHINES), self.byte(VERSIONS).into())),
            1..=3 => self.write_execution(reader)?,
            4..=5 => self.append(reader)?,
            6..=8 => self.write_action(reader)?,
            9 => Mutation::PutTimer(self.timer()),
            10 => Mutation::DeleteTimer(self.timer().key),
            11 => Mutation::InsertInbox(input(&self.new_execution(), self.below(50))),
            12 => self.receipt_or_delete(),
            13 => self.fact_or_delete(),
            14 => Mutation::DeleteExecution(self.new_execution().id),
            15 => self.idempotency_or_delete(),
            _ => Mutation::PutRun(ProcessRun {
                started_at: at(self.below(9)),
                seen_at: at(self.below(99)),
            }),
        })
    }

    fn fact_or_delete(&mut self) -> Mutation {
        let kind = FactKind::ALL[usize::from(self.byte(5))];
        let key = self.text(&LINES);
        if self.once_in(3) {
            return Mutation::DeleteFact { kind, key };
        }
        let body = vec![self.byte(255); self.size(300)];
        Mutation::PutFact(Fact { kind, key, body })
    }

    fn write_execution(&mut self, reader: &dyn Reader) -> Result<Mutation, Error> {
        let new = self.new_execution();
        let stored = reader.execution(new.id)?;
        let variables = if self.once_in(2) {
            Variables::Changed
        } else {
            Variables::Unchanged
        };
        let against_the_rules = self.once_in(16);
        let insert = stored.is_none() != against_the_rules;
        let mut execution = stored.unwrap_or(new);
        self.alter_execution(&mut execution);
        Ok(if insert {
            Mutation::InsertExecution(execution)
        } else {
            Mutation::UpdateExecution { execution, variables }
        })
    }

    fn write_action(&mut self, reader: &dyn Reader) -> Result<Mutation, Error> {
        let new = self.new_action();
        let stored = reader.action(new.id)?;
        let against_the_rules = self.once_in(16);
        let insert = stored.is_none() != against_the_rules;
        let mut action = stored.unwrap_or(new);
        self.alter_action(&mut action);
        Ok(if insert {
            Mutation::InsertAction(action)
        } else {
            Mutation::UpdateAction(action)
        })
    }

    fn append(&mut self, reader: &dyn Reader) -> Result<Mutation, Error> {
        let execution = self.new_execution();
        let newest = reader
            .history(execution.id, &Page::first(usize::MAX))?
            .rows
            .last()
            .map_or(0, |entry| entry.sequence);
        let sequence = if self.once_in(8) {
            self.below(newest + 4)
        } else {
            newest + 1
        };
        Ok(Mutation::AppendHistory(entry(&execution, sequence)))
    }

    fn receipt_or_delete(&mut self) -> Mutation {
        let one = self.new_execution();
        let message = self.text(&MESSAGES);
        match self.below(3) {
            0 => Mutation::InsertReceipt(receipt(&one, &message)),
            1 => Mutation::DeleteReceipt {
                execution: one.id,
                message,
            },
            _ => Mutation::DeleteInbox {
                execution: one.id,
                position: self.below(50),
            },
        }
    }

    fn idempotency_or_delete(&mut self) -> Mutation {
        let record = idempotency(self.below(SCOPES), self.below(20));
        if self.once_in(3) {
            Mutation::DeleteIdempotency(record.scope)
        } else {
            Mutation::PutIdempotency(record)
        }
    }

    pub(super) fn line(&mut self) -> String {
        self.text(&LINES)
    }

    pub(super) fn limit(&mut self) -> usize {
        self.size(8)
    }

    pub(super) fn ready_key(&mut self) -> ReadyKey {
        ReadyKey {
            priority: self.byte(3) * 50,
            run_at: self.due(),
            action: self.new_action().id,
        }
    }

    /// A page, of the whole list or after some cursor.
    pub(super) fn page<C>(&mut self, cursor: impl FnOnce(&mut Self) -> C) -> Page<C> {
        let after = self.maybe(cursor);
        Page::new(after, self.limit())
    }

    /// The instant of something due.
    pub(super) fn due(&mut self) -> Timestamp {
        at(self.below(20))
    }

    pub(super) fn machine(&mut self) -> String {
        self.text(&MACHINES)
    }

    pub(super) fn timer_key(&mut self) -> TimerKey {
        self.timer().key
    }

    pub(super) fn action_id(&mut self) -> sprag_core::ids::ActionId {
        self.new_action().id
    }

    pub(super) fn execution_id(&mut self) -> sprag_core::ids::ExecutionId {
        self.new_execution().id
    }

    pub(super) fn execution_query(&mut self) -> ExecutionQuery {
        ExecutionQuery {
            machine: self.maybe(|random| random.text(&MACHINES)),
            status: self.maybe(Self::status),
            key: self.maybe(|random| random.text(&KEYS)),
            page: self.page(Self::execution_id),
        }
    }

    pub(super) fn execution_search(&mut self) -> Search<sprag_core::ids::ExecutionId> {
        Search {
            condition: self.execution_condition(),
            page: self.page(Self::execution_id),
            scan: crate::traits::SCAN_MAX,
        }
    }

    pub(super) fn action_search(&mut self) -> Search<sprag_core::ids::ActionId> {
        Search {
            condition: self.action_condition(),
            page: self.page(Self::action_id),
            scan: crate::traits::SCAN_MAX,
        }
    }

    pub(super) fn action_query(&mut self) -> ActionQuery {
        ActionQuery {
            execution: self.maybe(Self::execution_id),
            machine: self.maybe(|random| random.text(&MACHINES)),
            action_id: self.maybe(|_| "send".to_owned()),
            kind: self.maybe(|random| random.text(&LINES)),
            status: self.maybe(|random| random.byte(9)),
            error_kind: self.maybe(|random| random.text(&ERRORS)),
            page: self.page(Self::action_id),
        }
    }
}

/// All that can be loaded.
pub(super) fn everything() -> Wanted {
    let executions: Vec<_> = (0..EXECUTIONS).map(|number| execution(number).id).collect();
    let pairs = |left: &[&str], right: &[&str]| -> Vec<(String, String)> {
        left.iter()
            .flat_map(|one| right.iter().map(|other| ((*one).to_owned(), (*other).to_owned())))
            .collect()
    };
    Wanted {
        keys: pairs(&MACHINES, &KEYS),
        actions: (0..ACTIONS)
            .map(|number| action(&execution(number % EXECUTIONS), 1_000 + number).id)
            .collect(),
        receipts: executions
            .iter()
            .flat_map(|id| MESSAGES.map(|message| (*id, message.to_owned())))
            .collect(),
        newest: MACHINES.map(str::to_owned).to_vec(),
        versions: versions().map(|version| (version.machine, version.version)).collect(),
        version_by_digest: versions().map(|version| (version.machine, version.digest)).collect(),
        idempotency: (0..SCOPES).map(|number| idempotency(number, 0).scope).collect(),
        executions,
        ..Wanted::default()
    }
}
