//! What the audit says of a request: each declares it once, and the entry is written here for all of them.
//!
//! A request that a principal decides something with declares an [`Audit`]. Every such request that is decided leaves one
//! entry, in the commit of what it decided; a refused one too. A request that is answered from an idempotency key, or that
//! another node decides, leaves none: it decided nothing.

use std::borrow::Cow;

use sprag_core::access::{Caller, LOCAL};
use sprag_core::action::{Action, Status};
use sprag_core::ids::{ActionId, ExecutionId, JobId, Slot, WorkflowId};
use sprag_core::integrity::audit::{Decision, Verb, VerbSet};
use sprag_core::operation::is_workflow_machine;

use super::{Answer, Call, Code, Refusal, Replied, Request, Route};
use crate::decide::{Decider, config_of};

/// The type of the step that only writes a message, which the audit has too.
const LOG_MESSAGE: &str = "log_message";

/// What tells whether the target of a request changed.
type State<R> = fn(&R, &mut Decider<'_>, Option<&<R as Request>::Answer>) -> Option<String>;

/// What the audit says of a request.
#[derive(Clone, Copy, Debug)]
pub struct Audit<R: Request> {
    verb: fn(&R) -> Verb,
    /// What it is decided on.
    target: fn(&R) -> String,
    /// The same once it is decided, where deciding made it.
    made: fn(&R::Answer) -> Option<String>,
    /// The reason that the request itself gives.
    reason: for<'r> fn(&'r R) -> Option<&'r str>,
    /// The target's revision, version or status: asked before the decision, and after it with the answer.
    state: State<R>,
    /// The error code, where the request itself says that something was refused.
    refused: fn(&R) -> Option<Cow<'static, str>>,
    /// Only a request with a reason is a person's.
    by_hand: bool,
    /// Only a request that changes the target's state is a decision.
    only_changes: bool,
}

impl<R: Request> Audit<R> {
    /// Each of these requests is `verb`, decided on what `target` names.
    pub const fn new(verb: fn(&R) -> Verb, target: fn(&R) -> String) -> Self {
        Self {
            verb,
            target,
            made: |_| None,
            reason: |_| None,
            state: |_, _, _| None,
            refused: |_| None,
            by_hand: false,
            only_changes: false,
        }
    }

    /// Deciding makes the target.
    #[must_use]
    pub const fn making(mut self, made: fn(&R::Answer) -> Option<String>) -> Self {
        self.made = made;
        self
    }

    /// The request has a reason of its own.
    #[must_use]
    pub const fn because(mut self, reason: for<'r> fn(&'r R) -> Option<&'r str>) -> Self {
        self.reason = reason;
        self
    }

    /// The target has something that tells whether it changed.
    #[must_use]
    pub const fn changing(mut self, state: State<R>) -> Self {
        self.state = state;
        self
    }

    /// The request tells of something that was refused.
    const fn refusing(mut self, refused: fn(&R) -> Option<Cow<'static, str>>) -> Self {
        self.refused = refused;
        self
    }

    /// Programs send these requests too. One with a reason is a person's decision; one without is not audited.
    #[must_use]
    pub const fn by_hand(mut self) -> Self {
        self.by_hand = true;
        self
    }

    /// These requests come again and again. One that changes nothing is not audited.
    #[must_use]
    pub const fn only_changes(mut self) -> Self {
        self.only_changes = true;
        self
    }

    /// Why it is asked: what the request says, or what its caller says.
    fn why<'r>(&self, request: &'r R, caller: &'r Caller) -> Option<&'r str> {
        let given = (self.reason)(request).or(caller.reason.as_deref());
        given.filter(|reason| !reason.trim().is_empty())
    }
}

/// Refuses a request without a reason, if its verb must have one.
pub(crate) fn check_reason<R: Request>(request: &R, caller: &Caller, needed: &VerbSet) -> Result<(), Refusal> {
    let Some(audit) = R::AUDIT.filter(|_| !needed.is_empty()) else {
        return Ok(());
    };
    let verb = (audit.verb)(request);
    if !needed.contains(verb) || audit.why(request, caller).is_some() {
        return Ok(());
    }
    let detail = format!(
        "`{}` needs a reason: send the header `Sprag-Reason`, or `--reason` on the command line",
        verb.word()
    );
    Err(Refusal::new(Code::ReasonMissing, detail))
}

/// A decision that becomes an entry when its batch is written.
#[derive(Clone, Debug)]
pub(crate) struct Audited {
    /// Whose chain it belongs to.
    pub(crate) slot: Slot,
    /// What the entry says.
    pub(crate) decision: Decision,
}

