//! A plan that may run starts: the machine that runs it is compiled and stored, and its execution starts, in one transaction.

use std::sync::Arc;

use serde_json::Map;
use sprag_core::operation::{compile, machine_name};
use sprag_store::Mutation;
use sprag_store::records::MachineVersion;
use sprag_wire::Start;

use super::super::start::{Seat, start_seated};
use super::super::{Code, Refusal};
use super::apply::{documents_of, keep_all};
use crate::decide::plans::PlanState;
use crate::decide::{self, Decider};
use sprag_core::operation::WorkflowStatus;

/// The only version of a machine that was made of a plan.
const VERSION: u32 = 1;

/// Runs a plan that may run: applies the documents that it holds, or starts its execution.
pub(super) fn run(decider: &mut Decider<'_>, mut plan: PlanState) -> Result<(), Refusal> {
    let now = decider.now();
    plan.decided.started_at = Some(now);
    let illegal =
        |error: sprag_core::operation::IllegalWorkflowMove| Refusal::new(Code::StatusConflict, error.to_string());
    plan.become_status(WorkflowStatus::InProgress, now).map_err(illegal)?;
    match documents_of(&plan.plan) {
        Some(documents) => {
            keep_all(decider, &documents?)?;
            plan.decided.started_at = None;
            plan.become_status(WorkflowStatus::Completed, now).map_err(illegal)?;
            decider.put_plan(plan);
            Ok(())
        }
        None => start(decider, plan),
    }
}

fn start(decider: &mut Decider<'_>, plan: PlanState) -> Result<(), Refusal> {
    let now = decider.now();
    let name = machine_name(&plan.id.to_string());
    let definition = compile(&plan.plan, now).to_string().into_bytes();
    let machine = decide::compile(&definition).map_err(|detail| {
        let id = plan.id;
        Refusal::new(
            Code::DecisionFailed,
            format!("the plan of workflow `{id}` cannot be run: {detail}"),
        )
    })?;
    let machine = Arc::new(machine);
    let start = Start {
        machine: name.clone(),
        version: Some(VERSION),
        key: None,
        variables: Map::new(),
        tags: Vec::new(),
    };
    let seat = Seat {
        id: Some(plan.id.execution()),
        plan: Some(plan),
    };
    start_seated(decider, &start, &machine, VERSION, seat)?;
    decider.batch.log.push(Mutation::InsertMachineVersion(MachineVersion {
        machine: name.clone(),
        version: VERSION,
        digest: machine.digest,
        definition,
        created_at: now,
    }));
    decider.known.machines.put(&name, VERSION, machine);
    Ok(())
}
