//! What readers see: committed state, filtered, newest first, page by page.

use sprag_core::action::Status;

use super::fixtures::{
    DEAD, Opened, QUEUED, RUNNING, SUCCEEDED, action, at, entry, execution, input, inserts, keyed, pages, timer,
};
use super::pages::{
    a_page_ends_at_its_bytes, a_row_larger_than_a_page_is_a_page_of_its_own, a_search_ends_at_its_bytes,
    pages_of_history_items_jobs_and_machines_end_at_their_bytes,
};
use super::{Check, Subject, checks};
use crate::page::{Page, PageLimit, Paged};
use crate::records::{Action, Execution, ExecutionStatus};
use crate::traits::{ActionQuery, Error, ExecutionQuery, Mutation, OpenWork, QueuedCount, Variables};

/// What readers rely on.
pub const READER: &[Check] = checks![
    executions_are_listed_newest_first,
    executions_are_filtered_by_all_that_is_given,
    pages_of_executions_meet,
    actions_are_listed_newest_first,
    actions_are_filtered_by_all_that_is_given,
    a_history_is_read_in_pages,
    what_belongs_to_an_execution_is_read_by_its_id,
    the_open_work_of_many_executions_is_read_at_once,
    a_reader_sees_every_commit_and_nothing_else,
    open_work_is_counted,
    a_page_ends_at_its_bytes,
    a_search_ends_at_its_bytes,
    a_row_larger_than_a_page_is_a_page_of_its_own,
    pages_of_history_items_jobs_and_machines_end_at_their_bytes,
];

const ALL: usize = 1_000;

fn ids(executions: &[Execution]) -> Vec<sprag_core::ids::ExecutionId> {
    executions.iter().map(|execution| execution.id).collect()
}

/// Executions of two machines, in all statuses, with and without keys, some closed under one key.
fn many_executions(store: &mut Opened) -> Result<Vec<Execution>, Error> {
    let mut executions = Vec::new();
    for (number, status) in (1..=30).zip(ExecutionStatus::ALL.into_iter().cycle()) {
        let machine = if number % 3 == 0 { "refund" } else { "order" };
        let key = match status {
            ExecutionStatus::Completed => Some("k".to_owned()),
            ExecutionStatus::Running => Some(format!("k{number}")),
            _ => None,
        };
        executions.push(Execution {
            machine: machine.to_owned(),
            status,
            key,
            ..execution(number)
        });
    }
    store.commit(&inserts(&executions.iter().collect::<Vec<_>>()))?;
    executions.reverse();
    Ok(executions)
}

fn executions_are_listed_newest_first(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let expected = many_executions(&mut store)?;
    assert_eq!(store.reader.executions(&ExecutionQuery::default())?.rows, expected);
    let nothing = ExecutionQuery {
        page: Page::first(0),
        ..ExecutionQuery::default()
    };
    assert_eq!(store.reader.executions(&nothing)?, Paged::default());
    Ok(())
}

fn executions_are_filtered_by_all_that_is_given(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let all = many_executions(&mut store)?;
    let machines = [None, Some("order"), Some("refund"), Some("none")];
    let statuses = [None].into_iter().chain(ExecutionStatus::ALL.map(Some));
    let keys = [None, Some("k"), Some("k1"), Some("none")];
    for status in statuses {
        for (machine, key) in machines.iter().flat_map(|machine| keys.map(|key| (*machine, key))) {
            let query = ExecutionQuery {
                machine: machine.map(str::to_owned),
                status,
                key: key.map(str::to_owned),
                page: Page::first(ALL),
            };
            let expected: Vec<Execution> = all
                .iter()
                .filter(|execution| machine.is_none_or(|machine| execution.machine == machine))
                .filter(|execution| status.is_none_or(|status| execution.status == status))
                .filter(|execution| key.is_none_or(|key| execution.key.as_deref() == Some(key)))
                .cloned()
                .collect();
            assert_eq!(ids(&store.reader.executions(&query)?.rows), ids(&expected), "{query:?}");
        }
    }
    Ok(())
}

fn pages_of_executions_meet(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let all = many_executions(&mut store)?;
    for machine in [None, Some("order".to_owned())] {
        let expected: Vec<Execution> = all
            .iter()
            .filter(|one| machine.as_ref().is_none_or(|machine| one.machine == *machine))
            .cloned()
            .collect();
        let found = pages(7, |page| {
            let query = ExecutionQuery {
                machine: machine.clone(),
                page: *page,
                ..ExecutionQuery::default()
            };
            store.reader.executions(&query)
        })?;
        assert_eq!(found, expected);
    }
    Ok(())
}