/// Decides a call, and notes what the audit says of it.
pub(super) fn decide<R: Request>(
    call: &Call<R>,
    decider: &mut Decider<'_>,
    decide: impl FnOnce(&mut Decider<'_>) -> Replied<R::Answer>,
) -> Replied<R::Answer> {
    let is_meant = |audit: &Audit<R>, caller: &Caller| !audit.by_hand || audit.why(&call.request, caller).is_some();
    let (Some(audit), Some(caller)) = (R::AUDIT, decider.caller.clone()) else {
        return decide(decider);
    };
    if !is_meant(&audit, &caller) {
        return decide(decider);
    }
    let before = (audit.state)(&call.request, decider, None);
    let replied = decide(decider);
    let refused = match &replied.answer {
        _ if replied.replayed => return replied,
        Err(refusal) if refusal.elsewhere.is_some() => return replied,
        Err(refusal) => Some(refusal.code.text().to_owned()),
        Ok(_) => (audit.refused)(&call.request).map(Cow::into_owned),
    };
    let answer = replied.answer.as_ref().ok();
    let made = answer.and_then(audit.made);
    let after = answer.and_then(|answer| (audit.state)(&call.request, decider, Some(answer)));
    if audit.only_changes && before == after {
        return replied;
    }
    let slot = slot_of(call, answer, decider);
    let decision = Decision {
        principal: caller.principal.to_string(),
        verb: (audit.verb)(&call.request).word().to_owned(),
        target: made.unwrap_or_else(|| (audit.target)(&call.request)),
        reason: audit.why(&call.request, &caller).map(str::to_owned),
        address: caller.address.clone(),
        refused,
        before,
        after,
    };
    decider.batch.audited.push(Audited { slot, decision });
    replied
}

/// Where the entry belongs: beside what was decided.
fn slot_of<R: Request>(call: &Call<R>, answer: Option<&R::Answer>, decider: &mut Decider<'_>) -> Slot {
    let started = answer.and_then(Answer::execution).map(ExecutionId::slot);
    let routed = || call.request.route().slot(call.once.map(|once| once.scope.slot()));
    started.or_else(routed).unwrap_or_else(|| decider.own_slot())
}

/// Note something that was decided beside the engine: a backup, a service, or a request that was refused before it reached
/// the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What was decided.
    pub verb: Verb,
    /// On what.
    pub target: String,
    /// The error code, if it was refused.
    pub refused: Option<Cow<'static, str>>,
    /// What the target was before.
    pub before: Option<String>,
    /// What it is now.
    pub after: Option<String>,
}

impl Request for Record {
    type Answer = ();
    const NAME: &'static str = "record";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|record| record.verb, |record| record.target.clone())
            .refusing(|record| record.refused.clone())
            .changing(|record, _, answer| match answer {
                None => record.before.clone(),
                Some(()) => record.after.clone(),
            }),
    );

    fn route(&self) -> Route {
        Route::NewExecution
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        let _ = decider;
        Ok(())
    }
}

/// Notes how the steps of workflows ended in this batch. The proposer is who decided that they run.
pub(crate) fn note_ended(decider: &mut Decider<'_>) {
    while let Some(&(id, status)) = decider.batch.ended.get(decider.batch.audited_ends) {
        decider.batch.audited_ends += 1;
        let ended = decider
            .batch
            .action(id)
            .filter(|action| is_workflow_machine(&action.origin.machine));
        if let Some(action) = ended.cloned() {
            let decision = outcome(decider, &action, status);
            let slot = action.origin.execution.slot();
            decider.batch.audited.push(Audited { slot, decision });
        }
    }
}

fn outcome(decider: &Decider<'_>, action: &Action, status: Status) -> Decision {
    let execution = action.origin.execution;
    let workflow = WorkflowId::from(execution);
    let state = decider.known.executions.get(execution);
    let plan = state.and_then(|state| state.plans.get(&workflow));
    let error = action.body.last_error.as_ref().filter(|_| status == Status::Dead);
    let after = match error {
        Some(error) => format!("{}: {}", status.word(), error.kind),
        None => status.word().to_owned(),
    };
    let is_message = action.kind == LOG_MESSAGE;
    let machine = decider.machine(&action.origin.machine, action.origin.version);
    let message = machine.filter(|_| is_message).and_then(|machine| {
        let mut definitions = machine.actions.iter();
        let definition = definitions.find(|definition| definition.action_id == action.action_id);
        let message = config_of(action, definition).config;
        message.get("message")?.as_str().map(str::to_owned)
    });
    let verb = if is_message { Verb::LogMessage } else { Verb::EndStep };
    Decision {
        principal: plan.map_or_else(|| LOCAL.to_owned(), |plan| plan.plan.proposer.clone()),
        verb: verb.word().to_owned(),
        target: format!("{workflow}/{}", action.action_id),
        reason: message,
        after: Some(after),
        ..Decision::default()
    }
}

/// The status of an execution.
pub(super) fn execution_status(decider: &Decider<'_>, id: ExecutionId) -> Option<String> {
    let state = decider.known.executions.get(id)?;
    Some(state.head.status.word().to_owned())
}

/// The status of an action, and its generation, which a changed configuration raises.
pub(super) fn action_status(decider: &Decider<'_>, id: ActionId) -> Option<String> {
    let action = decider.find_action(id)?;
    let (status, generation) = (action.status.word(), action.body.generation);
    Some(format!("{status}, generation {generation}"))
}

/// The status of a job that is open, or was before this batch.
pub(super) fn job_status(decider: &Decider<'_>, id: JobId) -> Option<String> {
    let known = decider.batch.bulk.get(&id).or_else(|| decider.known.jobs.get(id))?;
    Some(known.status.word().to_owned())
}
