//! Starting executions.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use sprag_core::ids::{ExecutionId, Slot};
use sprag_core::integrity::audit::Verb;
use sprag_core::machine::{Cause, Execution, Facts, Machine, StepError};
use sprag_core::operation::is_workflow_machine;
use sprag_core::text::{self, TAGS_MAX, check_key, check_name};
use sprag_core::time::Timestamp;
use sprag_store::records::ExecutionStatus;

use super::audit::Audit;
use super::idempotency::stored_answer;
use super::{Answer, Code, Overlap, Refusal, Request, Route, Subject};
use crate::decide::gate;
use crate::decide::plans::PlanState;
use crate::decide::state::{ExecutionState, Head};
use crate::decide::{Decider, ExecutionChange, Known, Pinned, Reads, Write, input};
use crate::engine::near::no_machine;
pub use sprag_wire::Start;

use crate::read::view::{self, ExecutionView};

impl Answer for Box<ExecutionView> {
    stored_answer!("execution");

    fn refresh(&mut self, known: &Known, now: Timestamp) {
        if let Some(state) = known.executions.get(self.id) {
            self.waiting = known.waiting(state, now);
        }
    }

    fn execution(&self) -> Option<ExecutionId> {
        Some(self.id)
    }
}

impl Request for Start {
    type Answer = Box<ExecutionView>;
    const NAME: &'static str = "start";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::StartExecution, |request| request.machine.clone())
            .making(|view| Some(view.id.to_string()))
            .changing(|_, _, view| view.map(|view| format!("{} version {}", view.machine, view.version)))
            .by_hand(),
    );
    const OVERLAP: Overlap = Overlap::Everyday;

    own_variant!(Start);

    fn route(&self) -> Route {
        match &self.key {
            Some(key) => Route::Slot(Slot::of_key(&self.machine, key)),
            None => Route::NewExecution,
        }
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        if let Some(key) = &self.key {
            reads.key(&self.machine, key);
        }
        if let Some(version) = reads.newest(&self.machine) {
            reads.version(&self.machine, self.version.unwrap_or(version));
        }
    }

    fn subject(&self) -> Option<Subject> {
        let Self {
            machine,
            version,
            key,
            variables,
            tags,
        } = self;
        Some(Subject {
            target: json!([machine, key]),
            body: json!({"version": version, "variables": variables, "tags": tags}),
        })
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Box<ExecutionView>, Refusal> {
        check_names(self)?;
        refuse_workflow(self)?;
        let (machine, version) = pick_version(decider, self)?;
        start_version(decider, self, &machine, version)
    }
}

/// Where an execution starts that is not just any new one.
#[derive(Debug, Default)]
pub(crate) struct Seat {
    /// Its id, if it is known already.
    pub(crate) id: Option<ExecutionId>,
    /// The plan that it runs.
    pub(crate) plan: Option<PlanState>,
}

/// Starts an execution of a version: its first macrostep, or nothing at all.
pub(crate) fn start_version(
    decider: &mut Decider<'_>,
    start: &Start,
    machine: &Arc<Machine>,
    version: u32,
) -> Result<Box<ExecutionView>, Refusal> {
    start_seated(decider, start, machine, version, Seat::default())
}

/// The same, for an execution whose id or plan is known already.
pub(crate) fn start_seated(
    decider: &mut Decider<'_>,
    start: &Start,
    machine: &Arc<Machine>,
    version: u32,
    seat: Seat,
) -> Result<Box<ExecutionView>, Refusal> {
    refuse_held_key(decider, start)?;
    let mut variables = machine.variables.clone();
    variables.extend(start.variables.clone());
    check_input(decider, machine, version, &variables)?;
    let mut state = new_execution(decider, start, version, variables, seat.id);
    let mut machines = Pinned::new(Arc::clone(machine));
    let mut change = ExecutionChange {
        decider,
        state: &mut state,
        machines: &mut machines,
        machine,
    };
    // What begins looks for its plan; the plan is written only if the first macrostep is taken.
    if let Some(plan) = &seat.plan {
        change.state.plans.insert(plan.id, plan.clone());
    }
    let taken = change.step(Cause::Start).map_err(|error| start_failed(&error))?;
    let id = change.state.head.id;
    change.batch().touch(id, Write::Insert);
    hold_key(&mut change);
    change.follow(taken.ends);
    if let Some(plan) = seat.plan {
        change.put_plan(plan);
    }
    gate::follow_plans(&mut change);
    let view = view::execution(&state, machine);
    decider.known.executions.put(state, machines);
    Ok(Box::new(view))
}

