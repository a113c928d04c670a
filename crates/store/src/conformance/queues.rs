//! What the dispatcher and the timers ask for: windows in order, page by page, without a gap and without a repeat.

use sprag_core::time::Timestamp;

use super::fixtures::{
    DEAD, Opened, QUEUED, RETRYING, RUNNING, SCHEDULED, SHARD, SUCCEEDED, action, at, execution, input, inserts, pages,
    timer,
};
use super::{Check, Subject, checks};
use crate::page::{Page, Paged};
use crate::records::{Action, Execution, ExecutionStatus, Timer, TimerKey};
use crate::traits::{DueAction, Error, Mutation, ReadyKey, ReadyRef, ShardId, Variables};

/// What the dispatcher and the timers rely on.
pub const QUEUES: &[Check] = checks![
    a_line_is_served_by_priority_then_time_then_id,
    a_page_of_a_line_begins_after_a_place_nobody_holds_any_more,
    only_queued_actions_stand_in_a_line,
    timers_are_due_earliest_first_with_ties_by_key,
    actions_are_due_earliest_first_with_ties_by_id,
    only_scheduled_and_retrying_actions_become_due,
    running_actions_are_listed_by_id,
    deferred_are_running_executions_with_input,
    other_shards_are_empty,
    a_limit_of_none_gives_nothing,
];

fn queued(execution: &Execution, number: u64, priority: u8, run_at: Timestamp) -> Action {
    Action {
        status: QUEUED,
        priority,
        run_at,
        ..action(execution, number)
    }
}

fn place(action: &Action) -> ReadyRef {
    let key = ReadyKey {
        priority: action.priority,
        run_at: action.run_at,
        action: action.id,
    };
    ReadyRef {
        key,
        execution: action.execution,
    }
}

/// Two executions and actions of theirs in one queue, with every kind of tie.
fn a_full_line(store: &mut Opened) -> Result<Vec<Action>, Error> {
    let executions = [execution(1), execution(2)];
    let mut actions = Vec::new();
    for (number, run_at) in [(10, 7), (11, 3), (12, 7), (13, 3), (14, 5)] {
        for (execution, shift) in executions.iter().zip([0, 100]) {
            for (priority, step) in [(50, 0), (0, 1_000), (100, 2_000), (255, 3_000)] {
                actions.push(queued(execution, number + shift + step, priority, at(run_at)));
            }
        }
    }
    store.commit(&inserts(&[&executions[0], &executions[1]]))?;
    store.commit(&actions.iter().cloned().map(Mutation::InsertAction).collect::<Vec<_>>())?;
    actions.sort_by_key(|action| (u8::MAX - action.priority, action.run_at, action.id));
    Ok(actions)
}

fn a_line_is_served_by_priority_then_time_then_id(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let expected: Vec<ReadyRef> = a_full_line(&mut store)?.iter().map(place).collect();
    for limit in [1, 2, 3, 7, expected.len(), usize::MAX] {
        let found = pages(limit, |page| store.lane.ready(SHARD, "webhook", page))?;
        assert_eq!(found, expected, "limit {limit}");
    }
    assert_eq!(store.lane.ready(SHARD, "webhoo", &Page::first(9))?.rows, []);
    Ok(())
}

fn a_page_of_a_line_begins_after_a_place_nobody_holds_any_more(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let mut actions = a_full_line(&mut store)?;
    for cut in [0, 5, 12, 20] {
        let gone = actions.remove(cut);
        store.commit(&[Mutation::UpdateAction(Action {
            status: RUNNING,
            ..gone.clone()
        })])?;
        let expected: Vec<ReadyRef> = actions.iter().skip(cut).map(place).collect();
        assert_eq!(
            store
                .lane
                .ready(SHARD, "webhook", &Page::new(Some(place(&gone).key), 99))?
                .rows,
            expected
        );
    }
    Ok(())
}

