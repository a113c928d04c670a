//! Telling those who wait for an execution that it is closed.

use sprag_core::ids::ExecutionId;
use sprag_store::Error;

use super::{Change, Lane};
use crate::closings::{Closed, Closings};
use crate::command::{Answer, Command, Reply};
use crate::view::ExecutionView;

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

    /// Hands each execution that a batch closed to those who wait for it.
    pub(super) fn tell_closed(&mut self, changes: &[Change]) {
        if self.closings.is_empty() {
            return;
        }
        for change in changes {
            if let Change::Execution { id, status, .. } = change
                && !status.is_open()
            {
                self.tell(*id, self.closings.take(*id));
            }
        }
    }

    fn tell(&mut self, id: ExecutionId, waits: Vec<Closed>) {
        if waits.is_empty() {
            return;
        }
        // Whoever hears nothing because the view cannot be made reads the execution, and hears why.
        let Ok(Some(view)) = self.closed_view(id) else { return };
        for wait in waits {
            let _ = wait.send(view.clone());
        }
    }

    fn closed_view(&mut self, id: ExecutionId) -> Result<Option<ExecutionView>, Error> {
        let Some(aggregate) = self.cache.take(id) else {
            return Ok(None);
        };
        let machine = self.machine_of(&aggregate);
        let view = machine.map(|machine| Some(ExecutionView::of(&aggregate, &machine)));
        self.cache.put(aggregate);
        view
    }
}
