//! What follows from switches that went on or off, and from age.

use std::sync::Arc;

use sprag_core::action::{Action, Status};
use sprag_core::ids::{ActionId, ExecutionId, SwitchId};
use sprag_store::records::{ExecutionStatus, FactKind};
use sprag_store::traits::Variables;
use sprag_store::{Error, Mutation};

use crate::control::{Chore, Mode, REJOIN, RETENTION, Switch, fact};
use crate::lane::{Lane, Write};

impl Lane {
    /// Does one piece of the lane's own work.
    pub(super) fn do_chore(&mut self, chore: &Chore) -> Result<(), Error> {
        match chore {
            Chore::Rejoin(execution, action) => self.rejoin_line(*execution, *action),
            Chore::Rejoined => self.rejoined(),
            Chore::Cancel(action) => return self.cancel_in_scope(*action),
            Chore::Swept(switch) => self.swept(*switch),
            Chore::Lapse(switch) => {
                tracing::info!(switch = %switch, "a switch came to its end");
                self.release_switch(*switch);
            }
            Chore::Expire { executions, after } => self.expire(executions, *after),
        }
        Ok(())
    }

    /// Whether a switch keeps a chosen action from beginning. It goes back to its line where the whole line is held, and
    /// stands in none where it is held for what it is: then others of its line go on.
    pub(super) fn is_switched_off(&mut self, action: &Arc<Action>) -> bool {
        if self.control.switches.holding(action, self.now).is_none() {
            return false;
        }
        self.dispatcher.give_back(action.id);
        // One that must run alone stands in no line either: it would be chosen again at once.
        if self.control.switches.sets_aside(action, self.now) || action.body.crashes.is_suspect() {
            self.batch.set_aside(Arc::clone(action));
        } else {
            self.dispatcher.join(action);
        }
        true
    }

    /// An action that stood in no line joins its own, unless something still holds it.
    fn rejoin_line(&mut self, execution: ExecutionId, id: ActionId) {
        let Some(aggregate) = self.cache.get(execution) else {
            return;
        };
        let Some(action) = aggregate.actions.get(&id) else {
            return;
        };
        let is_free = aggregate.head.status != ExecutionStatus::Paused
            && action.status == Status::Queued
            && !self.control.switches.sets_aside(action, self.now);
        if is_free {
            self.dispatcher.join(action);
            self.batch
                .put_action(Write::Update(Variables::Unchanged), action.clone());
        }
    }

    fn rejoined(&mut self) {
        // Another switch may have been released meanwhile: then the walk begins anew, and its mark stays.
        if self.control.rejoining.is_none() && self.owned.is_whole() {
            self.batch.log.push(Mutation::DeleteFact {
                kind: FactKind::Mark,
                key: REJOIN.to_owned(),
            });
        }
    }

    /// Cancels an open action, if a switch that cancels still holds it.
    fn cancel_in_scope(&mut self, id: ActionId) -> Result<(), Error> {
        let Some(action) = self.find_action(id)? else {
            return Ok(());
        };
        let cancels = |switch: &Switch| switch.mode == Mode::Cancel && switch.scope.covers(&action);
        if self.control.switches.all().any(cancels) {
            // One that has ended meanwhile needs no cancelling.
            let _ = self.cancel_action(id)?;
        }
        Ok(())
    }

    fn swept(&mut self, id: SwitchId) {
        if !self.owned.is_whole() {
            // Every lane sweeps its own shards, and those it is given later once more.
            self.control.swept.insert(id);
        } else if let Some(switch) = self.control.switches.get(id).cloned() {
            let switch = Switch { swept: true, ..switch };
            self.keep_switch(switch);
        }
        self.control.next_sweep();
    }

    /// Lets closed executions go, with everything that belongs to them.
    fn expire(&mut self, executions: &[ExecutionId], after: Option<ExecutionId>) {
        let mut gone = 0_u32;
        for &id in executions {
            let is_over = |lane: &Self| {
                let found = lane.cache.get(id);
                found.is_some_and(|found| !found.head.status.is_open() && found.actions.is_empty())
            };
            // What this batch changed is left to the next walk.
            if is_over(self) && !self.batch.concerns(id) {
                self.cache.take(id);
                self.batch.log.push(Mutation::DeleteExecution(id));
                gone += 1;
            }
        }
        if self.owned.is_whole() {
            self.batch
                .log
                .push(Mutation::PutFact(fact(FactKind::Mark, RETENTION, &after)));
        }
        tracing::info!(executions = gone, "closed executions went, as the retention says");
    }
}