/// Actions of two executions that differ in all that can be asked for, newest first.
fn many_actions(store: &mut Opened) -> Result<(Vec<Execution>, Vec<Action>), Error> {
    let executions = [
        execution(1),
        Execution {
            machine: "refund".to_owned(),
            ..execution(2)
        },
    ];
    let mut actions = Vec::new();
    let mut number = 100;
    for execution in &executions {
        for status in 0..=8 {
            for action_id in ["send", "mint"] {
                number += 1;
                let mut action = Action {
                    status,
                    action_id: action_id.to_owned(),
                    ..action(execution, number)
                };
                if number % 3 == 0 {
                    "email".clone_into(&mut action.kind);
                    action.error_kind = Some("timeout".to_owned());
                }
                actions.push(action);
            }
        }
    }
    let mut mutations = inserts(&[&executions[0], &executions[1]]);
    mutations.extend(actions.iter().cloned().map(Mutation::InsertAction));
    store.commit(&mutations)?;
    actions.reverse();
    Ok((executions.to_vec(), actions))
}

fn actions_are_listed_newest_first(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (_, expected) = many_actions(&mut store)?;
    assert_eq!(store.reader.actions(&ActionQuery::default())?.rows, expected);
    let found = pages(5, |page| {
        store.reader.actions(&ActionQuery {
            page: *page,
            ..ActionQuery::default()
        })
    })?;
    assert_eq!(found, expected);
    Ok(())
}

/// What a query should find among `all`.
fn matching(all: &[Action], query: &ActionQuery) -> Vec<Action> {
    let ActionQuery {
        execution,
        machine,
        action_id,
        kind,
        status,
        error_kind,
        page,
    } = query;
    all.iter()
        .filter(|action| execution.is_none_or(|execution| action.execution == execution))
        .filter(|action| machine.as_ref().is_none_or(|machine| action.machine == *machine))
        .filter(|action| {
            action_id
                .as_ref()
                .is_none_or(|action_id| action.action_id == *action_id)
        })
        .filter(|action| kind.as_ref().is_none_or(|kind| action.kind == *kind))
        .filter(|action| status.is_none_or(|status| action.status == status))
        .filter(|action| error_kind.is_none() || action.error_kind == *error_kind)
        .filter(|action| page.after.is_none_or(|after| action.id < after))
        .take(page.limit.rows)
        .cloned()
        .collect()
}

fn actions_are_filtered_by_all_that_is_given(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (executions, all) = many_actions(&mut store)?;
    let text = |bit: bool, text: &str| bit.then(|| text.to_owned());
    let statuses = [None, Some(QUEUED), Some(RUNNING), Some(SUCCEEDED), Some(DEAD), Some(99)];
    for (bits, status) in (0..64_u32).flat_map(|bits| statuses.map(|status| (bits, status))) {
        let query = ActionQuery {
            execution: (bits & 1 != 0).then_some(executions[1].id),
            machine: text(bits & 2 != 0, "refund"),
            action_id: text(bits & 4 != 0, "mint"),
            kind: text(bits & 8 != 0, "email"),
            status,
            error_kind: text(bits & 16 != 0, "timeout"),
            page: Page::new((bits & 32 != 0).then_some(all[5].id), 4),
        };
        assert_eq!(store.reader.actions(&query)?.rows, matching(&all, &query), "{query:?}");
    }
    Ok(())
}

fn a_history_is_read_in_pages(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (one, other) = (execution(1), execution(2));
    let mut mutations: Vec<Mutation> = (1..=300).map(|n| Mutation::AppendHistory(entry(&one, n))).collect();
    mutations.push(Mutation::AppendHistory(entry(&other, 1)));
    store.commit(&mutations)?;
    let expected: Vec<_> = (1..=300).map(|sequence| entry(&one, sequence)).collect();
    assert_eq!(store.reader.history(one.id, &Page::first(ALL))?.rows, expected);
    assert_eq!(store.reader.history(one.id, &Page::first(3))?.rows, expected[..3]);
    assert_eq!(
        store.reader.history(one.id, &Page::new(Some(255), 3))?.rows,
        expected[255..258]
    );
    assert_eq!(
        store.reader.history(one.id, &Page::new(Some(298), 3))?.rows,
        expected[298..]
    );
    assert_eq!(store.reader.history(one.id, &Page::new(Some(300), 3))?.rows, []);
    assert_eq!(store.reader.history(one.id, &Page::first(0))?.rows, []);
    assert_eq!(store.reader.history(execution(3).id, &Page::first(3))?.rows, []);
    Ok(())
}

fn what_belongs_to_an_execution_is_read_by_its_id(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (one, other, none) = (keyed(1, "k"), execution(2), execution(3));
    let mut mutations = inserts(&[&one, &other]);
    mutations.extend([5, 1, 3].map(|visit| Mutation::PutTimer(timer(&one, visit, 0, 9 - visit))));
    mutations.extend((0..4).map(|position| Mutation::InsertInbox(input(&one, position))));
    mutations.push(Mutation::PutTimer(timer(&other, 1, 0, 1)));
    mutations.push(Mutation::InsertInbox(input(&other, 1)));
    store.commit(&mutations)?;
    assert_eq!(
        store.reader.timers(one.id)?,
        [1, 3, 5].map(|visit| timer(&one, visit, 0, 9 - visit))
    );
    assert_eq!(store.reader.inbox_length(one.id)?, 4);
    assert_eq!(store.reader.execution_by_key("order", "k")?, Some(one.id));
    assert_eq!(store.reader.execution_by_key("order", "")?, None);
    assert_eq!(store.reader.timers(none.id)?, []);
    assert_eq!(store.reader.inbox_length(none.id)?, 0);
    assert_eq!(store.reader.execution(none.id)?, None);
    assert_eq!(store.reader.action(action(&one, 9).id)?, None);
    Ok(())
}

