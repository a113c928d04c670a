//! The catalog and plans, as the lane and the readers see them.

use sprag_core::ids::{Slot, WorkflowId, scatter};

use super::fixtures::{Opened, SHARD, action, at, execution, inserts, version};
use super::{Check, Subject, checks};
use crate::page::Page;
use crate::records::{
    CatalogKind, CatalogVersion, Execution, ExecutionStatus, MachineVersion, Plan, WorkflowStatus, workflow_machine,
};
use crate::traits::{DuePlan, Error, Mutation, OpenPlan, PlanQuery, Proposals, WaitingPlan, Wanted};

/// What operations rely on.
pub const PLANS: &[Check] = checks![
    the_newest_versions_of_a_catalog_are_listed,
    a_version_of_an_operation_is_inserted_once,
    what_was_proposed_never_changes,
    plans_are_found_by_each_of_their_fields_newest_first,
    what_waits_for_a_person_is_listed_by_urgency,
    open_plans_of_a_principal_are_found_newest_first,
    plans_come_due_until_they_are_decided,
    a_refused_commit_takes_a_plan_back,
    plans_go_with_their_executions_and_actions,
];

fn entry(kind: CatalogKind, name: &str, version: u32) -> CatalogVersion {
    CatalogVersion {
        kind,
        name: name.to_owned(),
        version,
        digest: [u8::try_from(version).unwrap_or(0); 32],
        definition: format!("{{\"{name}\":{version}}}").into_bytes(),
        created_at: at(version.into()),
    }
}

fn byte(number: u64) -> u8 {
    u8::try_from(number % 200).unwrap_or(0)
}

fn plan(number: u64) -> Plan {
    Plan {
        id: WorkflowId::compose(at(number), Slot(0), scatter(number)),
        digest: [byte(number); 32],
        content: [byte(number) + 1; 32],
        name: format!("op{}", number % 3),
        proposer: format!("person{}", number % 2),
        ticket: number.is_multiple_of(4).then(|| "T-4".to_owned()),
        risk: byte(number % 4),
        urgency: byte(number % 3),
        created_at: at(number),
        document: format!("{{\"plan\":{number}}}").into_bytes(),
        status: WorkflowStatus::AwaitingApproval,
        updated_at: at(number),
        decide_by: Some(at(1_000 - number)),
        body: b"{}".to_vec(),
    }
}

fn puts(plans: &[Plan]) -> Vec<Mutation> {
    plans.iter().cloned().map(Mutation::PutPlan).collect()
}

fn the_newest_versions_of_a_catalog_are_listed(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (subject_kind, operation) = (CatalogKind::Subject, CatalogKind::Operation);
    let all = [
        entry(operation, "b", 1),
        entry(operation, "b", 2),
        entry(operation, "a", 1),
        entry(subject_kind, "b", 1),
        entry(operation, "c", 10),
        entry(operation, "c", 9),
    ];
    store.commit(
        &all.iter()
            .cloned()
            .map(Mutation::InsertCatalogVersion)
            .collect::<Vec<_>>(),
    )?;
    let newest = [&all[3], &all[2], &all[1], &all[4]].map(Clone::clone);
    assert_eq!(store.lane.catalog()?, newest);
    let page = |after: Option<&str>, rows| Page::new(after.map(str::to_owned), rows);
    assert_eq!(store.reader.catalog(operation, &page(None, 9))?.rows, newest[1..]);
    assert_eq!(store.reader.catalog(subject_kind, &page(None, 9))?.rows, newest[..1]);
    let first = store.reader.catalog(operation, &page(None, 2))?;
    assert_eq!((first.rows.len(), first.next.as_deref()), (2, Some("b")));
    assert_eq!(store.reader.catalog(operation, &page(Some("b"), 2))?.rows, newest[3..]);
    assert_eq!(
        store.reader.catalog_version(operation, "b", Some(1))?.as_ref(),
        Some(&all[0])
    );
    assert_eq!(
        store.reader.catalog_version(operation, "b", None)?.as_ref(),
        Some(&all[1])
    );
    assert_eq!(store.reader.catalog_version(operation, "b", Some(3))?, None);
    assert_eq!(store.reader.catalog_version(operation, "a\0", None)?, None);
    Ok(())
}

fn a_version_of_an_operation_is_inserted_once(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let one = entry(CatalogKind::Operation, "a", 1);
    store.commit(&[Mutation::InsertCatalogVersion(one.clone())])?;
    store.refuse(&[Mutation::InsertCatalogVersion(one.clone())]);
    let nul = CatalogVersion {
        name: "a\0".to_owned(),
        ..one
    };
    store.refuse(&[Mutation::InsertCatalogVersion(nul)]);
    Ok(())
}

