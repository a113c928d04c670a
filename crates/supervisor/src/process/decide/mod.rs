//! The next step of a service: a pure function of the desired and the observed state.

use super::observed::{SeenProcess, ServiceObservation, at};
use super::probe::Verdict;
use super::runtime::Blame;
use super::worker::{ServiceAction, ServiceState, ServiceWorker};
use crate::worker::action::Outcome;
use crate::worker::snapshot::{ChildView, Snapshot};
use crate::worker::{Goal, Next, Phase, Reason};

type Step = Next<ServiceWorker>;
type ServiceSnapshot = Snapshot<ServiceWorker>;

/// The next step.
pub(super) fn next(state: ServiceState, snapshot: &ServiceSnapshot) -> Step {
    let nothing = ServiceObservation::default();
    let seen = snapshot.observed.as_deref().unwrap_or(&nothing);
    let at = At { state, snapshot, seen };
    match snapshot.goal {
        Goal::Running => at.up(),
        Goal::Stopped | Goal::Removed => at.down(),
    }
}

/// One instant of a service.
struct At<'a> {
    state: ServiceState,
    snapshot: &'a ServiceSnapshot,
    seen: &'a ServiceObservation,
}

impl At<'_> {
    /// On the way to running.
    fn up(&self) -> Step {
        if self.state == ServiceState::Stopping {
            return self.leave();
        }
        if self.state == ServiceState::Failed {
            return self.failed();
        }
        if let Some(escalation) = self.snapshot.escalations.first() {
            return to(ServiceState::Failed, escalation.cause.clone());
        }
        if !self.snapshot.desired.service.has_process() {
            return self.as_children();
        }
        match &self.seen.process {
            None => self.without_process(),
            Some(process) if process.digest != self.snapshot.desired.digest => self.changed(process),
            Some(process) => self.with_process(process),
        }
    }

    /// Its process was started from another configuration. It is replaced only by one that can be started.
    fn changed(&self, process: &SeenProcess) -> Step {
        if self.seen.checked != self.snapshot.desired.digest {
            return Next::Stay("its configuration changed and is checked before its process is replaced".into());
        }
        let Some(obstacle) = self.obstacle() else {
            return to(ServiceState::Stopping, "its configuration changed".to_owned());
        };
        let kept = |reason: Reason| -> Reason {
            format!("{reason} as configured before, because its new configuration cannot be started: {obstacle}").into()
        };
        match self.with_process(process) {
            Next::Stay(reason) => Next::Stay(kept(reason)),
            Next::To(state, reason) => Next::To(state, kept(reason)),
            other => other,
        }
    }

    /// Why its process must not be ended: it could not be started again.
    fn obstacle(&self) -> Option<&str> {
        let is_checked = self.seen.checked == self.snapshot.desired.digest;
        self.seen.obstacle.as_deref().filter(|_| is_checked)
    }

    /// It has a process that should run.
    fn with_process(&self, process: &SeenProcess) -> Step {
        let found = &self.seen.found;
        let pid = process.pid;
        if self.state == ServiceState::Stopped {
            let how = if process.adopted { "was found running" } else { "runs" };
            return to(ServiceState::Starting, format!("process {pid} {how}"));
        }
        if found.startup.verdict == Verdict::Bad {
            let why = detail(found.startup.error.as_deref());
            if let Some(obstacle) = self.obstacle() {
                let kept = format!("its startup probe did not pass{why}; it is not restarted, because {obstacle}");
                return Next::Stay(kept.into());
            }
            return self.stop(Blame::Startup, format!("its startup probe did not pass{why}"));
        }
        if found.startup.verdict == Verdict::Unknown {
            let why = detail(found.startup.error.as_deref());
            return Next::Stay(format!("process {pid} waits for its startup probe{why}").into());
        }
        if found.live.verdict == Verdict::Bad {
            let why = detail(found.live.error.as_deref());
            if let Some(obstacle) = self.obstacle() {
                let kept = format!("its live probe did not pass{why}; it is not restarted, because {obstacle}");
                return to(ServiceState::Degraded, kept);
            }
            return self.stop(Blame::Live, format!("its live probe did not pass{why}"));
        }
        if self.state == ServiceState::Starting {
            return self.while_starting(pid);
        }
        self.while_running(pid)
    }

    fn while_starting(&self, pid: i32) -> Step {
        let ready = &self.seen.found.ready;
        if ready.verdict != Verdict::Good {
            let why = detail(ready.error.as_deref());
            return Next::Stay(format!("process {pid} waits for its ready probe{why}").into());
        }
        match self.child_that_is_not_up() {
            Some(waits) => Next::Stay(waits.into()),
            None => to(ServiceState::Running, format!("process {pid} runs")),
        }
    }

    fn while_running(&self, pid: i32) -> Step {
        let found = &self.seen.found;
        if found.ready.verdict == Verdict::Bad {
            let why = detail(found.ready.error.as_deref());
            return to(ServiceState::Degraded, format!("its ready probe does not pass{why}"));
        }
        if found.healthy == Some(false) {
            let why = "what it tells about itself is not healthy".to_owned();
            return to(ServiceState::Degraded, why);
        }
        to(ServiceState::Running, format!("process {pid} runs"))
    }

    /// It has no process and should have one.
    fn without_process(&self) -> Step {
        let desired = &self.snapshot.desired;
        let seen = self.seen;
        if seen.is_done(desired.digest) {
            return to(ServiceState::Stopped, "completed: it exited with code 0".to_owned());
        }
        let gave_up = seen.gave_up.as_ref();
        if let Some(gave_up) = gave_up.filter(|gave_up| gave_up.digest == desired.questions) {
            return to(ServiceState::Failed, gave_up.cause.clone());
        }
        let lasting = seen.problem.as_ref().filter(|problem| problem.lasting);
        if let Some(problem) = lasting.filter(|problem| problem.digest == desired.digest) {
            return to(ServiceState::Failed, problem.text.clone());
        }
        if seen.gave_up.is_some() {
            return Next::Act(ServiceAction::Forget, "its configuration changed".into());
        }
        if self.state != ServiceState::Starting {
            return to(ServiceState::Starting, self.last_end());
        }
        if let Some(due) = seen.due().filter(|due| *due > self.snapshot.now) {
            let (end, number) = (self.last_end(), seen.failures.len());
            let last = desired.service.budget().restarts();
            return Next::Stay(format!("{end}; restart {number} of {last} {}", at(due)).into());
        }
        Next::Act(ServiceAction::Start(desired.clone()), self.last_end().into())
    }

    /// What its last process, or the last try to start one, came to.
    fn last_end(&self) -> String {
        let problem = self.seen.problem.as_ref().map(|problem| problem.text.clone());
        let ended = self
            .seen
            .ended
            .as_ref()
            .map(|ended| format!("it {}", ended.exit.describe()));
        problem.or(ended).unwrap_or_else(|| "to be started".to_owned())
    }

    /// It has no process of its own: it is what its children are.
    fn as_children(&self) -> Step {
        let failed = self.snapshot.children.iter().find(|child| child.phase == Phase::Failed);
        if let Some(child) = failed {
            return to(ServiceState::Failed, format!("child `{}` is failed", child.name));
        }
        match self.child_that_is_not_up() {
            Some(waits) => to(ServiceState::Starting, waits),
            None => to(ServiceState::Running, "its children run".to_owned()),
        }
    }

    /// A child that stopped because its work was done holds nothing up, nor does one that is not to run.
    fn child_that_is_not_up(&self) -> Option<String> {
        let expected = &self.snapshot.desired.expected;
        let waits = |child: &&ChildView| match child.phase {
            Phase::Starting | Phase::Stopping => true,
            Phase::Stopped => expected.iter().any(|name| *name == *child.name),
            Phase::Running | Phase::Degraded | Phase::Failed => false,
        };
        let child = self.snapshot.children.iter().find(waits)?;
        Some(format!("child `{}` is {}", child.name, child.state))
    }

    /// Given up. Another configuration, or a child that came back, starts anew.
    fn failed(&self) -> Step {
        if let Some(escalation) = self.snapshot.escalations.first() {
            return Next::Stay(escalation.cause.clone().into());
        }
        let desired = &self.snapshot.desired;
        if !desired.service.has_process() {
            return self.as_children();
        }
        if self.seen.process.is_some() {
            return to(ServiceState::Starting, "what failed is over".to_owned());
        }
        let gave_up = self
            .seen
            .gave_up
            .as_ref()
            .map(|gave_up| (&gave_up.cause, gave_up.digest == desired.questions));
        let problem = self
            .seen
            .problem
            .as_ref()
            .map(|problem| (&problem.text, problem.digest == desired.digest));
        match gave_up.or(problem) {
            Some((cause, true)) => Next::Stay(cause.clone().into()),
            Some(_) => Next::Act(ServiceAction::Forget, "its configuration changed".into()),
            None => to(ServiceState::Starting, "to be started".to_owned()),
        }
    }

    /// On the way to standing still. Also what is not to run yet is on it: nothing is forgotten by waiting.
    fn down(&self) -> Step {
        if self.state == ServiceState::Stopping {
            return self.leave();
        }
        if !self.is_empty() {
            return to(ServiceState::Stopping, "asked to stop".to_owned());
        }
        if self.snapshot.goal == Goal::Removed {
            return self.remove();
        }
        let gave_up = self.seen.gave_up.as_ref().map(|gave_up| gave_up.cause.clone());
        match (self.state, gave_up) {
            (ServiceState::Failed, Some(cause)) => Next::Stay(cause.into()),
            _ => to(ServiceState::Stopped, "not to run".to_owned()),
        }
    }

    /// Goes, once nothing of it is left and what ended in it is forgotten: who starts it next time, starts anew.
    fn remove(&self) -> Step {
        if self.snapshot.action.in_progress() {
            return Next::Stay("its last action ends".into());
        }
        if self.is_to_forget() {
            return Next::Act(ServiceAction::Forget, "its failures are forgotten".into());
        }
        Next::Remove("nothing of it is left".into())
    }

    /// Whether there is something to forget that was not forgotten just now.
    fn is_to_forget(&self) -> bool {
        let seen = self.seen;
        let holds =
            seen.gave_up.is_some() || seen.ended.is_some() || !seen.failures.is_empty() || seen.problem.is_some();
        holds && self.snapshot.action.name != "forget"
    }

    /// Ends what is there, children first.
    fn leave(&self) -> Step {
        let up = self.snapshot.children.iter().find(|child| !child.phase.is_down());
        if let Some(child) = up {
            return Next::Stay(format!("child `{}` is {}", child.name, child.state).into());
        }
        if self.seen.process.is_some() || self.is_unknown() {
            return self.stop(Blame::Nobody, "asked to stop".to_owned());
        }
        to(ServiceState::Stopped, "nothing of it runs".to_owned())
    }

    fn is_empty(&self) -> bool {
        self.seen.process.is_none() && !self.is_unknown() && self.snapshot.children.all(Phase::is_down)
    }

    /// Whether it has a process is unknown, and it was not stopped: in doubt it is.
    fn is_unknown(&self) -> bool {
        let has_stopped = self.snapshot.action.name == "stop" && self.snapshot.action.outcome == Outcome::Succeeded;
        self.snapshot.observed.is_none() && self.snapshot.desired.service.has_process() && !has_stopped
    }

    fn stop(&self, blame: Blame, why: String) -> Step {
        Next::Act(ServiceAction::Stop(self.snapshot.desired.clone(), blame), why.into())
    }
}

fn to(state: ServiceState, why: String) -> Step {
    Next::To(state, Reason::from(why))
}

/// `: connection refused`
fn detail(error: Option<&str>) -> String {
    error.map(|error| format!(": {error}")).unwrap_or_default()
}

#[cfg(test)]
mod tests;
