//! What a lane finds when it starts, and derives again when a batch was not written.

use std::collections::BTreeMap;
use std::sync::Arc;

use sprag_core::action::{Action, Lease};
use sprag_core::ids::{ActionId, AttemptId};
use sprag_core::time::Timestamp;
use sprag_store::traits::DueAction;
use sprag_store::{Error, Page, ShardId, Wanted};
use tokio::sync::oneshot;

use super::loader::{Loader, damaged_error};
use super::{Fatal, Landed, Lane};
use crate::decide::{ArmedAlert, Due, Known, Timers, convert};
use crate::engine::options::CANCEL_GRACE_MILLIS;
use crate::leases::table::LeasedAttempt;
use crate::requests::{
    ActionDue, Apply, AttemptRef, Command, Continue, ExpirePlan, Interrupted, LeaseOver, Overdue, TimerDue,
};

/// How many records are read at once on start.
const PAGE: usize = 1_000;

impl Loader<'_> {
    /// What an earlier process left.
    pub(super) fn gather(&mut self) -> Result<(), Error> {
        self.read_control()?;
        self.read_audit_heads()?;
        self.gather_jobs()?;
        let shards = self.shards;
        shards.all().try_for_each(|shard| self.gather_shard(shard))
    }

    /// What the owner of a shard before this lane left of it.
    pub(super) fn gather_shard(&mut self, shard: ShardId) -> Result<(), Error> {
        let running = self.all_running(shard)?.into_iter();
        let interrupted = |DueAction { execution, action, .. }| Command::own(Interrupted { execution, action });
        self.backlog.interrupt(running.map(interrupted));
        self.know_queues(shard)?;
        let mut page = Page::first(PAGE);
        loop {
            let found = self.store.deferred(shard, &page)?;
            self.backlog
                .extend(found.rows.into_iter().map(|id| Command::own(Continue(id))));
            if found.next.is_none() {
                return Ok(());
            }
            page.after = found.next;
        }
    }

    /// The actions whose attempt runs, as stored.
    pub(super) fn all_running(&mut self, shard: ShardId) -> Result<Vec<DueAction>, Error> {
        let (mut running, mut page) = (Vec::new(), Page::first(PAGE));
        loop {
            let found = self.store.running(shard, &page)?;
            running.extend(found.rows);
            if found.next.is_none() {
                return Ok(running);
            }
            page.after = found.next;
        }
    }

    /// The queues that a shard holds something of.
    pub(super) fn know_queues(&mut self, shard: ShardId) -> Result<(), Error> {
        for line in self.store.queues(shard)? {
            self.known.queue.know(&line);
        }
        Ok(())
    }

    /// Wakes every schedule that waits, where the clock is behind the store.
    pub(super) fn wake_schedules(&mut self) -> Result<(), Error> {
        if !self.known.is_behind(self.now) {
            return Ok(());
        }
        let shards = self.shards;
        shards.all().try_for_each(|shard| self.wake_schedules_of(shard))
    }

    fn wake_schedules_of(&mut self, shard: ShardId) -> Result<(), Error> {
        let mut page = Page::first(PAGE);
        loop {
            let found = self.store.due_timers(shard, Timestamp::MAX, &page)?;
            for timer in found.rows.iter().filter(|timer| timer.schedule.is_some()) {
                self.known.timers.wake(timer.key, self.now);
            }
            if found.next.is_none() {
                return Ok(());
            }
            page.after = found.next;
        }
    }

    /// Switches, running attempts and queues, as they are stored. `leased` is what external runners hold, as memory knew
    /// it.
    fn derive(&mut self, leased: &BTreeMap<AttemptId, LeasedAttempt>) -> Result<Vec<AttemptRef>, Error> {
        self.read_control()?;
        self.read_audit_heads()?;
        let shards = self.shards;
        let mut own = Vec::new();
        for shard in shards.all() {
            let running: Vec<ActionId> = self.all_running(shard)?.iter().map(|found| found.action).collect();
            for page in running.chunks(PAGE) {
                own.extend(self.readopt(page, leased)?);
            }
            self.know_queues(shard)?;
        }
        Ok(own)
    }

    /// Attempts that run keep their permits, their lease if an external runner holds them, and their time to end if they
    /// were asked to. Returns those that this process runs.
    fn readopt(
        &mut self,
        actions: &[ActionId],
        leased: &BTreeMap<AttemptId, LeasedAttempt>,
    ) -> Result<Vec<AttemptRef>, Error> {
        let found = self.store.load(&Wanted {
            actions: actions.to_vec(),
            ..Wanted::default()
        })?;
        let mut own = Vec::new();
        for row in found.actions {
            let action = convert::action_from(row).map_err(|error| damaged_error(&error))?;
            let Some(current) = action.current() else {
                continue;
            };
            let (attempt, lease) = (current.id, current.lease.clone());
            self.known.queue.adopt(attempt, &action, self.now);
            if let Some(lease) = lease {
                let known = leased.get(&attempt).map(|leased| leased.lease.clone());
                let lease = known.unwrap_or_else(|| lease.renewed(self.now));
                self.known.adopt_lease(&action, attempt, lease);
            } else {
                self.known.keep_time_to_end(&action, attempt);
                own.push(AttemptRef::of(&action, attempt));
            }
        }
        Ok(own)
    }

    /// Arms the alerts whose machines another node has stored meanwhile.
    pub(super) fn arm_stored_alerts(&mut self) -> Result<(), Error> {
        let mut armed = Vec::new();
        for alert in &self.backlog.alerts {
            let machine = alert.machine();
            let wanted = Wanted {
                newest: vec![machine.id.clone()],
                version_by_digest: vec![(machine.id.clone(), machine.digest)],
                ..Wanted::default()
            };
            let found = self.store.load(&wanted)?;
            let newest = found.newest.first().map(|(_, version)| *version);
            let same = found.version_by_digest.first().map(|(_, version)| *version);
            if let Some(version) = newest.filter(|_| newest == same) {
                let alert = alert.clone();
                armed.push(ArmedAlert { alert, version });
            }
        }
        self.known.alerts = armed;
        Ok(())
    }
}

