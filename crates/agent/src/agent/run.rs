//! The run in hand as the actor holds it: its task, its counts, and what readers see.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use super::mailbox::{Command, Mailbox};
use super::prepare::Prepared;
use super::threads::{self, Task};
use super::view::{Frame, Last, Ticket};
use crate::lifecycle::{RunId, TaskEnd, Terminal};
use crate::stats::Recorder;
use crate::time::{Micros, whole_micros};
use crate::wire::proto::{LiveStats, Status};
use crate::wire::put_counts;

/// A run, from its reservation until it is replaced by the next one.
pub(super) struct ActiveRun {
    pub(super) id: RunId,
    /// What a controller needs to attach.
    pub(super) token: String,
    pub(super) digest: String,
    pub(super) prepared: Option<Box<Prepared>>,
    /// The reader whose loss counts.
    pub(super) owner: u64,
    /// When the next live message is due, on the agent's monotonic clock; none unless the task is at work.
    pub(super) report_at: Option<Duration>,
    /// One for each thread of the workload.
    recorders: Vec<Arc<Recorder>>,
    in_prepare: Arc<AtomicBool>,
    frames: watch::Sender<Frame>,
    cancel: watch::Sender<bool>,
    kill: watch::Sender<bool>,
    has_started: bool,
    sequence: u64,
    late: Duration,
    pub(super) outcome: Option<Terminal>,
}

impl ActiveRun {
    pub(super) fn new(id: RunId, token: String, digest: String) -> Self {
        Self {
            id,
            token,
            digest,
            prepared: None,
            owner: 0,
            report_at: None,
            recorders: Vec::new(),
            in_prepare: Arc::default(),
            frames: watch::Sender::default(),
            cancel: watch::Sender::new(false),
            kill: watch::Sender::new(false),
            has_started: false,
            sequence: 0,
            late: Duration::ZERO,
            outcome: None,
        }
    }

    /// A new reader, which owns the run from now on.
    pub(super) fn ticket(&mut self, mailbox: &Mailbox, skips_ready: bool) -> Ticket {
        self.owner += 1;
        Ticket {
            run: self.id,
            view: self.owner,
            frames: self.frames.subscribe(),
            mailbox: mailbox.clone(),
            skips_ready,
        }
    }

    /// Starts the task. The actor hears about its end after it was joined.
    pub(super) fn spawn(&mut self, late: Duration, clock: &Micros, mailbox: &Mailbox) {
        self.late = late;
        let Some(prepared) = self.prepared.take() else {
            return;
        };
        self.recorders = (0..threads::most()).map(|_| Arc::default()).collect();
        self.has_started = true;
        let task = Task {
            prepared: *prepared,
            recorders: self.recorders.clone(),
            clock: clock.clone(),
            in_prepare: Arc::clone(&self.in_prepare),
            cancelled: self.cancel.subscribe(),
            killed: self.kill.subscribe(),
        };
        let (ended, run) = (mailbox.clone(), self.id);
        let work = move || {
            let end = task.perform();
            ended.tell(Command::TaskEnded { run, end });
        };
        if let Err(error) = std::thread::Builder::new().name("workload".to_owned()).spawn(work) {
            let end = TaskEnd::Failed(format!("no thread for the workload: {error}"));
            mailbox.post(Command::TaskEnded { run, end });
        }
    }

    /// Asks the task to end.
    pub(super) fn cancel(&self) {
        self.cancel.send_replace(true);
    }

    /// Ends the task at its next await point.
    pub(super) fn kill(&self) {
        self.kill.send_replace(true);
    }

    /// Tells readers that the agent is READY.
    pub(super) fn announce(&mut self, instance: &str) {
        let mut message = self.message(Status::Ready, instance);
        message.attach_token.clone_from(&self.token);
        self.frames.send_modify(|frame| frame.ready = Some(message));
    }

    /// Tells readers the newest numbers.
    pub(super) fn report(&mut self, status: Status, instance: &str) {
        let message = self.numbers(status, instance);
        self.frames.send_modify(|frame| frame.live = Some(message));
    }

    /// Tells readers how the run ended, with its final numbers if it had started.
    pub(super) fn end(&mut self, terminal: Terminal, instance: &str) {
        let last = match &terminal {
            Terminal::Completed => {
                let mut message = self.final_numbers(Status::Completed, instance);
                message.completed = true;
                Last {
                    message: Some(message),
                    status: None,
                }
            }
            Terminal::Failed(error) => {
                let mut message = self.final_numbers(Status::Error, instance);
                message.error_message.clone_from(error);
                Last {
                    message: Some(message),
                    status: None,
                }
            }
            Terminal::Aborted(reason) => Last {
                message: self.has_started.then(|| self.final_numbers(Status::Aborting, instance)),
                status: Some(tonic::Status::aborted(reason.clone())),
            },
            Terminal::StartRefused(reason) => Last {
                message: None,
                status: Some(tonic::Status::invalid_argument(reason.clone())),
            },
        };
        self.report_at = None;
        self.outcome = Some(terminal);
        self.frames.send_modify(|frame| frame.last = Some(last));
    }

    fn final_numbers(&mut self, status: Status, instance: &str) -> LiveStats {
        LiveStats {
            final_numbers: true,
            ..self.numbers(status, instance)
        }
    }

    fn numbers(&mut self, status: Status, instance: &str) -> LiveStats {
        let mut message = self.message(status, instance);
        put_counts(&mut message, &threads::counts(&self.recorders));
        message
    }

    fn message(&mut self, status: Status, instance: &str) -> LiveStats {
        self.sequence += 1;
        LiveStats {
            run_id: self.id.to_string(),
            status: status.into(),
            sequence: self.sequence,
            in_prepare_phase: self.in_prepare.load(Ordering::Relaxed),
            instance_id: instance.to_owned(),
            plan_digest: self.digest.clone(),
            late_micros: whole_micros(self.late),
            ..LiveStats::default()
        }
    }
}
