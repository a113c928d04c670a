//! What the store refuses: only the command that causes the refusal fails.
//!
//! A refused batch is never sent again as it is. Its commands are decided again in two halves, in order, until the guilty
//! one is alone: one bad row among 1,024 commands costs about 20 commits. Actions that started in the same batch belong to
//! no command, so they wait until all commands are settled, and are then started apart. One that lacks a permit by then,
//! because its rate is used up, its runner has gone or another node grants it no more, stays suspected: when its turn comes
//! again, it starts in a batch of its own.
//!
//! The guilty command fails by what it is. A caller gets the error. The outcome of an attempt is replaced by an error that
//! can be stored, because the attempt must end. Other work of the engine's own is set aside with its execution until the
//! process starts again: an operator finds the refusal in the log, and everybody else's work continues.

use std::collections::BTreeSet;

use sprag_core::ids::ExecutionId;
use sprag_store::Error;

use super::{Fatal, Group, Lane, act, recovery, shards, undo};
use crate::commit::table::{Need, Sending};
use crate::decide::Turn;
use crate::engine::options::BEGIN_MAX;
use crate::requests::{Begin, Code, Command, IfRefusedCall, Refusal};

/// Executions that are set aside at most. Beyond, the first of them is tried again.
const SET_ASIDE_MAX: usize = 10_000;

/// The search for the cause of a refusal, and what is left of earlier ones.
#[derive(Debug, Default)]
pub(super) struct Search {
    is_on: bool,
    /// Actions that were to start in the batch that is being settled now.
    searched: BTreeSet<Turn>,
    /// Those of earlier batches that have not started since: they start alone.
    pub(super) suspected: BTreeSet<Turn>,
    /// Those of them whose turn came in this tick.
    pub(super) alone: Vec<Turn>,
}

impl Search {
    /// Whether a refused batch is being settled: then no batch starts anything beside its commands.
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    pub(super) fn has_suspects(&self) -> bool {
        !self.alone.is_empty()
    }

    /// The search is over: an action that has not started by now starts alone.
    pub(super) fn end(&mut self) {
        self.is_on = false;
        self.suspected.append(&mut self.searched);
        while self.suspected.len() > SET_ASIDE_MAX {
            self.suspected.pop_first();
        }
    }

    fn acquit(&mut self, turns: &[Turn]) {
        for turn in turns {
            self.searched.remove(turn);
            self.suspected.remove(turn);
        }
    }
}

/// The result of a batch that starts actions.
enum Started {
    /// These were written, and more may wait.
    Written(Vec<Turn>),
    /// Nothing waits, or the store failed otherwise: then `redo` has what follows.
    Nothing,
    /// The store refused it.
    Refused(Vec<Turn>, Error),
}

/// The groups that settle the commands of a refused batch, and start apart what was to start in it.
pub(super) fn refused(
    lane: &mut Lane,
    commands: Vec<Command>,
    mut begun: Vec<Turn>,
    error: &Error,
) -> Result<Vec<Group>, Fatal> {
    lane.effects.metrics.commits_failed.inc();
    // An action that was chosen to start loses its place with the batch: it is chosen again.
    let (begins, commands): (Vec<_>, Vec<_>) = commands.into_iter().partition(|command| command.begins().is_some());
    begun.extend(begins.iter().filter_map(Command::begins));
    lane.search.searched.extend(&begun);
    let was_on = lane.search.is_on;
    if let Err(error) = recovery::rederive(lane) {
        if !was_on {
            lane.search.end();
        }
        return undo::unreachable(lane, commands, error).map(|()| Vec::new());
    }
    if was_on {
        // A part of a batch that is being settled already.
        return Ok(split(lane, commands, error));
    }
    let count = commands.len();
    tracing::error!(%error, commands = count, "store refused a batch, looking for the command that causes it");
    lane.search.is_on = true;
    let (mut groups, most) = if commands.is_empty() {
        (Vec::new(), after_refusal(lane, &begun, error))
    } else if begun.is_empty() {
        (split(lane, commands, error), Some(BEGIN_MAX))
    } else {
        (vec![Group::Settle(commands)], Some(BEGIN_MAX))
    };
    let rounds = BEGIN_MAX;
    groups.extend(most.map(|most| Group::StartApart { most, rounds }));
    groups.push(Group::EndSearch);
    Ok(groups)
}