fn the_open_work_of_many_executions_is_read_at_once(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (one, other, idle, none) = (execution(1), execution(2), execution(3), execution(4));
    let mut mutations = inserts(&[&one, &other, &idle]);
    mutations.extend([3, 1].map(|visit| Mutation::PutTimer(timer(&one, visit, 0, visit))));
    mutations.push(Mutation::PutTimer(timer(&other, 1, 0, 1)));
    let in_status = |execution: &Execution, number: u64, status: Status| Action {
        status: status.number(),
        body: vec![b'x'; 1_000],
        ..action(execution, number)
    };
    let open = [Status::Scheduled, Status::Queued, Status::Running, Status::Retrying];
    let mut actions: Vec<Action> = (1..=12)
        .zip(open.into_iter().cycle())
        .map(|(number, status)| in_status(&one, number, status))
        .collect();
    actions.push(in_status(&other, 20, Status::Queued));
    let ended = [Status::Succeeded, Status::Dead, Status::Cancelled];
    let ended = ended
        .into_iter()
        .zip(30..)
        .map(|(status, number)| in_status(&one, number, status));
    mutations.extend(actions.iter().cloned().chain(ended).map(Mutation::InsertAction));
    store.commit(&mutations)?;

    let asked = [one.id, other.id, idle.id, none.id];
    let read = |rows, bytes| {
        let mut work = store.reader.open_work(&asked, PageLimit { rows, bytes })?;
        work.actions.sort_by_key(|action| action.id);
        Ok(work)
    };
    let all: OpenWork = read(ALL, usize::MAX)?;
    assert_eq!(all.actions, actions);
    let timers = [timer(&one, 1, 0, 1), timer(&one, 3, 0, 3), timer(&other, 1, 0, 1)];
    assert_eq!(all.timers, timers);
    // The newest two of each status, by rows and by bytes.
    let newest: Vec<Action> = actions[4..].to_vec();
    assert_eq!(read(2, usize::MAX)?.actions, newest);
    assert_eq!(read(ALL, 2_200)?.actions, newest);
    assert_eq!(read(ALL, 1)?.actions, actions[8..], "one at least, however large");
    assert_eq!(store.reader.open_work(&[], PageLimit::default())?, OpenWork::default());
    Ok(())
}

fn a_reader_sees_every_commit_and_nothing_else(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let mut one = execution(1);
    store.commit(&inserts(&[&one]))?;
    for sequence in 2..50 {
        one.sequence = sequence;
        store.commit(&[Mutation::UpdateExecution {
            execution: one.clone(),
            variables: Variables::Unchanged,
        }])?;
        assert_eq!(store.reader.execution(one.id)?, Some(one.clone()));
        let refused = Execution {
            sequence: sequence + 1_000,
            ..one.clone()
        };
        store.refuse(&[
            Mutation::UpdateExecution {
                execution: refused,
                variables: Variables::Unchanged,
            },
            Mutation::InsertExecution(one.clone()),
        ]);
        assert_eq!(store.reader.execution(one.id)?, Some(one.clone()));
    }
    Ok(())
}

fn open_work_is_counted(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    assert_eq!(store.reader.open_executions()?, []);
    assert_eq!(store.reader.queued_actions()?, []);
    assert_eq!(store.reader.dead_letters()?, 0);
    let executions = many_executions(&mut store)?;
    let of = |number, status, line: &str| Action {
        status,
        line: line.to_owned(),
        ..action(&executions[0], number)
    };
    let since = |millis, action: Action| Action {
        run_at: at(millis),
        ..action
    };
    let actions = [
        since(70, of(101, QUEUED, "webhook")),
        since(30, of(102, QUEUED, "webhook\u{1f}one")),
        since(50, of(103, QUEUED, "webhook")),
        since(10, of(108, QUEUED, "")),
        of(104, RUNNING, "webhook"),
        of(105, SUCCEEDED, "webhook"),
        of(106, DEAD, "webhook"),
        of(107, DEAD, "exec"),
    ];
    store.commit(&actions.map(Mutation::InsertAction))?;
    let [running, paused, failed, ..] = ExecutionStatus::ALL;
    assert_eq!(
        store.reader.open_executions()?,
        [(running, 6), (paused, 6), (failed, 6)],
        "closed ones are not open"
    );
    assert_eq!(
        store.reader.queued_actions()?,
        [("", 1, 10), ("webhook", 2, 50), ("webhook\u{1f}one", 1, 30)].map(|(line, count, millis)| QueuedCount {
            queue: line.to_owned(),
            count,
            oldest: at(millis),
        })
    );
    assert_eq!(store.reader.dead_letters()?, 2);
    Ok(())
}