fn pick_version(decider: &mut Decider<'_>, start: &Start) -> Result<(Arc<Machine>, u32), Refusal> {
    let Some(newest) = decider.newest(&start.machine) else {
        let unknown = no_machine(&start.machine);
        return Err(Refusal {
            errors: vec![("/machine".to_owned(), unknown.detail.clone())],
            ..unknown
        });
    };
    let version = start.version.unwrap_or(newest);
    let machine = decider.machine(&start.machine, version).ok_or_else(|| {
        let name = &start.machine;
        let detail = format!("machine `{name}` has no version {version}; the newest is {newest}");
        Refusal::new(Code::VersionUnknown, detail)
    })?;
    Ok((machine, version))
}

/// A machine that was made of a plan runs once, for that plan.
fn refuse_workflow(start: &Start) -> Result<(), Refusal> {
    if !is_workflow_machine(&start.machine) {
        return Ok(());
    }
    let detail = format!(
        "machine `{}` was made of a plan; propose the plan again instead",
        start.machine
    );
    Err(Refusal::at("/machine", Code::MachineUnknown, detail))
}

fn refuse_held_key(decider: &Decider<'_>, start: &Start) -> Result<(), Refusal> {
    let Some(key) = &start.key else { return Ok(()) };
    let Some(holder) = decider.holder(&start.machine, key) else {
        return Ok(());
    };
    let machine = &start.machine;
    let detail = format!(
        "key `{key}` of machine `{machine}` is in use by the open execution `{holder}`; use that execution, or \
         another key"
    );
    Err(Refusal::new(Code::KeyInUse, detail))
}

fn check_input(
    decider: &mut Decider<'_>,
    machine: &Machine,
    version: u32,
    variables: &Map<String, Value>,
) -> Result<(), Refusal> {
    if machine.input.is_none() {
        return Ok(());
    }
    let variables = Value::Object(variables.clone());
    let problems = decider.known.machines.check_input(machine, version, &variables);
    input::refuse(machine, problems)
}

fn hold_key(change: &mut ExecutionChange<'_, '_>) {
    let head = &change.state.head;
    // A machine may complete in its first macrostep: its key is free again by then.
    if let Some(key) = head.key.as_ref().filter(|_| head.status.is_open()) {
        let name = (head.machine.to_string(), key.clone());
        let id = head.id;
        change.batch().keys.insert(name, Some(id));
    }
}

fn new_execution(
    decider: &mut Decider<'_>,
    start: &Start,
    version: u32,
    variables: Map<String, Value>,
    id: Option<ExecutionId>,
) -> ExecutionState {
    let slot = match (&start.key, decider.slot) {
        (Some(key), _) => Slot::of_key(&start.machine, key),
        (None, Some(slot)) => slot,
        (None, None) => decider.own_slot(),
    };
    let id = id.unwrap_or_else(|| decider.at.mint.execution(slot));
    let now = decider.now();
    let facts = Facts {
        id,
        key: start.key.clone(),
        version,
        created_at: now,
    };
    let head = Head {
        id,
        machine: start.machine.as_str().into(),
        version,
        key: start.key.clone(),
        status: ExecutionStatus::Running,
        sequence: 0,
        created_at: now,
        updated_at: now,
        tags: start.tags.clone(),
        migrated: false,
    };
    ExecutionState::new(head, Execution::new(facts, variables))
}

fn check_names(start: &Start) -> Result<(), Refusal> {
    check_field("/machine", check_key(&start.machine))?;
    if let Some(key) = &start.key {
        check_field("/key", check_key(key))?;
    }
    if start.tags.len() > TAGS_MAX {
        let detail = format!("`/tags` has {} tags; at most {TAGS_MAX} are allowed", start.tags.len());
        return Err(Refusal::at("/tags", Code::NameInvalid, detail));
    }
    let mut tags = start.tags.iter().enumerate();
    tags.try_for_each(|(position, tag)| check_field(&format!("/tags/{position}"), check_name(tag)))
}

/// What is wrong with a name, by the field it was sent in. The name itself may be too long to show.
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
