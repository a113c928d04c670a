//! Commits that were not written: what becomes of their commands, by the table in [`crate::commit::table`].

use sprag_store::traits::shard_of;
use sprag_store::{Error, ShardId};

use super::{Fatal, Group, Landed, Lane, act, recovery, search, shards};
use crate::commit::table::{FencedShard, Landing, landing};
use crate::commit::{Durable, OpenBatch, Sealed, Unwritten};
use crate::decide::Batch;
use crate::requests::{Code, Command, Refusal};

/// How long the engine's own work waits after the store failed, in milliseconds.
const STORE_REST_MILLIS: u64 = 500;

/// Acts on a batch that was written. If it was not, its own commands come next in `redo`, then those that were decided
/// on it, then `later`.
pub(super) fn conclude(
    lane: &mut Lane,
    written: Result<Durable, Unwritten>,
    later: &mut Vec<Command>,
) -> Result<Landed, Fatal> {
    let (sealed, error) = match written {
        Ok(durable) => {
            act::on_durable(lane, durable);
            return Ok(Landed::Durable);
        }
        Err(unwritten) => *unwritten,
    };
    let mut behind = Vec::new();
    for OpenBatch { mut commands, batch } in lane.pipeline.recall() {
        unlearn(lane, &batch);
        behind.append(&mut commands);
    }
    behind.append(later);
    let groups = undo(lane, sealed, error)?;
    if !behind.is_empty() {
        lane.redo.push_front(Group::Decide(behind));
    }
    for group in groups.into_iter().rev() {
        lane.redo.push_front(group);
    }
    Ok(Landed::Undone)
}

/// What becomes of the commands of a batch that was not written.
pub(super) fn undo(lane: &mut Lane, sealed: Sealed, error: Error) -> Result<Vec<Group>, Fatal> {
    let Sealed { commands, batch, .. } = sealed;
    unlearn(lane, &batch);
    match landing(&error, fenced(lane, &error)) {
        Landing::Search => search::refused(lane, commands, batch.begun, &error),
        Landing::Again => again(lane, commands),
        Landing::AgainWithoutNewest => {
            if let Error::Outdated { machine } = &error {
                lane.known.machines.forget_newest(machine);
            }
            again(lane, commands)
        }
        Landing::AgainWithoutGrants => {
            note_fenced(lane);
            again(lane, commands)
        }
        Landing::DropShard => drop_fenced(lane, shard_in(&error), commands),
        Landing::FindForeign => find_foreign(lane, shard_in(&error), commands),
        Landing::Unreachable => {
            lane.pipeline.doubt(&batch.jobs);
            unreachable(lane, commands, error).map(|()| Vec::new())
        }
        Landing::Wait(code) | Landing::Fail(code) | Landing::Fatal(code) => {
            fail(lane, commands, error, code).map(|()| Vec::new())
        }
    }
}

/// Whose the shard of a broken fence is. A limit owner's grants are void from here on.
fn fenced(lane: &mut Lane, error: &Error) -> FencedShard {
    let Error::FenceBroken { shard } = error else {
        return FencedShard::Other;
    };
    if lane.shards.is_whole() {
        FencedShard::WholeStore
    } else if lane.shards.has(*shard) {
        FencedShard::Own
    } else if lane.known.queue.permits.shared.void(Some(*shard)) {
        FencedShard::LimitOwner
    } else {
        FencedShard::Other
    }
}

fn note_fenced(lane: &Lane) {
    lane.effects.metrics.commits_failed.inc();
    lane.effects.metrics.fenced.inc();
}

/// Derives what is known again and decides commands from that.
fn again(lane: &mut Lane, commands: Vec<Command>) -> Result<Vec<Group>, Fatal> {
    match recovery::rederive(lane) {
        Ok(()) => Ok(vec![Group::Decide(commands)]),
        Err(error) => unreachable(lane, commands, error).map(|()| Vec::new()),
    }
}

/// A shard of this lane has another owner: its commands are refused, the others decided again.
fn drop_fenced(lane: &mut Lane, shard: ShardId, commands: Vec<Command>) -> Result<Vec<Group>, Fatal> {
    note_fenced(lane);
    shards::lose(lane, &[shard]);
    let rest = refuse_of(lane, shard, commands);
    again(lane, rest)
}