fn what_was_proposed_never_changes(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let one = plan(7);
    store.commit(&puts(std::slice::from_ref(&one)))?;
    assert_eq!(store.reader.plan(one.id)?.as_ref(), Some(&one));
    let decided = Plan {
        status: WorkflowStatus::InProgress,
        updated_at: at(99),
        decide_by: None,
        body: b"{\"given\":[]}".to_vec(),
        ..one
    };
    let changed = Plan {
        digest: [9; 32],
        content: [9; 32],
        name: "other".to_owned(),
        proposer: "somebody".to_owned(),
        ticket: Some("other".to_owned()),
        risk: 9,
        urgency: 9,
        created_at: at(9),
        document: b"other".to_vec(),
        ..decided.clone()
    };
    store.commit(&puts(&[changed]))?;
    let mut store = store.reopen(subject)?;
    assert_eq!(store.reader.plan(decided.id)?.as_ref(), Some(&decided));
    let wanted = Wanted {
        plans: vec![plan(8).id, decided.id],
        ..Wanted::default()
    };
    assert_eq!(store.lane.load(&wanted)?.plans, [decided]);
    Ok(())
}

fn plans_are_found_by_each_of_their_fields_newest_first(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let mut plans: Vec<Plan> = (1..=24).map(plan).collect();
    for (plan, status) in plans.iter_mut().zip(WorkflowStatus::ALL.into_iter().cycle()) {
        plan.status = status;
    }
    store.commit(&puts(&plans))?;
    plans.reverse();
    let everything = PlanQuery {
        page: Page::first(100),
        ..PlanQuery::default()
    };
    let expect = |query: PlanQuery, keep: &dyn Fn(&Plan) -> bool| -> Result<(), Error> {
        let expected: Vec<Plan> = plans.iter().filter(|plan| keep(plan)).cloned().collect();
        assert_eq!(store.reader.plans(&query)?.rows, expected, "{query:?}");
        Ok(())
    };
    expect(everything.clone(), &|_| true)?;
    for status in WorkflowStatus::ALL {
        let query = PlanQuery {
            status: Some(status),
            ..everything.clone()
        };
        expect(query, &|plan| plan.status == status)?;
    }
    let of = |proposer: Option<&str>, ticket: Option<&str>, name: Option<&str>| PlanQuery {
        proposer: proposer.map(str::to_owned),
        ticket: ticket.map(str::to_owned),
        name: name.map(str::to_owned),
        ..everything.clone()
    };
    expect(of(Some("person1"), None, None), &|plan| plan.proposer == "person1")?;
    expect(of(None, Some("T-4"), None), &|plan| plan.ticket.is_some())?;
    expect(of(None, None, Some("op2")), &|plan| plan.name == "op2")?;
    expect(of(Some("person0"), Some("T-4"), Some("op1")), &|plan| {
        (plan.proposer.as_str(), plan.name.as_str()) == ("person0", "op1") && plan.ticket.is_some()
    })?;
    expect(of(Some("a\0"), None, None), &|_| false)?;
    let page = PlanQuery {
        page: Page::new(Some(plans[4].id), 3),
        ..PlanQuery::default()
    };
    let found = store.reader.plans(&page)?;
    assert_eq!((&found.rows[..], found.next), (&plans[5..8], Some(plans[7].id)));
    Ok(())
}

fn what_waits_for_a_person_is_listed_by_urgency(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let mut plans: Vec<Plan> = (1..=9).map(plan).collect();
    plans[3].status = WorkflowStatus::InProgress;
    plans[4].status = WorkflowStatus::Expired;
    store.commit(&puts(&plans))?;
    plans.retain(|plan| plan.status == WorkflowStatus::AwaitingApproval);
    plans.sort_by_key(|plan| (plan.urgency, plan.id));
    assert_eq!(store.reader.waiting_plans(&Page::first(9))?.rows, plans);
    let page = store.reader.waiting_plans(&Page::first(2))?;
    let after = WaitingPlan::of(&plans[1]);
    assert_eq!((&page.rows[..], page.next), (&plans[..2], Some(after)));
    assert_eq!(store.reader.waiting_plans(&Page::new(Some(after), 9))?.rows, plans[2..]);
    Ok(())
}

