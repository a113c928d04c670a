//! Starting executions.

use std::sync::Arc;

use serde_json::{Map, Value};
use sprag_core::ids::{ExecutionId, Slot};
use sprag_core::machine::{Cause, Execution, Facts, Machine, StepError};
use sprag_core::text::{self, TAGS_MAX, check_key, check_name};
use sprag_store::Error;
use sprag_store::records::ExecutionStatus;

use crate::aggregate::{Aggregate, Head};
use crate::command::{Answer, Code, Refusal, Reply, Start};
use crate::input;
use crate::lane::{Lane, Write};
use crate::near::no_machine;
use crate::view;

impl Lane {
    /// Starts an execution: its first macrostep, or nothing at all.
    pub(crate) fn start(&mut self, start: &Start, slot: Option<Slot>) -> Result<Reply, Error> {
        if let Err(refusal) = check_names(start) {
            return Ok(Err(refusal));
        }
        let (machine, version) = match self.pick_version(start)? {
            Ok(found) => found,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if let Some(refusal) = self.key_refusal(start) {
            return Ok(Err(refusal));
        }
        let mut variables = machine.variables.clone();
        variables.extend(start.variables.clone());
        if let Err(refusal) = self.check_input(&machine, version, &variables) {
            return Ok(Err(refusal));
        }
        let mut aggregate = self.new_execution(start, version, variables, slot);
        match self.step(&mut aggregate, &machine, Cause::Start) {
            Err(error) => Ok(Err(start_failed(&error))),
            Ok(stepped) => {
                self.batch.touch(aggregate.head.id, Write::Insert);
                self.hold_key(&aggregate);
                self.follow(&mut aggregate, &machine, stepped.ends);
                let view = view::execution(&aggregate, &machine);
                self.cache.put(aggregate);
                Ok(Ok(Answer::Execution(Box::new(view))))
            }
        }
    }

    fn pick_version(&mut self, start: &Start) -> Result<Result<(Arc<Machine>, u32), Refusal>, Error> {
        let Some(newest) = self.newest(&start.machine) else {
            let unknown = no_machine(&start.machine);
            return Ok(Err(Refusal {
                errors: vec![("/machine".to_owned(), unknown.detail.clone())],
                ..unknown
            }));
        };
        let version = start.version.unwrap_or(newest);
        let Some(machine) = self.machine(&start.machine, version)? else {
            let detail = format!(
                "machine `{}` has no version {version}; the newest is {newest}",
                start.machine
            );
            return Ok(Err(Refusal::new(Code::VersionUnknown, detail)));
        };
        Ok(Ok((machine, version)))
    }

    fn key_refusal(&self, start: &Start) -> Option<Refusal> {
        let key = start.key.as_ref()?;
        let holder = self.holder(&start.machine, key)?;
        let detail = format!(
            "key `{key}` of machine `{}` is held by the open execution `{holder}`",
            start.machine
        );
        Some(Refusal::new(Code::KeyInUse, detail))
    }

    /// Which open execution holds a key, as of this batch.
    pub(super) fn holder(&self, machine: &str, key: &str) -> Option<ExecutionId> {
        let name = (machine.to_owned(), key.to_owned());
        match self.batch.keys.get(&name) {
            Some(known) => *known,
            None => self
                .loaded
                .keys
                .iter()
                .find(|(held, _)| *held == name)
                .map(|(_, id)| *id),
        }
    }

    fn check_input(&mut self, machine: &Machine, version: u32, variables: &Map<String, Value>) -> Result<(), Refusal> {
        if machine.input.is_none() {
            return Ok(());
        }
        let problems = self
            .machines
            .check_input(machine, version, &Value::Object(variables.clone()));
        input::refuse(machine, problems)
    }

    fn hold_key(&mut self, aggregate: &Aggregate) {
        let head = &aggregate.head;
        // A machine may complete in its first macrostep: its key is free again by then.
        if let Some(key) = head.key.as_ref().filter(|_| head.status.is_open()) {
            let name = (head.machine.to_string(), key.clone());
            self.batch.keys.insert(name, Some(head.id));
        }
    }

    /// A slot of a shard that is owned here.
    fn own_slot(&mut self) -> Slot {
        if let Some(slot) = self.batch.slot.filter(|slot| self.owned.owns(*slot)) {
            return slot;
        }
        let drawn = self.mint.slot();
        let slot = self.owned.near(drawn).unwrap_or(drawn);
        self.batch.slot = Some(slot);
        slot
    }

    fn new_execution(
        &mut self,
        start: &Start,
        version: u32,
        variables: Map<String, Value>,
        slot: Option<Slot>,
    ) -> Aggregate {
        let slot = match &start.key {
            Some(key) => Slot::of_key(&start.machine, key),
            None => slot.unwrap_or_else(|| self.own_slot()),
        };
        let id = self.mint.execution(slot);
        let facts = Facts {
            id,
            key: start.key.clone(),
            version,
            created_at: self.now,
        };
        let head = Head {
            id,
            machine: start.machine.as_str().into(),
            version,
            key: start.key.clone(),
            status: ExecutionStatus::Running,
            sequence: 0,
            created_at: self.now,
            updated_at: self.now,
            tags: start.tags.clone(),
            migrated: false,
        };
        Aggregate::new(head, Execution::new(facts, variables))
    }
}

fn check_names(start: &Start) -> Result<(), Refusal> {
    check_field("/machine", check_key(&start.machine))?;
    if let Some(key) = &start.key {
        check_field("/key", check_key(key))?;
    }
    if start.tags.len() > TAGS_MAX {
        let detail = format!("`/tags` has {} tags; {TAGS_MAX} are the most", start.tags.len());
        return Err(Refusal {
            errors: vec![("/tags".to_owned(), detail.clone())],
            ..Refusal::new(Code::NameInvalid, detail)
        });
    }
    let mut tags = start.tags.iter().enumerate();
    tags.try_for_each(|(position, tag)| check_field(&format!("/tags/{position}"), check_name(tag)))
}

/// What is wrong with a name that somebody sent, by the place it was sent in. The name itself may be too long to show.
pub(super) fn check_field(pointer: &str, checked: Result<(), text::Problem>) -> Result<(), Refusal> {
    checked.map_err(|problem| Refusal {
        errors: vec![(pointer.to_owned(), problem.to_string())],
        ..Refusal::new(Code::NameInvalid, format!("`{pointer}` {problem}"))
    })
}

fn start_failed(error: &StepError) -> Refusal {
    let code = match error {
        StepError::VariablesTooLarge { .. } => Code::VariablesTooLarge,
        _ => Code::DecisionFailed,
    };
    Refusal::new(code, error.to_string())
}
