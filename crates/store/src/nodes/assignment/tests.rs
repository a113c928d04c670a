//! The assignment alone: even, few moves, the same for everybody. With the store's word added, see
//! `conformance::nodes`: never two owners.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sprag_core::ids::{Slot, scatter};
use sprag_core::time::Timestamp;

use super::*;

fn node(number: u64) -> NodeId {
    NodeId::compose(Timestamp::from_millis(1), Slot(0), scatter(number))
}

/// How many shards each live node has.
fn counts(live: &BTreeSet<NodeId>, owners: &[Option<NodeId>]) -> BTreeMap<NodeId, usize> {
    let mut counts: BTreeMap<NodeId, usize> = live.iter().map(|node| (*node, 0)).collect();
    for owner in owners.iter().flatten() {
        *counts.entry(*owner).or_default() += 1;
    }
    counts
}

/// The fewest moves by which everything has an owner and nobody has two more than another.
fn fewest_moves(live: &BTreeSet<NodeId>, owners: &[Option<NodeId>]) -> usize {
    let alive: Vec<_> = owners
        .iter()
        .map(|owner| owner.filter(|owner| live.contains(owner)))
        .collect();
    let mut held: Vec<usize> = counts(live, &alive).into_values().collect();
    held.sort_unstable_by(|a, b| b.cmp(a));
    let (least, more) = (owners.len() / held.len(), owners.len() % held.len());
    let kept = held
        .iter()
        .enumerate()
        .map(|(place, &has)| has.min(least + usize::from(place < more)));
    owners.len() - kept.sum::<usize>()
}

fn check(live: &BTreeSet<NodeId>, owners: &[Option<NodeId>]) -> Result<Vec<Option<NodeId>>, TestCaseError> {
    let sorted: Vec<NodeId> = live.iter().copied().collect();
    let due = assign(&sorted, owners);
    prop_assert_eq!(due.len(), owners.len());
    if live.is_empty() {
        prop_assert!(due.iter().all(Option::is_none));
        return Ok(due);
    }
    prop_assert!(due.iter().all(|due| due.is_some_and(|due| live.contains(&due))));
    let counts = counts(live, &due);
    let (most, least) = (counts.values().max(), counts.values().min());
    prop_assert!(
        most.zip(least).is_some_and(|(most, least)| most - least <= 1),
        "{counts:?}"
    );
    let moves = due.iter().zip(owners).filter(|(due, owner)| due != owner).count();
    prop_assert_eq!(moves, fewest_moves(live, owners));
    let reversed: Vec<NodeId> = sorted.iter().rev().copied().collect();
    prop_assert_eq!(
        &assign(&reversed, owners),
        &due,
        "the order in which nodes are named says nothing"
    );
    prop_assert_eq!(&assign(&sorted, &due), &due, "what is even stays");
    Ok(due)
}

#[derive(Clone, Debug)]
enum Turn {
    Join(u8),
    /// So many of them go at once.
    Go(u8),
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![(1_u8..40).prop_map(Turn::Join), (1_u8..30).prop_map(Turn::Go)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_owned_by_whomever_the_answer_is_even_with_the_fewest_moves(
        nodes in 0_u64..20,
        gone in 0_u64..5,
        owned in prop::collection::vec(prop::option::of(0_u64..25), 0..200),
    ) {
        let live: BTreeSet<NodeId> = (gone..nodes).map(node).collect();
        let owners: Vec<_> = owned.into_iter().map(|owner| owner.map(node)).collect();
        check(&live, &owners)?;
    }

    #[test]
    fn nodes_that_come_and_go_leave_it_even(
        shards in 1_usize..300,
        turns in prop::collection::vec(turn(), 1..30),
    ) {
        let (mut live, mut next) = (BTreeSet::new(), 0);
        let mut owners = vec![None; shards];
        for turn in turns {
            match turn {
                Turn::Join(count) => for _ in 0..count {
                    live.insert(node(next));
                    next += 1;
                },
                Turn::Go(count) => for _ in 0..count {
                    live.pop_first();
                },
            }
            owners = check(&live, &owners)?;
        }
    }
}

/// As large as it may ever get: a thousand nodes, 4,096 shards.
#[test]
fn a_thousand_nodes_share_4096_shards_evenly_while_they_come_and_go() {
    let mut live: BTreeSet<NodeId> = (0..1_000).map(node).collect();
    let mut owners = check(&live, &vec![None; 4_096]).unwrap();
    for round in 0..60_u64 {
        match round % 3 {
            0 => {
                live.insert(node(1_000 + round));
            }
            1 => {
                let place = usize::try_from(scatter(round)).unwrap() % live.len();
                let left = live.iter().nth(place).copied().unwrap();
                live.remove(&left);
            }
            // Several fail at once.
            _ => live = live.iter().copied().skip(7).collect(),
        }
        let before = owners.clone();
        owners = check(&live, &before).unwrap();
        if round % 3 == 0 {
            let moves = before.iter().zip(&owners).filter(|(before, now)| before != now).count();
            assert!(
                moves <= 5,
                "one that joins gets its share and nothing else moves: {moves}"
            );
        }
    }
}
