//! The one owner of everything that changes in an agent. It feeds the lifecycle and does what follows.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::mailbox::{AttachError, Command, Mailbox};
use super::options::Options;
use super::prepare::{Prepared, Request, prepare};
use super::report;
use super::run::ActiveRun;
use super::view::Ticket;
use crate::lifecycle::{Busy, Effect, Event, Lifecycle, RunId, Start, State, UnknownRun};
use crate::time::{Micros, whole_micros};
use crate::wire::proto::Status;

/// How long the actor sleeps without a deadline; a command wakes it.
const REST: Duration = Duration::from_hours(1);

/// The actor.
pub(super) struct Actor {
    options: Options,
    clock: Micros,
    instance: String,
    lifecycle: Lifecycle,
    /// The run in hand, or the last one.
    run: Option<ActiveRun>,
    /// Plans that wait for their check to begin.
    requested: Option<Request>,
    mailbox: Mailbox,
    commands: mpsc::Receiver<Command>,
    is_over: bool,
}

/// What wakes the actor.
enum Wake {
    Command(Box<Command>),
    Time,
}

impl Actor {
    pub(super) fn new(
        options: Options,
        clock: Micros,
        instance: String,
        mailbox: Mailbox,
        commands: mpsc::Receiver<Command>,
    ) -> Self {
        Self {
            lifecycle: Lifecycle::new(options.bounds),
            options,
            clock,
            instance,
            run: None,
            requested: None,
            mailbox,
            commands,
            is_over: false,
        }
    }

    /// Acts until the process shall end.
    pub(super) async fn run(mut self) {
        while !self.is_over {
            match self.wake().await {
                Some(Wake::Command(command)) => self.on(*command),
                Some(Wake::Time) => {}
                None => return,
            }
            self.tick();
        }
    }

    async fn wake(&mut self) -> Option<Wake> {
        let now = self.clock.elapsed();
        let report = self.run.as_ref().and_then(|run| run.report_at);
        let due = [self.lifecycle.deadline(), report].into_iter().flatten().min();
        let rest = due.map_or(REST, |due| due.saturating_sub(now));
        tokio::select! {
            biased;
            () = tokio::time::sleep(rest) => Some(Wake::Time),
            command = self.commands.recv() => Some(Wake::Command(Box::new(command?))),
        }
    }

    /// Whatever is due by time.
    fn tick(&mut self) {
        let now = self.clock.elapsed();
        let effects = self.lifecycle.tick(now);
        self.apply(effects);
        let status = match self.lifecycle.state() {
            State::Running => Status::Running,
            State::Aborting => Status::Aborting,
            State::Idle | State::Ready | State::Failed => return,
        };
        let every = self.options.report_every;
        let Some(run) = self.run.as_mut() else { return };
        let Some(due) = run.report_at.filter(|due| *due <= now) else {
            return;
        };
        // Keeps the rhythm; after a long pause it begins a new one.
        run.report_at = Some((due + every).max(now));
        run.report(status, &self.instance);
    }

    fn on(&mut self, command: Command) {
        let now = self.clock.elapsed();
        match command {
            Command::Run { request, reply } => {
                let ticket = self.reserve(*request);
                // A caller that is gone by now drops the ticket's stream, which is an event.
                drop(reply.send(ticket));
            }
            Command::Validated { run, result } => self.validated(run, result),
            Command::Start { run, at } => {
                let start = self.start_of(at);
                self.feed(Event::StartGiven { run, start });
            }
            Command::Abort { run, reply } => {
                let aborted = self.lifecycle.abort(run, now);
                let answer = aborted.map(|effects| {
                    self.apply(effects);
                    self.lifecycle.state()
                });
                // A caller that is gone needs no answer, here and below.
                let _ = reply.send(answer);
            }
            Command::Status { acknowledge, reply } => {
                self.acknowledge(acknowledge);
                let names = (self.options.name.as_str(), self.instance.as_str());
                let ended = self.run.as_ref();
                drop(reply.send(report::status(names, &self.lifecycle, ended, &self.clock)));
            }
            Command::Attach { run, token, reply } => self.attach(run, &token, reply),
            Command::ViewDropped { run, view } => {
                // Only the reader that owns the run counts: an earlier one was replaced.
                if self
                    .run
                    .as_ref()
                    .is_some_and(|current| current.id == run && current.owner == view)
                {
                    self.feed(Event::ControllerLost { run });
                }
            }
            Command::TaskEnded { run, end } => self.feed(Event::TaskEnded { run, end }),
            Command::ShutDown => self.feed(Event::ShutDown),
        }
    }

    fn feed(&mut self, event: Event) {
        let effects = self.lifecycle.on(event, self.clock.elapsed());
        self.apply(effects);
    }