/// Decides commands again in two halves; a command that is alone is the guilty one.
fn split(lane: &mut Lane, mut commands: Vec<Command>, error: &Error) -> Vec<Group> {
    if commands.len() > 1 {
        let half = commands.split_off(commands.len() / 2);
        return vec![Group::Settle(commands), Group::Settle(half)];
    }
    let failed = commands.pop().and_then(|command| fail_guilty(lane, command, error));
    failed.into_iter().map(|instead| Group::Settle(vec![instead])).collect()
}

/// One command that the store refused alone. Returns what is decided in its place.
fn fail_guilty(lane: &mut Lane, command: Command, error: &Error) -> Option<Command> {
    let name = command.call().name();
    let mut command = match command.if_refused() {
        IfRefusedCall::Decide(instead) => {
            tracing::warn!(%error, request = name, "store refused a request, deciding another in its place");
            return Some(instead);
        }
        IfRefusedCall::Fail(command) => command,
    };
    if command.call().has_caller() {
        let refusal = Refusal::new(Code::StoreRefused, error.to_string());
        command.call_mut().refuse(refusal);
    } else if let Some(execution) = command.call().route().execution() {
        set_aside(lane, execution, error);
    } else {
        tracing::error!(%error, request = name, "store refused work of the engine's own, dropped");
        undo::rest_store(lane);
    }
    None
}

/// How many actions start at once after a refusal: half as many, or all again once the guilty one is set aside. None if
/// none was to start.
fn after_refusal(lane: &mut Lane, turns: &[Turn], error: &Error) -> Option<usize> {
    match turns {
        [] => None,
        [(only, _)] => {
            set_aside(lane, *only, error);
            Some(BEGIN_MAX)
        }
        several => {
            lane.search.searched.extend(several);
            Some(several.len() / 2)
        }
    }
}

/// Starts up to `most` waiting actions in a batch of their own. Each refusal either halves how many start at once or
/// sets an execution aside, so the rounds end.
pub(super) fn start_apart(lane: &mut Lane, most: usize, rounds: usize) -> Result<(), Fatal> {
    let next = match start_some(lane, most)? {
        Started::Nothing => None,
        Started::Written(turns) => {
            lane.search.acquit(&turns);
            Some(most)
        }
        Started::Refused(turns, error) => after_refusal(lane, &turns, &error),
    };
    if let Some(most) = next.filter(|_| rounds > 1) {
        let rounds = rounds - 1;
        lane.redo.push_front(Group::StartApart { most, rounds });
    }
    Ok(())
}

fn start_some(lane: &mut Lane, most: usize) -> Result<Started, Fatal> {
    if lane.pipeline.is_unreachable() {
        return Ok(Started::Nothing);
    }
    if let Err(error) = lane.loader().and_then(|mut loader| loader.refill_queues()) {
        return undo::unreachable(lane, Vec::new(), error).map(|()| Started::Nothing);
    }
    let (alone, turns): (Vec<_>, Vec<_>) = choose(lane, most)
        .into_iter()
        .partition(|turn| lane.search.suspected.contains(turn));
    lane.search.alone.extend(alone);
    if turns.is_empty() {
        return Ok(Started::Nothing);
    }
    start_now(lane, turns)
}