fn only_queued_actions_stand_in_a_line(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let one = execution(1);
    let mut mutations = inserts(&[&one]);
    let mut expected = Vec::new();
    for (line, step) in [("email", 0), ("webhook:a", 20), ("", 40), ("webhook", 60)] {
        for status in 0..=8 {
            let number = 10 + step + u64::from(status);
            let action = Action {
                status,
                line: line.to_owned(),
                ..action(&one, number)
            };
            expected.extend((status == QUEUED).then(|| action.clone()));
            mutations.push(Mutation::InsertAction(action));
        }
    }
    store.commit(&mutations)?;
    assert_eq!(store.lane.queues(SHARD)?, ["", "email", "webhook", "webhook:a"]);
    for action in &expected {
        assert_eq!(
            store.lane.ready(SHARD, &action.line, &Page::first(9))?.rows,
            [place(action)]
        );
    }
    let left = Action {
        status: RUNNING,
        ..expected[0].clone()
    };
    store.commit(&[Mutation::UpdateAction(left)])?;
    assert_eq!(store.lane.queues(SHARD)?, ["", "webhook", "webhook:a"]);
    let moved = Action {
        line: "zebra".to_owned(),
        ..expected[1].clone()
    };
    store.commit(&[Mutation::UpdateAction(moved)])?;
    assert_eq!(store.lane.queues(SHARD)?, ["", "webhook", "zebra"]);
    Ok(())
}

fn timers_are_due_earliest_first_with_ties_by_key(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (one, other) = (execution(1), execution(2));
    let mut timers = Vec::new();
    for execution in [&other, &one] {
        for (visit, index, due) in [
            (2, 0, 5),
            (1, 1, 5),
            (1, 0, 5),
            (300, 0, 5),
            (3, 0, 4),
            (4, TimerKey::SCHEDULES, 6),
        ] {
            timers.push(timer(execution, visit, index, due));
        }
    }
    timers.push(Timer {
        due_at: Timestamp::from_millis(-5),
        ..timer(&one, 9, 0, 0)
    });
    let late = timer(&one, 8, 0, 7);
    store.commit(
        &timers
            .iter()
            .chain([&late])
            .cloned()
            .map(Mutation::PutTimer)
            .collect::<Vec<_>>(),
    )?;
    timers.sort_by_key(|timer| (timer.due_at, timer.key));
    for limit in [1, 2, 3, 5, usize::MAX] {
        let found = pages(limit, |page| store.lane.due_timers(SHARD, at(6), page))?;
        assert_eq!(found, timers, "limit {limit}");
    }
    let early = Timestamp::from_millis(-6);
    assert_eq!(store.lane.due_timers(SHARD, early, &Page::first(9))?, Paged::default());
    Ok(())
}

fn due(action: &Action) -> DueAction {
    DueAction {
        action: action.id,
        execution: action.execution,
        run_at: action.run_at,
    }
}

fn actions_are_due_earliest_first_with_ties_by_id(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (one, other) = (execution(1), execution(2));
    let mut actions = Vec::new();
    for (execution, shift) in [(&other, 100), (&one, 0)] {
        for (number, run_at, status) in [
            (14, 5, RETRYING),
            (12, 5, SCHEDULED),
            (13, 4, RETRYING),
            (10, 6, SCHEDULED),
        ] {
            actions.push(Action {
                status,
                run_at: at(run_at),
                ..action(execution, number + shift)
            });
        }
    }
    let late = Action {
        status: SCHEDULED,
        run_at: at(7),
        ..action(&one, 11)
    };
    store.commit(
        &actions
            .iter()
            .chain([&late])
            .cloned()
            .map(Mutation::InsertAction)
            .collect::<Vec<_>>(),
    )?;
    actions.sort_by_key(|action| (action.run_at, action.id));
    let expected: Vec<DueAction> = actions.iter().map(due).collect();
    for limit in [1, 2, 3, 5, usize::MAX] {
        let found = pages(limit, |page| store.lane.due_actions(SHARD, at(6), page))?;
        assert_eq!(found, expected, "limit {limit}");
    }
    Ok(())
}

fn only_scheduled_and_retrying_actions_become_due(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let one = execution(1);
    let actions: Vec<Action> = (0..=8)
        .map(|status| Action {
            status,
            ..action(&one, 10 + u64::from(status))
        })
        .collect();
    store.commit(&actions.iter().cloned().map(Mutation::InsertAction).collect::<Vec<_>>())?;
    let all = Page::first(99);
    assert_eq!(
        store.lane.due_actions(SHARD, at(99), &all)?.rows,
        [due(&actions[0]), due(&actions[3])]
    );
    let moved = Action {
        run_at: at(50),
        ..actions[0].clone()
    };
    let ended = Action {
        status: SUCCEEDED,
        ..actions[3].clone()
    };
    let again = Action {
        status: RETRYING,
        run_at: at(40),
        ..actions[2].clone()
    };
    store.commit(&[&moved, &ended, &again].map(|action| Mutation::UpdateAction(action.clone())))?;
    assert_eq!(
        store.lane.due_actions(SHARD, at(99), &all)?.rows,
        [due(&again), due(&moved)]
    );
    assert_eq!(store.lane.running(SHARD, &Page::first(9))?.rows, []);
    Ok(())
}

