//! Commands of the engine's own that wait for their batch: interrupted attempts first, then everything else.

use std::collections::VecDeque;

use sprag_core::ids::{ActionId, Slot};
use tokio::sync::oneshot;

use crate::decide::alerts::Alert;
use crate::requests::{Command, Keep};

/// What the engine asks of itself next.
pub(super) struct Backlog {
    pending: Vec<Command>,
    /// Attempts that an earlier process left running and that are not settled yet. Until then nothing starts.
    interrupted: VecDeque<Command>,
    /// How many of them were taken up, durably.
    recovered: usize,
    /// Where the number goes once all are.
    report: Option<oneshot::Sender<usize>>,
    /// The alerts that are configured.
    pub(super) alerts: Vec<Alert>,
}

impl Backlog {
    pub(super) fn new(alerts: Vec<Alert>) -> Self {
        Self {
            pending: Vec::new(),
            interrupted: VecDeque::new(),
            recovered: 0,
            report: None,
            alerts,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.interrupted.is_empty()
    }

    /// Whether interrupted attempts are still to be settled.
    pub(super) fn is_recovering(&self) -> bool {
        !self.interrupted.is_empty()
    }

    pub(super) fn interrupted(&self) -> usize {
        self.interrupted.len()
    }

    pub(super) fn push(&mut self, command: Command) {
        self.pending.push(command);
    }

    pub(super) fn extend(&mut self, commands: impl IntoIterator<Item = Command>) {
        self.pending.extend(commands);
    }

    pub(super) fn interrupt(&mut self, commands: impl IntoIterator<Item = Command>) {
        self.interrupted.extend(commands);
    }

    /// Adds what waits to a batch, up to `most` of each kind. Interrupted attempts are settled before any caller asks
    /// about them.
    pub(super) fn drain(&mut self, commands: &mut Vec<Command>, most: usize) {
        let room = self.pending.len().min(most);
        commands.extend(self.pending.drain(..room));
        let room = self.interrupted.len().min(most);
        commands.splice(..0, self.interrupted.drain(..room));
    }

    /// Keeps a command of the engine's own that the store could not write, if only memory knows of it.
    pub(super) fn keep(&mut self, command: Command) {
        match command.call().keep() {
            Keep::Drop => {}
            Keep::Requeue => self.pending.push(command),
            Keep::RequeueFirst => self.interrupted.push_back(command),
        }
    }

    /// Forgets what the store brings back.
    pub(super) fn forget(&mut self) {
        self.pending.retain(|command| command.call().keep() == Keep::Requeue);
    }

    /// Forgets everything of a shard that another node owns now.
    pub(super) fn drop_where(&mut self, goes: impl Fn(Slot) -> bool) {
        let stays = |command: &Command| !command.slot().is_some_and(&goes);
        self.pending.retain(stays);
        self.interrupted.retain(stays);
    }

    /// An attempt of this action is settled otherwise: what was interrupted was an attempt before it, which ended with the
    /// commit that started this one.
    pub(super) fn drop_interrupted(&mut self, action: ActionId) {
        let is_about =
            |command: &Command| matches!(command, Command::Interrupted(call) if call.request.action == action);
        self.interrupted.retain(|command| !is_about(command));
    }

    /// Reports how many attempts were interrupted, once all are taken up.
    pub(super) fn report(&mut self) -> oneshot::Receiver<usize> {
        let (sender, receiver) = oneshot::channel();
        self.report = Some(sender);
        self.note_recovered(0);
        receiver
    }

    /// So many more interrupted attempts are taken up, durably.
    pub(super) fn note_recovered(&mut self, interrupted: usize) {
        self.recovered += interrupted;
        if self.interrupted.is_empty()
            && let Some(report) = self.report.take()
        {
            // The engine may have stopped listening.
            let _ = report.send(self.recovered);
        }
    }
}