impl Known {
    /// An attempt that an external runner holds stays so until its lease is over.
    pub(crate) fn adopt_lease(&mut self, action: &Action, attempt: AttemptId, lease: Lease) {
        let at = AttemptRef::of(action, attempt);
        self.timers.add(lease.until, Due::Lease(at));
        self.queue.leases.hold(LeasedAttempt {
            at,
            lease,
            cancel_requested: action.body.cancel.is_some(),
        });
        self.keep_time_to_end(action, attempt);
    }

    fn keep_time_to_end(&mut self, action: &Action, attempt: AttemptId) {
        if let Some(request) = action.body.cancel {
            let due = Due::Overdue(AttemptRef::of(action, attempt));
            self.timers.add(request.at.plus(CANCEL_GRACE_MILLIS), due);
        }
    }

    /// What is to be decided about something that is due.
    pub(super) fn due(&mut self, due: Due, now: Timestamp) -> Option<Command> {
        if self.set_aside.contains(&due.execution()) {
            return None;
        }
        Some(match due {
            Due::Timer(key) => Command::own(TimerDue(key)),
            Due::Action(execution, action) => Command::own(ActionDue { execution, action }),
            Due::Overdue(attempt) => Command::own(Overdue(attempt)),
            Due::Plan(plan) => Command::own(ExpirePlan(plan)),
            Due::Lease(attempt) => {
                let until = self.queue.leases.until(attempt.attempt)?;
                if until > now {
                    // A heartbeat came since.
                    self.timers.add(until, due);
                    return None;
                }
                Command::own(LeaseOver(attempt))
            }
        })
    }
}

impl Lane {
    /// Reports how many attempts were interrupted, once all that an earlier process left running is taken up.
    pub fn recovered(&mut self) -> oneshot::Receiver<usize> {
        self.backlog.report()
    }
}

/// Drops everything derived from a failed batch and derives it again from what is stored. Nothing may be in flight.
pub(super) fn rederive(lane: &mut Lane) -> Result<(), Error> {
    let known = &mut lane.known;
    known.found = crate::decide::Found::default();
    known.executions.clear();
    known.catalog = None;
    known.timers = Timers::new(lane.shards.shards(), lane.shards.all());
    known.queue.forget();
    lane.backlog.forget();
    lane.search.alone.clear();
    let leased = known.queue.leases.take();
    let derived = lane.loader().and_then(|mut loader| loader.derive(&leased));
    match derived {
        Ok(own) => {
            for attempt in own {
                if let Some(outcome) = lane.pipeline.settle_doubtful(attempt) {
                    lane.backlog.drop_interrupted(attempt.action);
                    lane.backlog.push(outcome);
                }
            }
            Ok(())
        }
        Err(error) => {
            // The store cannot be read now: until it can, only memory knows what external runners hold.
            for leased in leased.into_values() {
                lane.known.queue.leases.hold(leased);
            }
            Err(error)
        }
    }
}

/// Derives everything again, if the store was unreachable.
pub(super) fn reach(lane: &mut Lane) -> Result<(), Error> {
    if lane.pipeline.is_unreachable() {
        rederive(lane)?;
        lane.pipeline.reached();
        tracing::info!("store reachable again, continuing from what it holds");
    }
    Ok(())
}

/// Stores the machines of the alerts that are configured. Before anything else is decided: what an earlier process left
/// running may die of it.
pub(super) fn arm_alerts(lane: &mut Lane) -> Result<(), Fatal> {
    for alert in lane.backlog.alerts.clone() {
        let (apply, mut answer) = Command::asked(Apply::from(Arc::clone(alert.machine())));
        lane.redo.push_back(super::Group::Settle(vec![apply]));
        lane.work()?;
        debug_assert_eq!(lane.flush(&mut Vec::new())?, Landed::Durable);
        let version = match answer.try_recv().map(|replied| replied.answer) {
            Ok(Ok(applied)) => applied.version,
            other => {
                return Err(Fatal(Error::Failed {
                    detail: format!("the machine of an alert was not stored: {other:?}"),
                }));
            }
        };
        lane.known.alerts.push(ArmedAlert { alert, version });
    }
    Ok(())
}

/// Arms the alerts whose machines are stored by now, or stores them where that is decided here.
pub(super) fn arm_missing(lane: &mut Lane) -> Result<(), Error> {
    if lane.known.alerts.len() == lane.backlog.alerts.len() {
        return Ok(());
    }
    if lane.shards.owns_control() {
        lane.known.alerts.clear();
        return arm_alerts(lane).map_err(|Fatal(error)| error);
    }
    lane.loader()?.arm_stored_alerts()
}