    fn reserve(&mut self, request: Request) -> Result<Ticket, Busy> {
        let id = RunId(random());
        let effects = self.lifecycle.request(id)?;
        let token = format!("{:016x}{:016x}", random(), random());
        let mut run = ActiveRun::new(id, token, request.digest.clone());
        let ticket = run.ticket(&self.mailbox, false);
        self.run = Some(run);
        self.requested = Some(request);
        self.apply(effects);
        Ok(ticket)
    }

    /// Checks the plan beside the actor, so that slow checks delay nothing.
    fn validate(&mut self, run: RunId) {
        let Some(request) = self.requested.take() else { return };
        let workloads = self.options.workloads.clone();
        let mailbox = self.mailbox.clone();
        let checking = tokio::spawn(async move { prepare(request, workloads.as_ref()).await });
        tokio::spawn(async move {
            let result = checking
                .await
                .unwrap_or_else(|error| Err(format!("the check of the plan panicked: {error}")));
            mailbox.send(Command::Validated { run, result }).await
        });
    }

    fn validated(&mut self, run: RunId, result: Result<Box<Prepared>, String>) {
        match result {
            Ok(prepared) => {
                let on_loss = prepared.plan.on_controller_lost;
                if let Some(current) = self.run.as_mut().filter(|current| current.id == run) {
                    current.prepared = Some(prepared);
                }
                self.feed(Event::Accepted { run, on_loss });
            }
            Err(message) => self.feed(Event::Refused { run, message }),
        }
    }

    /// The start time, turned into monotonic time once.
    fn start_of(&self, at: u64) -> Start {
        let now = self.clock.unix();
        match (at, at.checked_sub(now)) {
            (0, _) => Start::Now,
            (_, Some(ahead)) => Start::In(Duration::from_micros(ahead)),
            (_, None) => Start::Past(Duration::from_micros(now - at)),
        }
    }

    fn attach(&mut self, run: RunId, token: &str, reply: oneshot::Sender<Result<Ticket, AttachError>>) {
        let Some(current) = self.run.as_mut().filter(|current| current.id == run) else {
            drop(reply.send(Err(UnknownRun(run).into())));
            return;
        };
        if current.token != token {
            drop(reply.send(Err(AttachError::Token(run))));
            return;
        }
        let ticket = current.ticket(&self.mailbox, true);
        self.feed(Event::ControllerAttached { run });
        drop(reply.send(Ok(ticket)));
    }

    /// Drops the kept result of a run that is over.
    fn acknowledge(&mut self, run: Option<RunId>) {
        let is_kept = |kept: &ActiveRun| Some(kept.id) == run && kept.outcome.is_some();
        if self.run.as_ref().is_some_and(is_kept) {
            self.run = None;
        }
    }

    fn apply(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            self.apply_one(effect);
        }
    }

    fn apply_one(&mut self, effect: Effect) {
        match effect {
            Effect::Validate(run) => self.validate(run),
            Effect::Spawn { run, late } => {
                let report_at = self.clock.elapsed() + self.options.report_every;
                let Some(current) = self.run.as_mut().filter(|current| current.id == run) else {
                    return;
                };
                current.report_at = Some(report_at);
                current.spawn(late, &self.clock, &self.mailbox);
            }
            Effect::Announce(run) => self.with(run, ActiveRun::announce),
            Effect::Cancel(run) => self.with(run, |current, _| current.cancel()),
            Effect::Kill(run) => self.with(run, |current, _| current.kill()),
            Effect::End { run, terminal } => self.with(run, |current, instance| current.end(terminal, instance)),
            Effect::Leak(run) => {
                tracing::error!(%run, "task of an aborted run does not end, counted as leaked");
            }
            Effect::Log(made) => {
                let millis = whole_micros(made.after) / 1_000;
                let (run, from, to) = (made.run, made.from, made.to);
                tracing::info!(%run, %from, %to, reason = made.reason, previous_ms = millis, "agent state changed");
            }
            Effect::LogRefused(illegal) => tracing::error!(%illegal, "agent state not changed"),
            Effect::LogStuck(run) => {
                tracing::warn!(%run, "task of an aborted run is still at work, ending it at its next await point");
            }
            Effect::Exit => self.is_over = true,
        }
    }

    fn with(&mut self, run: RunId, act: impl FnOnce(&mut ActiveRun, &str)) {
        if let Some(current) = self.run.as_mut().filter(|current| current.id == run) {
            act(current, &self.instance);
        }
    }
}

/// A random number. A machine without randomness cannot run anything that matters here, so ids then come from zero.
pub(super) fn random() -> u64 {
    getrandom::u64().unwrap_or_else(|error| {
        tracing::error!(%error, "no random numbers");
        0
    })
}