/// Up to so many actions whose turn it is.
fn choose(lane: &mut Lane, most: usize) -> Vec<Turn> {
    if lane.backlog.is_recovering() {
        return Vec::new();
    }
    let is_in_touch = lane.shards.is_in_touch(lane.time.clock.micros());
    let queue = &mut lane.known.queue;
    queue.resting.hold(!is_in_touch);
    let at = &mut lane.time.at;
    let switches = &lane.known.control.switches;
    let chosen = (0..most).map_while(|_| queue.choose(&mut at.mint, switches, at.now));
    chosen.map(|chosen| (chosen.execution, chosen.action)).collect()
}

/// Writes a batch that starts actions, here and now. Nothing is in flight.
fn start_now(lane: &mut Lane, mut turns: Vec<Turn>) -> Result<Started, Fatal> {
    let mut begins: Vec<Command> = turns.iter().copied().map(Begin::command).collect();
    if lane.load(&mut begins)? == super::Landed::Undone {
        return Ok(Started::Nothing);
    }
    lane.decide_loaded(begins);
    let Some(open) = lane.pipeline.take_open() else {
        return Ok(Started::Nothing);
    };
    let sealed = lane.seal(open);
    // One that lacks a permit after all writes nothing, and is not to blame.
    turns.retain(|(_, action)| sealed.batch.action(*action).is_some());
    if lane.pipeline.sending(&sealed) == Sending::Durable {
        let durable = lane.pipeline.without_rows(sealed);
        act::on_durable(lane, durable);
        return Ok(Started::Written(turns));
    }
    match lane.pipeline.write(sealed) {
        Err(unwritten) if matches!(unwritten.1, Error::Refused { .. }) => {
            let (_, error) = *unwritten;
            lane.effects.metrics.commits_failed.inc();
            // What is to blame is known, even if the store cannot be read now.
            recovery::rederive(lane).or_else(|error| undo::unreachable(lane, Vec::new(), error))?;
            Ok(Started::Refused(turns, error))
        }
        written => {
            let landed = undo::conclude(lane, written, &mut Vec::new())?;
            Ok(match landed {
                super::Landed::Durable => Started::Written(turns),
                super::Landed::Undone => Started::Nothing,
            })
        }
    }
}

/// Starts actions whose turn came in this tick and whose start was refused in company before, each in a batch of its
/// own.
pub(super) fn start_suspected(lane: &mut Lane) -> Result<(), Fatal> {
    if lane.search.alone.is_empty() {
        return Ok(());
    }
    lane.rest()?;
    lane.search.is_on = true;
    let started = start_each_alone(lane);
    lane.search.is_on = false;
    started?;
    // What they gave back may let others start.
    lane.redo.push_back(Group::Decide(Vec::new()));
    lane.work()
}

fn start_each_alone(lane: &mut Lane) -> Result<(), Fatal> {
    // A batch that is not written takes the places of all others along.
    while let Some(turn) = lane.search.alone.pop() {
        let begin = shards::admit(lane, vec![Begin::command(turn)])?;
        if begin.is_none_or(|begin| begin.is_empty()) {
            continue;
        }
        match start_now(lane, vec![turn])? {
            Started::Written(turns) => lane.search.acquit(&turns),
            Started::Refused(turns, error) => {
                for (only, _) in turns {
                    set_aside(lane, only, &error);
                }
            }
            Started::Nothing => {}
        }
        lane.work()?;
        lane.send_open(Need::Rest)?;
    }
    Ok(())
}

/// The engine leaves an execution alone from now on: the store would refuse its next step again and again.
fn set_aside(lane: &mut Lane, execution: ExecutionId, error: &Error) {
    tracing::error!(%execution, %error, "store refused the next step of an execution, set aside until the server restarts");
    lane.search.searched.retain(|(of, _)| *of != execution);
    lane.search.suspected.retain(|(of, _)| *of != execution);
    let set_aside = &mut lane.known.set_aside;
    set_aside.insert(execution);
    if set_aside.len() > SET_ASIDE_MAX {
        set_aside.pop_first();
    }
}
