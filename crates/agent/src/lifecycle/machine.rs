//! The lifecycle of an agent: events and time in, effects out.

use std::collections::BTreeSet;
use std::time::Duration;

use super::event::{Busy, ControllerLoss, Effect, Event, Start, TaskEnd, Terminal, UnknownRun};
use super::run::{AbortReason, Bounds, Phase, Run, RunId};
use super::state::{State, StateLog};

/// An agent, as far as decisions go.
#[derive(Debug, Default)]
pub struct Lifecycle {
    bounds: Bounds,
    log: StateLog,
    run: Option<Run>,
    leaked: BTreeSet<RunId>,
    is_shutting_down: bool,
}

impl Lifecycle {
    /// An IDLE agent.
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            ..Self::default()
        }
    }

    /// The state, and how the agent came there.
    pub fn log(&self) -> &StateLog {
        &self.log
    }

    /// The state.
    pub fn state(&self) -> State {
        self.log.state()
    }

    /// The run in hand.
    pub fn run(&self) -> Option<RunId> {
        self.run.map(|run| run.id)
    }

    /// Tasks of earlier runs that are still at work.
    pub fn leaked(&self) -> usize {
        self.leaked.len()
    }

    /// When [`Lifecycle::tick`] has something to do.
    pub fn deadline(&self) -> Option<Duration> {
        self.run.and_then(|run| run.deadline())
    }

    /// Takes a run, unless another one is in hand. Its plan is not looked at before.
    pub fn request(&mut self, run: RunId) -> Result<Vec<Effect>, Busy> {
        if let Some(current) = self.run {
            let state = self.state();
            return Err(Busy::Run { state, run: current.id });
        }
        if self.is_shutting_down {
            return Err(Busy::ShuttingDown);
        }
        self.run = Some(Run {
            id: run,
            on_loss: ControllerLoss::Abort,
            phase: Phase::Validating,
        });
        Ok(vec![Effect::Validate(run)])
    }

    /// Aborts the run, or the run in hand if none is named. Without a run in hand there is nothing to abort.
    pub fn abort(&mut self, run: Option<RunId>, now: Duration) -> Result<Vec<Effect>, UnknownRun> {
        match (run, self.run) {
            (Some(named), Some(current)) if named != current.id => Err(UnknownRun(named)),
            (Some(named), None) if !self.was(named) => Err(UnknownRun(named)),
            _ => Ok(self.abort_current(AbortReason::Asked, now)),
        }
    }

    /// Whether a remembered run has this id.
    fn was(&self, run: RunId) -> bool {
        self.log.history().any(|transition| transition.run == run)
    }

    /// What follows from the event. Events of other runs than the one in hand change nothing.
    pub fn on(&mut self, event: Event, now: Duration) -> Vec<Effect> {
        match event {
            Event::Accepted { run, on_loss } => self.accepted(run, on_loss, now),
            Event::Refused { run, message } => self.refused(run, message, now),
            Event::StartGiven { run, start } => self.start_given(run, start, now),
            Event::ControllerLost { run } => self.controller_lost(run, now),
            Event::ControllerAttached { run } => self.controller_attached(run),
            Event::TaskEnded { run, end } => self.task_ended(run, end, now),
            Event::ShutDown => self.shut_down(now),
        }
    }

    /// What is due at `now`.
    pub fn tick(&mut self, now: Duration) -> Vec<Effect> {
        let Some(run) = self.run.filter(|run| run.deadline().is_some_and(|due| due <= now)) else {
            return Vec::new();
        };
        match run.phase {
            Phase::Validating => Vec::new(),
            Phase::Waiting { .. } => self.abort_current(AbortReason::NoStart, now),
            Phase::Starting { at } => self.begin(run.id, now.saturating_sub(at), now),
            Phase::Running { .. } => self.abort_current(AbortReason::ControllerLost, now),
            Phase::Aborting {
                kill: Some(_),
                leak,
                reason,
            } => {
                let kill = None;
                self.set_phase(Phase::Aborting { kill, leak, reason });
                vec![Effect::LogStuck(run.id), Effect::Kill(run.id)]
            }
            Phase::Aborting { kill: None, reason, .. } => self.leak(run.id, reason, now),
        }
    }

    fn phase_of(&self, run: RunId) -> Option<Phase> {
        self.run
            .filter(|current| current.id == run)
            .map(|current| current.phase)
    }

    fn set_phase(&mut self, phase: Phase) {
        if let Some(run) = self.run.as_mut() {
            run.phase = phase;
        }
    }

    fn go(&mut self, run: RunId, to: State, reason: &str, now: Duration) -> Option<Effect> {
        match self.log.transition(run, to, reason, now) {
            Ok(made) => made.cloned().map(Effect::Log),
            Err(illegal) => Some(Effect::LogRefused(illegal)),
        }
    }

    /// IDLE without a run. The controller hears about it afterwards.
    fn end(&mut self, run: RunId, reason: &str, terminal: Terminal, now: Duration) -> Vec<Effect> {
        self.run = None;
        let mut effects: Vec<Effect> = self.go(run, State::Idle, reason, now).into_iter().collect();
        effects.push(Effect::End { run, terminal });
        if self.is_shutting_down {
            effects.push(Effect::Exit);
        }
        effects
    }

    fn fail(&mut self, run: RunId, message: String, now: Duration) -> Vec<Effect> {
        let mut effects: Vec<Effect> = self.go(run, State::Failed, &message, now).into_iter().collect();
        effects.extend(self.end(run, "error reported", Terminal::Failed(message), now));
        effects
    }

    fn accepted(&mut self, run: RunId, on_loss: ControllerLoss, now: Duration) -> Vec<Effect> {
        if self.phase_of(run) != Some(Phase::Validating) {
            return Vec::new();
        }
        let expires = now + self.bounds.ready;
        self.run = Some(Run {
            id: run,
            on_loss,
            phase: Phase::Waiting { expires },
        });
        let went = self.go(run, State::Ready, "plan accepted", now);
        went.into_iter().chain([Effect::Announce(run)]).collect()
    }

    fn refused(&mut self, run: RunId, message: String, now: Duration) -> Vec<Effect> {
        if self.phase_of(run) != Some(Phase::Validating) {
            return Vec::new();
        }
        self.fail(run, message, now)
    }

    fn start_given(&mut self, run: RunId, start: Start, now: Duration) -> Vec<Effect> {
        if !matches!(self.phase_of(run), Some(Phase::Waiting { .. })) {
            return Vec::new();
        }
        let Bounds { ahead, past, .. } = self.bounds;
        match start {
            Start::In(wait) if wait > ahead => self.refuse_start(
                run,
                format!(
                    "the start time is {} ms ahead; at most {} ms are accepted",
                    wait.as_millis(),
                    ahead.as_millis()
                ),
                now,
            ),
            Start::Past(late) if late > past => self.refuse_start(
                run,
                format!(
                    "the start time passed {} ms ago; at most {} ms are accepted",
                    late.as_millis(),
                    past.as_millis()
                ),
                now,
            ),
            Start::In(wait) => {
                self.set_phase(Phase::Starting { at: now + wait });
                Vec::new()
            }
            Start::Past(late) => self.begin(run, late, now),
            Start::Now => self.begin(run, Duration::ZERO, now),
        }
    }

    fn refuse_start(&mut self, run: RunId, message: String, now: Duration) -> Vec<Effect> {
        self.end(run, "start time refused", Terminal::StartRefused(message), now)
    }

    fn begin(&mut self, run: RunId, late: Duration, now: Duration) -> Vec<Effect> {
        self.set_phase(Phase::Running { lost: None });
        let went = self.go(run, State::Running, "start time reached", now);
        went.into_iter().chain([Effect::Spawn { run, late }]).collect()
    }

    fn controller_lost(&mut self, run: RunId, now: Duration) -> Vec<Effect> {
        let Some(current) = self.run.filter(|current| current.id == run) else {
            return Vec::new();
        };
        match (current.phase, current.on_loss) {
            (Phase::Aborting { .. }, _) | (Phase::Running { .. }, ControllerLoss::FinishAndKeep) => Vec::new(),
            (Phase::Running { lost }, ControllerLoss::Grace(grace)) => {
                let lost = Some(lost.unwrap_or(now + grace));
                self.set_phase(Phase::Running { lost });
                Vec::new()
            }
            _ => self.abort_current(AbortReason::ControllerLost, now),
        }
    }

    fn controller_attached(&mut self, run: RunId) -> Vec<Effect> {
        if matches!(self.phase_of(run), Some(Phase::Running { .. })) {
            self.set_phase(Phase::Running { lost: None });
        }
        Vec::new()
    }

    fn task_ended(&mut self, run: RunId, end: TaskEnd, now: Duration) -> Vec<Effect> {
        if self.leaked.remove(&run) {
            return Vec::new();
        }
        match (self.phase_of(run), end) {
            (Some(Phase::Aborting { reason, .. }), _) => {
                let text = reason.text();
                self.end(run, "task ended", Terminal::Aborted(text.to_owned()), now)
            }
            (Some(Phase::Running { .. }), TaskEnd::Completed) => {
                self.end(run, "workload complete", Terminal::Completed, now)
            }
            (Some(Phase::Running { .. }), TaskEnd::Failed(message)) => self.fail(run, message, now),
            (Some(Phase::Running { .. }), TaskEnd::Cancelled) => {
                self.fail(run, "the workload was cancelled by itself".to_owned(), now)
            }
            _ => Vec::new(),
        }
    }

    fn shut_down(&mut self, now: Duration) -> Vec<Effect> {
        self.is_shutting_down = true;
        if self.run.is_none() {
            return vec![Effect::Exit];
        }
        self.abort_current(AbortReason::ShutDown, now)
    }

    fn abort_current(&mut self, reason: AbortReason, now: Duration) -> Vec<Effect> {
        let Some(Run { id, phase, .. }) = self.run else {
            return Vec::new();
        };
        match phase {
            // A second abort does not extend the deadlines of the first.
            Phase::Aborting { .. } => Vec::new(),
            Phase::Running { .. } => {
                self.set_phase(Phase::Aborting {
                    kill: Some(now + self.bounds.kill),
                    leak: now + self.bounds.leak,
                    reason,
                });
                let went = self.go(id, State::Aborting, reason.text(), now);
                went.into_iter().chain([Effect::Cancel(id)]).collect()
            }
            Phase::Validating | Phase::Waiting { .. } | Phase::Starting { .. } => {
                self.end(id, reason.text(), Terminal::Aborted(reason.text().to_owned()), now)
            }
        }
    }

    fn leak(&mut self, run: RunId, reason: AbortReason, now: Duration) -> Vec<Effect> {
        self.leaked.insert(run);
        let mut effects = vec![Effect::Leak(run)];
        let terminal = Terminal::Aborted(reason.text().to_owned());
        effects.extend(self.end(run, "task did not end, counted as leaked", terminal, now));
        effects
    }
}
