//! What happens to a batch on its way to the store: two tables, without state.
//!
//! [`goes`] and [`sending`] say when and how a batch is written. [`landing`] says what follows from the result of a commit
//! for the batch's own commands and for what the lane knows. On every row but `Ok` the lane first recalls the batches
//! behind it and the open one: their commands are decided again after this row's own.

use sprag_store::Error;

use crate::engine::options::BATCH_MAX;
use crate::requests::Code;

/// Commits in flight at most: one that is being written, and one behind it.
const IN_FLIGHT_MAX: usize = 2;

/// From how many commands on another thread writes a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thresholds {
    /// If nothing is in flight.
    pub(crate) beside: usize,
    /// If a commit is in flight.
    pub(crate) behind: usize,
}

/// Why the lane looks at its open batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// More commands may come: small batches gather while a commit is in flight.
    Flow,
    /// Everything must be written.
    Rest,
}

/// Whether the open batch goes on its way. `waiting` commits have no result yet.
pub(crate) fn goes(need: Need, waiting: usize, commands: usize, thresholds: Option<Thresholds>) -> bool {
    match (need, waiting) {
        (Need::Rest, _) | (_, 0) => true,
        (Need::Flow, 1) => commands >= thresholds.map_or(BATCH_MAX, |least| least.behind.min(BATCH_MAX)),
        (Need::Flow, _) => commands >= BATCH_MAX,
    }
}

/// What is known of a batch that goes on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchFacts {
    pub(crate) has_rows: bool,
    pub(crate) commands: usize,
    /// All of its commands may overlap with commits in flight.
    pub(crate) is_everyday: bool,
}

/// How a batch is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    /// It has no rows: it is durable at once.
    Durable,
    /// The lane writes it itself.
    Inline,
    /// Another thread writes it, behind what is in flight.
    Beside,
    /// The lane waits for the oldest commit first.
    WaitForOldest,
}

/// How to write a batch while `in_flight` commits are before it.
pub(crate) fn sending(in_flight: usize, batch: BatchFacts, thresholds: Option<Thresholds>) -> Sending {
    let is_worthwhile = thresholds.is_some_and(|least| batch.commands >= least.beside);
    let goes_beside = batch.has_rows && batch.is_everyday && is_worthwhile;
    match in_flight {
        0 if !batch.has_rows => Sending::Durable,
        0 if !goes_beside => Sending::Inline,
        _ if goes_beside && in_flight < IN_FLIGHT_MAX => Sending::Beside,
        _ => Sending::WaitForOldest,
    }
}

/// Who owns the shard of a broken fence, as far as this lane knew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FencedShard {
    /// The store is this lane's alone: its loss ends the lane.
    WholeStore,
    /// This lane.
    Own,
    /// Another node, which grants a limit that the batch used.
    LimitOwner,
    /// Another node.
    Other,
}

/// What follows from a commit that was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Landing {
    /// The store refused a row: find the command that causes it, and fail only that one.
    Search,
    /// Another node changed what the batch was decided on: decide its commands again, together.
    Again,
    /// Decide again, after the newest version of the machine is forgotten.
    AgainWithoutNewest,
    /// Decide again, after the grants of the limit owner are void.
    AgainWithoutGrants,
    /// The shard has another owner: refuse its commands, drop the shard, decide the others together.
    DropShard,
    /// A command is about a shard of another node and its request does not tell: refuse what does tell, decide the others
    /// one by one.
    FindForeign,
    /// Nothing was written. Callers get the code; the engine's own work waits for the store.
    Wait(Code),
    /// Nothing was written. Callers get the code; the engine's own work comes back from the store.
    Fail(Code),
    /// Whether it was written is unknown. Its attempts are in doubt until the store answers.
    Unreachable,
    /// The lane cannot continue: the process must stop and recover by reading.
    Fatal(Code),
}