/// Something that was decided here belongs to another node, and its request does not tell: only that one is refused.
fn find_foreign(lane: &mut Lane, shard: ShardId, commands: Vec<Command>) -> Result<Vec<Group>, Fatal> {
    note_fenced(lane);
    shards::lose(lane, &[shard]);
    let rest = refuse_of(lane, shard, commands);
    if let Err(error) = recovery::rederive(lane) {
        return unreachable(lane, rest, error).map(|()| Vec::new());
    }
    if rest.len() > 1 {
        return Ok(rest.into_iter().map(|command| Group::Settle(vec![command])).collect());
    }
    refuse_all(rest, shard);
    Ok(Vec::new())
}

/// Refuses the commands of a shard, and returns the others.
fn refuse_of(lane: &Lane, shard: ShardId, commands: Vec<Command>) -> Vec<Command> {
    let shards = lane.shards.shards();
    let is_there = |command: &Command| command.slot().is_some_and(|slot| shard_of(slot, shards) == shard);
    let (theirs, rest): (Vec<_>, Vec<_>) = commands.into_iter().partition(is_there);
    refuse_all(theirs, shard);
    rest
}

/// Nothing of the batch was written: callers get the error, the engine's own work waits if only memory knows of it.
fn fail(lane: &mut Lane, commands: Vec<Command>, error: Error, code: Code) -> Result<(), Fatal> {
    let row = landing(&error, FencedShard::WholeStore);
    tracing::error!(%error, code = code.text(), "batch not written");
    lane.effects.metrics.commits_failed.inc();
    for mut command in commands {
        if command.call().has_caller() {
            command.call_mut().refuse(Refusal::new(code, error.to_string()));
        } else if matches!(row, Landing::Wait(_)) {
            lane.backlog.keep(command);
        }
    }
    if matches!(row, Landing::Fatal(_)) {
        return Err(Fatal(error));
    }
    rest_store(lane);
    recovery::rederive(lane).or_else(|error| unreachable(lane, Vec::new(), error))
}

/// The engine's own work waits a little.
pub(super) fn rest_store(lane: &mut Lane) {
    let until = lane.now().plus(STORE_REST_MILLIS);
    lane.pipeline.rest_until(until);
}

/// Commands that met an unreachable store; any other failure of a read ends the lane. Attempts that run continue, and
/// their outcomes wait in the backlog. Nothing new starts.
pub(super) fn unreachable(lane: &mut Lane, commands: Vec<Command>, error: Error) -> Result<(), Fatal> {
    if !matches!(error, Error::Away { .. }) {
        return Err(Fatal(error));
    }
    if !lane.pipeline.is_unreachable() {
        tracing::error!(%error, "store unreachable, nothing is decided until it answers");
        lane.effects.metrics.commits_failed.inc();
    }
    let until = lane.now().plus(STORE_REST_MILLIS);
    lane.pipeline.unreachable_until(until);
    for mut command in commands {
        if command.call().has_caller() {
            command
                .call_mut()
                .refuse(Refusal::new(Code::StoreAway, error.to_string()));
        } else {
            lane.backlog.keep(command);
        }
    }
    Ok(())
}

/// A read failed before the commands were decided. The open batch goes with them.
pub(super) fn fail_read(lane: &mut Lane, commands: Vec<Command>, error: Error) -> Result<(), Fatal> {
    let mut all = Vec::new();
    if let Some(OpenBatch { mut commands, batch }) = lane.pipeline.take_open() {
        unlearn(lane, &batch);
        all.append(&mut commands);
    }
    all.extend(commands);
    match landing(&error, FencedShard::WholeStore) {
        Landing::Unreachable => unreachable(lane, all, error),
        Landing::Wait(code) | Landing::Fail(code) | Landing::Fatal(code) => fail(lane, all, error, code),
        // A read neither writes nor holds a fence.
        _ => fail(lane, all, error, Code::StoreFailed),
    }
}

/// Machine versions that a batch applied are not stored.
fn unlearn(lane: &mut Lane, batch: &Batch) {
    for machine in batch.newest.keys() {
        lane.known.machines.forget(machine);
    }
}

fn shard_in(error: &Error) -> ShardId {
    match error {
        Error::FenceBroken { shard } => *shard,
        _ => ShardId(0),
    }
}

pub(super) fn refuse_all(commands: Vec<Command>, shard: ShardId) {
    for mut command in commands {
        command.call_mut().refuse(Refusal::elsewhere(shard));
    }
}
