//! Which mutations share a statement, and which must come after others.

use super::*;
use crate::conformance::fixtures::{action, entry, execution, input, keyed, timer};
use crate::records::{Execution, ExecutionStatus};
use crate::traits::Variables;

/// The mutations by their positions, stage by stage and group by group.
fn positions(mutations: &[Mutation]) -> Vec<Vec<Vec<usize>>> {
    let position = |mutation: &Mutation| mutations.iter().position(|one| std::ptr::eq(one, mutation)).unwrap();
    let group = |group: &Group<'_>| group.iter().map(|mutation| position(mutation)).collect();
    staged(mutations)
        .iter()
        .map(|stage| stage.iter().map(group).collect())
        .collect()
}

fn update(execution: &Execution) -> Mutation {
    Mutation::UpdateExecution {
        execution: execution.clone(),
        variables: Variables::Changed,
    }
}

#[test]
fn a_batch_of_many_executions_is_one_stage_with_a_part_for_each_kind() {
    let mutations: Vec<Mutation> = (1..=100)
        .flat_map(|number| {
            let one = execution(number);
            [
                Mutation::InsertExecution(one.clone()),
                Mutation::AppendHistory(entry(&one, 1)),
                Mutation::AppendHistory(entry(&one, 2)),
                Mutation::InsertAction(action(&one, number)),
                Mutation::PutTimer(timer(&one, 1, 0, number)),
            ]
        })
        .collect();
    let stages = positions(&mutations);
    let sizes: Vec<Vec<usize>> = stages
        .iter()
        .map(|stage| stage.iter().map(Vec::len).collect())
        .collect();
    assert_eq!(sizes, [[100, 200, 100, 100]]);
}

#[test]
fn what_touches_one_record_twice_stays_in_order() {
    let (one, other) = (execution(1), execution(2));
    let tick = timer(&one, 1, 0, 5);
    let mutations = [
        Mutation::InsertExecution(one.clone()),
        update(&one),
        update(&other),
        update(&one),
        Mutation::InsertExecution(execution(3)),
        Mutation::DeleteTimer(tick.key),
        Mutation::PutTimer(tick.clone()),
        Mutation::DeleteTimer(tick.key),
        Mutation::PutTimer(timer(&other, 1, 0, 5)),
    ];
    assert_eq!(
        positions(&mutations),
        [
            vec![vec![0, 4], vec![2], vec![5], vec![8]],
            vec![vec![1], vec![6]],
            vec![vec![3], vec![7]]
        ]
    );
}

#[test]
fn a_key_is_given_back_before_it_is_taken() {
    let closed = Execution {
        status: ExecutionStatus::Completed,
        ..keyed(1, "k")
    };
    let mutations = [
        Mutation::InsertExecution(execution(9)),
        update(&closed),
        Mutation::InsertExecution(keyed(2, "k")),
        Mutation::InsertExecution(keyed(3, "other")),
    ];
    assert_eq!(positions(&mutations), [vec![vec![0, 3], vec![1]], vec![vec![2]]]);
}

#[test]
fn a_deletion_of_everything_comes_after_all_before_it_and_before_all_after_it() {
    let (one, other) = (execution(1), execution(2));
    let mutations = [
        Mutation::InsertInbox(input(&one, 1)),
        Mutation::DeleteExecution(one.id),
        Mutation::DeleteExecution(other.id),
        Mutation::InsertInbox(input(&one, 2)),
        Mutation::DeleteExecution(execution(3).id),
        Mutation::InsertInbox(input(&execution(3), 1)),
    ];
    assert_eq!(
        positions(&mutations),
        [[vec![0]], [vec![1, 2]], [vec![3]], [vec![4]], [vec![5]]]
    );
}