/// What follows from a commit that failed so.
pub(crate) fn landing(error: &Error, shard: FencedShard) -> Landing {
    match error {
        Error::Refused { .. } => Landing::Search,
        Error::Outdated { .. } => Landing::AgainWithoutNewest,
        // Decided again, the command finds the answer that the other node has stored.
        Error::Answered => Landing::Again,
        Error::FenceBroken { .. } => match shard {
            FencedShard::WholeStore => Landing::Fatal(Code::StoreFailed),
            FencedShard::Own => Landing::DropShard,
            FencedShard::LimitOwner => Landing::AgainWithoutGrants,
            FencedShard::Other => Landing::FindForeign,
        },
        Error::Full => Landing::Wait(Code::StoreFull),
        Error::ReadOnly => Landing::Wait(Code::StoreReadOnly),
        Error::Failed { .. } => Landing::Wait(Code::StoreFailed),
        Error::Unsupported { .. } => Landing::Fail(Code::StoreFailed),
        Error::Unreadable { .. } => Landing::Fail(Code::RecordDamaged),
        Error::Away { .. } => Landing::Unreachable,
        Error::Disk { .. } | Error::Gone { .. } | Error::Corrupt { .. } => Landing::Fatal(Code::StoreFailed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: Option<Thresholds> = Some(Thresholds { beside: 8, behind: 40 });

    fn batch(commands: usize) -> BatchFacts {
        BatchFacts {
            has_rows: true,
            commands,
            is_everyday: true,
        }
    }

    #[test]
    fn an_open_batch_waits_only_behind_a_commit_without_a_result_and_only_while_it_is_small() {
        for commands in [0, 1, 39, 40, BATCH_MAX - 1, BATCH_MAX] {
            assert!(goes(Need::Flow, 0, commands, THREAD));
            assert_eq!(goes(Need::Flow, 1, commands, THREAD), commands >= 40, "{commands}");
            assert_eq!(
                goes(Need::Flow, 2, commands, THREAD),
                commands >= BATCH_MAX,
                "{commands}"
            );
            for waiting in 0..=2 {
                assert!(goes(Need::Rest, waiting, commands, THREAD));
            }
            assert_eq!(goes(Need::Flow, 1, commands, None), commands >= BATCH_MAX, "{commands}");
        }
    }

    #[test]
    fn many_everyday_commands_go_beside_the_lane_up_to_two_at_a_time() {
        let expected = [Sending::Beside, Sending::Beside, Sending::WaitForOldest];
        for (in_flight, expected) in expected.into_iter().enumerate() {
            assert_eq!(sending(in_flight, batch(8), THREAD), expected, "{in_flight} in flight");
        }
    }

    #[test]
    fn any_other_batch_is_written_by_the_lane_after_all_others() {
        let alone = BatchFacts {
            is_everyday: false,
            ..batch(100)
        };
        for (other, thresholds) in [(batch(7), THREAD), (alone, THREAD), (batch(100), None)] {
            assert_eq!(sending(0, other, thresholds), Sending::Inline, "{other:?}");
            for in_flight in 1..=2 {
                assert_eq!(
                    sending(in_flight, other, thresholds),
                    Sending::WaitForOldest,
                    "{other:?}"
                );
            }
        }
    }

    #[test]
    fn a_batch_without_rows_is_durable_once_all_others_are() {
        let empty = BatchFacts {
            has_rows: false,
            ..batch(100)
        };
        assert_eq!(sending(0, empty, THREAD), Sending::Durable);
        assert_eq!(sending(1, empty, THREAD), Sending::WaitForOldest);
    }

    #[test]
    fn every_result_has_a_row() {
        let detail = String::new;
        let shard = sprag_store::ShardId(3);
        let own = FencedShard::Own;
        let rows = [
            (Error::Refused { detail: detail() }, own, Landing::Search),
            (Error::Outdated { machine: detail() }, own, Landing::AgainWithoutNewest),
            (Error::Answered, own, Landing::Again),
            (Error::FenceBroken { shard }, own, Landing::DropShard),
            (
                Error::FenceBroken { shard },
                FencedShard::LimitOwner,
                Landing::AgainWithoutGrants,
            ),
            (Error::FenceBroken { shard }, FencedShard::Other, Landing::FindForeign),
            (
                Error::FenceBroken { shard },
                FencedShard::WholeStore,
                Landing::Fatal(Code::StoreFailed),
            ),
            (Error::Full, own, Landing::Wait(Code::StoreFull)),
            (Error::ReadOnly, own, Landing::Wait(Code::StoreReadOnly)),
            (
                Error::Failed { detail: detail() },
                own,
                Landing::Wait(Code::StoreFailed),
            ),
            (
                Error::Unreadable { detail: detail() },
                own,
                Landing::Fail(Code::RecordDamaged),
            ),
            (Error::Away { detail: detail() }, own, Landing::Unreachable),
            (Error::Disk { detail: detail() }, own, Landing::Fatal(Code::StoreFailed)),
            (
                Error::Corrupt { detail: detail() },
                own,
                Landing::Fatal(Code::StoreFailed),
            ),
        ];
        for (error, shard, expected) in rows {
            assert_eq!(landing(&error, shard), expected, "{error:?} {shard:?}");
        }
    }
}