fn open_plans_of_a_principal_are_found_newest_first(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let mut plans: Vec<Plan> = (2..=20).step_by(2).map(plan).collect();
    plans[0].status = WorkflowStatus::Pending;
    plans[1].status = WorkflowStatus::InProgress;
    plans[2].status = WorkflowStatus::Rejected;
    plans.push(plan(1));
    store.commit(&puts(&plans))?;
    let names = ["person1", "person0", "nobody"];
    let wanted = Wanted {
        proposers: names.map(str::to_owned).to_vec(),
        ..Wanted::default()
    };
    let found = store.lane.load(&wanted)?.proposals;
    let answer = |proposer: &str| {
        let open = plans
            .iter()
            .filter(|plan| plan.proposer == proposer && plan.status.is_open());
        let open = open.map(|plan| OpenPlan {
            plan: plan.id,
            status: plan.status,
            content: plan.content,
        });
        let mut open: Vec<OpenPlan> = open.collect();
        open.sort_by_key(|open| std::cmp::Reverse(open.plan));
        Proposals {
            proposer: proposer.to_owned(),
            open,
        }
    };
    assert_eq!(found, names.map(answer));
    Ok(())
}

fn plans_come_due_until_they_are_decided(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let mut plans: Vec<Plan> = (1..=9).map(plan).collect();
    plans[8].decide_by = None;
    store.commit(&puts(&plans))?;
    plans[7].decide_by = None;
    plans[7].status = WorkflowStatus::Rejected;
    store.commit(&puts(&plans[7..8]))?;
    let due: Vec<DuePlan> = plans[..7]
        .iter()
        .rev()
        .filter_map(|plan| {
            Some(DuePlan {
                plan: plan.id,
                decide_by: plan.decide_by?,
            })
        })
        .collect();
    assert_eq!(store.lane.due_plans(SHARD, at(2_000), &Page::first(9))?.rows, due);
    assert_eq!(store.lane.due_plans(SHARD, at(995), &Page::first(9))?.rows, due[..3]);
    let after = (due[1].decide_by, due[1].plan);
    assert_eq!(
        store.lane.due_plans(SHARD, at(2_000), &Page::new(Some(after), 2))?.rows,
        due[2..4]
    );
    Ok(())
}

fn a_refused_commit_takes_a_plan_back(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (one, two) = (plan(1), plan(2));
    store.commit(&puts(std::slice::from_ref(&one)))?;
    let decided = Plan {
        status: WorkflowStatus::Rejected,
        ..one.clone()
    };
    let entry = entry(CatalogKind::Operation, "a", 1);
    store.refuse(&[
        Mutation::PutPlan(decided),
        Mutation::PutPlan(two.clone()),
        Mutation::InsertCatalogVersion(entry.clone()),
        Mutation::InsertCatalogVersion(entry),
    ]);
    assert_eq!(store.reader.plan(one.id)?, Some(one));
    assert_eq!(store.reader.plan(two.id)?, None);
    assert_eq!(store.lane.catalog()?, []);
    let nul = Plan {
        proposer: "a\0".to_owned(),
        ..two
    };
    store.refuse(&puts(&[nul]));
    Ok(())
}

fn plans_go_with_their_executions_and_actions(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let closed = Execution {
        status: ExecutionStatus::Completed,
        ..execution(1)
    };
    let sent = action(&closed, 10);
    let machine = MachineVersion {
        machine: workflow_machine(closed.id),
        ..version("order", 1)
    };
    let of = |id: WorkflowId| Plan { id, ..plan(1) };
    let (own, of_action, other) = (of(closed.id.into()), of(sent.id.into()), plan(2));
    store.commit(&inserts(&[&closed]))?;
    store.commit(&[
        Mutation::InsertAction(sent),
        Mutation::InsertMachineVersion(machine.clone()),
        Mutation::InsertMachineVersion(version("order", 1)),
    ])?;
    store.commit(&puts(&[own.clone(), of_action.clone(), other.clone()]))?;
    let listed = store.reader.machines(&Page::first(9))?.rows;
    assert_eq!(listed, [version("order", 1)], "those made of plans are not listed");
    store.commit(&[Mutation::DeleteExecution(closed.id)])?;
    assert_eq!(store.reader.plan(own.id)?, None);
    assert_eq!(store.reader.plan(of_action.id)?, None);
    assert_eq!(store.reader.plan(other.id)?, Some(other));
    assert_eq!(store.reader.machine(&machine.machine, None)?, None);
    assert!(store.reader.machine("order", None)?.is_some());
    Ok(())
}
