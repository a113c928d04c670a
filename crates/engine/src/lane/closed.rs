//! Telling those who wait for an execution that it is closed.

use sprag_core::ids::ExecutionId;
use sprag_store::Error;

use super::{Change, Lane};
use crate::closings::Closings;
use crate::command::{Answer, Command, Reply};
use crate::view::{self, ExecutionView};

/// A closed execution, for those who wait for it.
pub(super) type Told = ExecutionView;

impl Lane {
    /// Where callers wait.
    pub(crate) fn closings(&self) -> Closings {
        self.closings.clone()
    }

    /// Keeps who waits for what they asked for. An answer that was given before speaks of an execution that may be closed
    /// already: whoever gets one looks for himself.
    pub(super) fn keep_waits(&self, commands: &mut [Command], replies: &[Reply]) {
        for (command, reply) in commands.iter_mut().zip(replies) {
            if let (Some(closed), Ok(Answer::Execution(view))) = (command.closed.take(), reply) {
                self.closings.add(view.id, closed);
            }
        }
    }

    /// The executions that a batch closed, as it left them: if anybody waits for one.
    pub(super) fn closed_views(&mut self, changes: &[Change], commands: &[Command]) -> Vec<Told> {
        if self.closings.is_empty() && commands.iter().all(|command| command.closed.is_none()) {
            return Vec::new();
        }
        let closed: Vec<ExecutionId> = changes.iter().filter_map(Change::closed).collect();
        // Whoever hears nothing because the view cannot be made reads the execution, and hears why.
        let views = closed.into_iter().filter_map(|id| self.closed_view(id).ok().flatten());
        views.collect()
    }

    /// Hands each execution that a batch closed to those who wait for it. Whoever began to wait after it was decided hears
    /// that nothing comes, and reads it.
    pub(super) fn tell_closed(&self, changes: &[Change], told: Vec<Told>) {
        if self.closings.is_empty() {
            return;
        }
        for view in told {
            for wait in self.closings.take(view.id) {
                let _ = wait.send(view.clone());
            }
        }
        for id in changes.iter().filter_map(Change::closed) {
            drop(self.closings.take(id));
        }
    }

    fn closed_view(&mut self, id: ExecutionId) -> Result<Option<ExecutionView>, Error> {
        let Some(aggregate) = self.cache.take(id) else {
            return Ok(None);
        };
        let machine = self.machine_of(&aggregate);
        let view = machine.map(|machine| Some(view::execution(&aggregate, &machine)));
        self.cache.put(aggregate);
        view
    }
}
