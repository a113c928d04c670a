//! What a lane does now and then for itself: it writes that its process runs, watches the clock, deletes expired answers.
//!
//! How long a process ran tells a crash loop from a long run. Ids follow the latest stored instant, so that records keep
//! their order after a process whose clock was ahead.

use sprag_core::time::Timestamp;
use sprag_store::Mutation;
use sprag_store::records::ProcessRun;

use super::{Lane, recovery};
use crate::decide::{BEHIND_MILLIS, BatchTime};
use crate::effects::Board;
use crate::engine::options::{RUN_EVERY_MILLIS, Retention, SHORT_RUN_MILLIS};
use crate::queue::control::Control;

/// How long expired answers may gather before the lane looks for them, in milliseconds.
pub(super) const EXPIRY_EVERY_MILLIS: u64 = 60_000;

/// When things were written, and when they are due.
pub(super) struct Upkeep {
    started_at: Timestamp,
    /// The instant from which ids continue.
    order_from: Timestamp,
    /// When the process started, as the store has it.
    run_started: Timestamp,
    run_written_at: Timestamp,
    /// When to look for answers that are kept no longer.
    pub(super) expiry_due: Timestamp,
}

impl Upkeep {
    /// A process that starts at `now` on a store whose latest instant is `latest`.
    pub(super) fn new(latest: Timestamp, last_run: Option<ProcessRun>, now: Timestamp) -> Self {
        let order_from = if latest > now {
            // The newest record may be a little newer than the last written sign that the process ran.
            latest.plus(RUN_EVERY_MILLIS)
        } else {
            now
        };
        Self {
            started_at: now,
            order_from,
            run_started: last_run.map_or(order_from, |run| order_from.max(run.started_at.plus(1))),
            run_written_at: now,
            expiry_due: now.plus(EXPIRY_EVERY_MILLIS),
        }
    }

    /// Ids bear the clock's instant from now on, whatever is stored.
    pub(super) fn order_by_clock(&mut self) {
        self.order_from = self.started_at;
    }

    /// This process on the store. It starts after the one before it, whatever the clock says, so that the newest is known.
    pub(super) fn run(&self, now: Timestamp) -> ProcessRun {
        let ran = now.since(self.started_at).min(SHORT_RUN_MILLIS);
        ProcessRun {
            started_at: self.run_started,
            seen_at: self.order_time(now).max(self.run_started.plus(ran)),
        }
    }

    /// The instant that ids bear: the clock's. Behind a store whose records are ahead of the clock, ids continue after those,
    /// at half speed, so that they keep their order and the clock catches up.
    pub(super) fn order_time(&self, now: Timestamp) -> Timestamp {
        let ran = now.since(self.started_at);
        now.max(self.order_from.plus(ran / 2))
    }

    /// Compares the clock with what is known, and shows what is wrong with it.
    pub(super) fn observe_clock(control: &mut Control, board: &Board, at: &BatchTime, retention: Option<Retention>) {
        match retention {
            Some(_) => control.clock.observe(at.now, at.micros),
            None => control.clock.believe(at.now, at.micros),
        }
        board.clock.show(&control.clock, at.now);
    }

    /// The rows that this commit carries for the process itself. Now and then, where something is written anyway, so that a
    /// later process never starts before the time of what is stored.
    pub(super) fn rows(&mut self, is_otherwise_idle: bool, now: Timestamp) -> Option<Mutation> {
        let is_due = self.run_written_at.plus(RUN_EVERY_MILLIS) <= now;
        if !is_due || (is_otherwise_idle && self.next_run().is_none()) {
            return None;
        }
        self.run_written_at = now;
        Some(Mutation::PutRun(self.run(now)))
    }

    /// When to write that the process runs: only until it ran long enough to be above suspicion.
    fn next_run(&self) -> Option<Timestamp> {
        let is_young = self.run_written_at.since(self.started_at) < SHORT_RUN_MILLIS;
        is_young.then(|| self.run_written_at.plus(RUN_EVERY_MILLIS))
    }

    pub(super) fn next_wake(&self) -> Option<Timestamp> {
        self.next_run().into_iter().chain([self.expiry_due]).min()
    }
}

/// The first commit of the process, and what the process before it left.
pub(super) fn begin_run(lane: &mut Lane) -> Result<(), super::Fatal> {
    let now = lane.now();
    let control = &mut lane.known.control;
    Upkeep::observe_clock(control, &lane.effects.board, &lane.time.at, lane.rules.retention);
    let millis = control.clock.latest().since(now);
    if millis > BEHIND_MILLIS {
        tracing::warn!(
            code = "clock-behind",
            millis,
            "the clock is behind the newest record in the store; if it is right, run `sprag system --accept-clock`"
        );
    }
    let mut rows = vec![Mutation::PutRun(lane.upkeep.run(now))];
    if lane.shards.owns_control() {
        rows.extend(control.clock.due(now).map(Mutation::PutFact));
    }
    let fences = lane.shards.fences(&rows, &[]).into_owned();
    lane.pipeline.begin(&fences, &rows)?;
    if lane.shards.owns_control() {
        recovery::arm_alerts(lane)?;
    }
    let mut loader = lane.loader()?;
    loader.gather()?;
    loader.wake_schedules()?;
    Ok(())
}

/// When the instant up to which the clock is believed is to be stored, where retention relies on it.
pub(super) fn next_clock(lane: &Lane) -> Option<Timestamp> {
    let is_relied_on = lane.rules.retention.is_some() && lane.shards.owns_control();
    is_relied_on.then(|| lane.known.control.clock.next(lane.now()))
}
