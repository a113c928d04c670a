//! Every key of a catalog file, with what it holds.

use super::risk::RISKS;
use crate::document::Names::{Free, Identifier};
use crate::document::Shape::{Any, Duration, Flag, List, Map, Members, Name, Open, Refused, Text, Whole, Word};
use crate::document::{Names, Shape, Table};
use crate::machine::{LIMIT, RETRY, TAGS};
use crate::table;

const U32_MAX: u64 = 0xffff_ffff;

static OPERATION_NAME: Shape = Name(Names::Operation);

/// The types of parameters.
pub(super) const TYPES: [&str; 6] = ["string", "integer", "number", "boolean", "array", "object"];

/// A system that operations act on.
pub(super) static SUBJECT: Table = table! {
    "subject" called "a subject";
    required "subject": OPERATION_NAME => "The subject's name.";
    optional "title": Text => "Its name for people.";
    optional "description": Text => "What it is.";
    optional "limits": Map(&SUBJECT_LIMITS) => "Of all operations on it together.";
};

static SUBJECT_LIMITS: Table = table! {
    "subjectLimits" called "the limits of a subject";
    optional "concurrency": Whole { least: 1, most: U32_MAX } => "Attempts at once.";
    optional "rate": Map(&SUBJECT_RATE) => "Attempts per time.";
};

/// So many in so much time.
pub(super) static SUBJECT_RATE: Table = table! {
    "subjectRate" called "a rate";
    required "count": Whole { least: 1, most: U32_MAX } => "How many attempts.";
    required "per": Duration { least: 1 } => "In how much time.";
};

/// An entry of the catalog.
pub(super) static OPERATION: Table = table! {
    "operation" called "an operation";
    required "operation": OPERATION_NAME => "The operation's name.";
    optional "title": Text => "Its name for people.";
    optional "description": Text => "What it does.";
    optional "kind": Word(&["subject", "tool", "workflow"])
        => "What it acts on: a subject, nothing in particular, or what its steps act on.";
    optional "subject": OPERATION_NAME => "The subject it acts on.";
    optional "riskLevel": Word(&RISKS) => "How much can go wrong; `low` if not given.";
    optional "requiresApproval": Flag => "Whether it always needs approval, whatever its risk.";
    optional "parameters": Members(Identifier, &Map(&PARAMETER)) => "What its caller gives.";
    optional "secrets": List(&Name(Free)) => "The secrets that a parameter may name.";
    optional "action": Map(&ACTION) => "What it does.";
    optional "compensate": Map(&COMPENSATE) => "The operation that takes its effect back.";
    optional "steps": List(&Map(&STEP)) => "The steps of a workflow.";
    optional "onFailure": Word(&["stop", "compensate"]) => "What a failed step of a workflow leads to.";
    optional "tags": TAGS => "For filters.";
};

/// What a caller gives.
pub(super) static PARAMETER: Table = table! {
    "parameter" called "a parameter";
    required "type": Word(&TYPES) => "The type of its value.";
    optional "description": Text => "What it is.";
    optional "required": Flag => "Whether a caller must give it.";
    optional "default": Any => "Its value, if the caller gives none.";
    optional "enum": List(&Any) => "The values that are allowed.";
    optional "pattern": Text => "A regular expression that a text must match.";
    optional "maxLength": Whole { least: 0, most: U32_MAX } => "The most characters of a text.";
    optional "minimum": Any => "The smallest number.";
    optional "maximum": Any => "The largest number.";
    optional "secret": Flag => "The value is the name of one of the operation's `secrets`.";
};

static REFUSED: Shape = Refused("remove it: operations run when they are proposed and approved");

/// An action definition without `actionId` and `triggerState`.
pub(super) static ACTION: Table = table! {
    "operationAction" called "the action of an operation";
    required "type": Name(Free) => "Which runner performs it.";
    optional "config": Open => "What the runner needs.";
    optional "retryPolicy": Map(&RETRY) => "When and how often to try again.";
    optional "timeout": Duration { least: 1 } => "How long an attempt may take.";
    optional "deadline": Duration { least: 1 } => "How long all attempts may take, from the trigger.";
    optional "priority": Whole { least: 0, most: 100 } => "Higher first.";
    optional "runner": Name(Free) => "A named external runner.";
    optional "onUnknown": Word(&["retry", "review"]) => "What follows an unknown outcome.";
    optional "limits": List(&Map(&LIMIT)) => "How many at once and how often.";
    optional "description": Text => "What it does.";
    optional "actionId": Refused("remove it: the operation's name is enough");
    optional "triggerState": REFUSED;
    optional "schedule": REFUSED;
    optional "delay": Refused("remove it: a proposal or a step has the `delay`");
    optional "condition": REFUSED;
    optional "enabled": REFUSED;
    optional "keepOnExit": REFUSED;
    optional "cancelOnExit": REFUSED;
    optional "requiresApproval": Refused("move it up, beside `riskLevel`");
    optional "compensate": Refused("move it up, beside `action`");
    optional "tags": Refused("move it up, beside `action`");
};

/// What takes an effect back.
pub(super) static COMPENSATE: Table = table! {
    "compensate" called "a compensation";
    required "operation": OPERATION_NAME => "The operation that takes the effect back.";
    optional "params": Members(Identifier, &Any) => "Its parameters.";
};

/// A step of a workflow.
pub(super) static STEP: Table = table! {
    "step" called "a step";
    required "name": Name(Identifier) => "The step's name.";
    required "operation": OPERATION_NAME => "The operation it runs.";
    optional "params": Members(Identifier, &Any) => "Its parameters.";
    optional "reason": Text => "Why it is there.";
    optional "dependsOn": List(&Name(Identifier)) => "The steps that must succeed before it begins.";
    optional "delay": Duration { least: 0 } => "How long after those it begins.";
    optional "scheduledAt": Text => "When it begins at the earliest.";
    optional "continueOnError": Flag => "Whether steps that depend on it begin also if it fails.";
};

/// A workflow that a principal proposes.
pub(super) static PROPOSAL: Table = table! {
    "proposal" called "a proposal";
    optional "operation": OPERATION_NAME => "The operation to run.";
    optional "params": Members(Identifier, &Any) => "Its parameters.";
    optional "name": Name(Free) => "A name for the workflow.";
    optional "description": Text => "What the workflow is for.";
    required "reason": Text => "Why it is needed.";
    optional "ticket": Name(Free) => "A reference, such as the number of an incident.";
    optional "urgency": Word(&["now", "soon", "later"]) => "How soon an approver should decide.";
    optional "onFailure": Word(&["stop", "compensate"]) => "What a failed step leads to.";
    optional "scheduledAt": Text => "When the operation begins at the earliest.";
    optional "delay": Duration { least: 0 } => "How long from now it begins.";
    optional "steps": List(&Map(&STEP)) => "The steps, instead of one operation.";
    optional "supersedes": Text => "The workflow that this one replaces.";
};