fn running_actions_are_listed_by_id(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (one, other) = (execution(1), execution(2));
    let mut actions: Vec<Action> = (0..5)
        .flat_map(|number| [action(&one, 30 - number), action(&other, 40 + number)])
        .collect();
    let others = [SCHEDULED, QUEUED, RETRYING, SUCCEEDED, DEAD].map(|status| Action {
        status,
        ..action(&one, 60 + u64::from(status))
    });
    store.commit(
        &actions
            .iter()
            .chain(&others)
            .cloned()
            .map(Mutation::InsertAction)
            .collect::<Vec<_>>(),
    )?;
    actions.sort_by_key(|action| action.id);
    let expected: Vec<DueAction> = actions.iter().map(due).collect();
    for limit in [1, 3, usize::MAX] {
        let found = pages(limit, |page| store.lane.running(SHARD, page))?;
        assert_eq!(found, expected, "limit {limit}");
    }
    Ok(())
}

fn deferred_are_running_executions_with_input(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let executions: Vec<Execution> = (1..=20)
        .zip(ExecutionStatus::ALL.into_iter().cycle())
        .map(|(number, status)| Execution {
            status,
            ..execution(number)
        })
        .collect();
    let quiet = execution(50);
    let mut mutations = inserts(&executions.iter().chain([&quiet]).collect::<Vec<_>>());
    for execution in executions.iter().rev() {
        mutations.extend([3, 1, 2].map(|position| Mutation::InsertInbox(input(execution, position))));
    }
    mutations.push(Mutation::InsertInbox(input(&execution(60), 1)));
    store.commit(&mutations)?;
    let mut running = executions
        .iter()
        .filter(|execution| execution.status == ExecutionStatus::Running);
    let expected: Vec<_> = running.clone().map(|execution| execution.id).collect();
    for limit in [1, 2, 3, usize::MAX] {
        let found = pages(limit, |page| store.lane.deferred(SHARD, page))?;
        assert_eq!(found, expected, "limit {limit}");
    }
    let paused = running.next().map(|execution| Execution {
        status: ExecutionStatus::Paused,
        ..execution.clone()
    });
    let paused = paused.map(|execution| Mutation::UpdateExecution {
        execution,
        variables: Variables::Unchanged,
    });
    store.commit(&paused.into_iter().collect::<Vec<_>>())?;
    assert_eq!(store.lane.deferred(SHARD, &Page::first(99))?.rows, expected[1..]);
    Ok(())
}

/// One thing in each queue.
fn something_everywhere(store: &mut Opened) -> Result<(), Error> {
    let one = execution(1);
    let mut mutations = inserts(&[&one]);
    for status in 0..=3 {
        mutations.push(Mutation::InsertAction(Action {
            status,
            ..action(&one, 10 + u64::from(status))
        }));
    }
    mutations.push(Mutation::PutTimer(timer(&one, 1, 0, 1)));
    mutations.push(Mutation::InsertInbox(input(&one, 1)));
    store.commit(&mutations)
}

/// How many things each queue of a shard gives.
fn counts(store: &mut Opened, shard: ShardId, limit: usize) -> Result<[usize; 5], Error> {
    let lane = &mut store.lane;
    Ok([
        lane.ready(shard, "webhook", &Page::first(limit))?.rows.len(),
        lane.due_timers(shard, at(99), &Page::first(limit))?.rows.len(),
        lane.due_actions(shard, at(99), &Page::first(limit))?.rows.len(),
        lane.running(shard, &Page::first(limit))?.rows.len(),
        lane.deferred(shard, &Page::first(limit))?.rows.len(),
    ])
}

fn other_shards_are_empty(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    something_everywhere(&mut store)?;
    assert_eq!(counts(&mut store, SHARD, 9)?, [1, 1, 2, 1, 1]);
    let elsewhere = ShardId(u32::MAX);
    assert_eq!(counts(&mut store, elsewhere, 9)?, [0; 5]);
    assert!(store.lane.queues(elsewhere)?.is_empty());
    let result = store.lane.acquire(elsewhere);
    assert!(matches!(result, Err(Error::Refused { .. })), "{result:?}");
    Ok(())
}

fn a_limit_of_none_gives_nothing(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    something_everywhere(&mut store)?;
    assert_eq!(counts(&mut store, SHARD, 0)?, [0; 5]);
    Ok(())
}
