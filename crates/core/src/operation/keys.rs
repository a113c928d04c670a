//! Every key of a catalog file, with what it holds.

use super::risk::RISKS;
use crate::document::Names::{Free, Identifier};
use crate::document::Shape::{Any, Duration, Flag, List, Map, Members, Name, Open, Refused, Text, Whole, Word};
use crate::document::{Key, Names, Shape, Table};
use crate::machine::{LIMIT, RETRY, TAGS};

const U32_MAX: u64 = 0xffff_ffff;

static OPERATION_NAME: Shape = Name(Names::Operation);

/// The types of parameters.
pub(super) const TYPES: [&str; 6] = ["string", "integer", "number", "boolean", "array", "object"];

/// A system that operations act on.
pub(super) static SUBJECT: Table = Table {
    name: "subject",
    called: "a subject",
    keys: &[
        Key::required("subject", &OPERATION_NAME, "The subject's name."),
        Key::optional("title", &Text, "Its name for people."),
        Key::optional("description", &Text, "What it is."),
        Key::optional("limits", &Map(&SUBJECT_LIMITS), "Of all operations on it together."),
    ],
};

static SUBJECT_LIMITS: Table = Table {
    name: "subjectLimits",
    called: "the limits of a subject",
    keys: &[
        Key::optional(
            "concurrency",
            &Whole {
                least: 1,
                most: U32_MAX,
            },
            "Attempts at once.",
        ),
        Key::optional("rate", &Map(&SUBJECT_RATE), "Attempts per time."),
    ],
};

/// So many in so much time.
pub(super) static SUBJECT_RATE: Table = Table {
    name: "subjectRate",
    called: "a rate",
    keys: &[
        Key::required(
            "count",
            &Whole {
                least: 1,
                most: U32_MAX,
            },
            "How many attempts.",
        ),
        Key::required("per", &Duration { least: 1 }, "In how much time."),
    ],
};

/// An entry of the catalog.
pub(super) static OPERATION: Table = Table {
    name: "operation",
    called: "an operation",
    keys: &[
        Key::required("operation", &OPERATION_NAME, "The operation's name."),
        Key::optional("title", &Text, "Its name for people."),
        Key::optional("description", &Text, "What it does."),
        Key::optional(
            "kind",
            &Word(&["subject", "tool", "workflow"]),
            "What it acts on: a subject, nothing in particular, or what its steps act on.",
        ),
        Key::optional("subject", &OPERATION_NAME, "The subject it acts on."),
        Key::optional("riskLevel", &Word(&RISKS), "How much can go wrong; `low` if not given."),
        Key::optional(
            "requiresApproval",
            &Flag,
            "Whether it always needs approval, whatever its risk.",
        ),
        Key::optional(
            "parameters",
            &Members(Identifier, &Map(&PARAMETER)),
            "What its caller gives.",
        ),
        Key::optional("secrets", &List(&Name(Free)), "The secrets that a parameter may name."),
        Key::optional("action", &Map(&ACTION), "What it does."),
        Key::optional(
            "compensate",
            &Map(&COMPENSATE),
            "The operation that takes its effect back.",
        ),
        Key::optional("steps", &List(&Map(&STEP)), "The steps of a workflow."),
        Key::optional(
            "onFailure",
            &Word(&["stop", "compensate"]),
            "What a failed step of a workflow leads to.",
        ),
        Key::optional("tags", &TAGS, "For filters."),
    ],
};

/// What a caller gives.
pub(super) static PARAMETER: Table = Table {
    name: "parameter",
    called: "a parameter",
    keys: &[
        Key::required("type", &Word(&TYPES), "The type of its value."),
        Key::optional("description", &Text, "What it is."),
        Key::optional("required", &Flag, "Whether a caller must give it."),
        Key::optional("default", &Any, "Its value, if the caller gives none."),
        Key::optional("enum", &List(&Any), "The values that are allowed."),
        Key::optional("pattern", &Text, "A regular expression that a text must match."),
        Key::optional(
            "maxLength",
            &Whole {
                least: 0,
                most: U32_MAX,
            },
            "The most characters of a text.",
        ),
        Key::optional("minimum", &Any, "The smallest number."),
        Key::optional("maximum", &Any, "The largest number."),
        Key::optional(
            "secret",
            &Flag,
            "The value is the name of one of the operation's `secrets`.",
        ),
    ],
};

static REFUSED: Shape = Refused("remove it: operations run when they are proposed and approved");

/// An action definition without `actionId` and `triggerState`.
pub(super) static ACTION: Table = Table {
    name: "operationAction",
    called: "the action of an operation",
    keys: &[
        Key::required("type", &Name(Free), "Which runner performs it."),
        Key::optional("config", &Open, "What the runner needs."),
        Key::optional("retryPolicy", &Map(&RETRY), "When and how often to try again."),
        Key::optional("timeout", &Duration { least: 1 }, "How long an attempt may take."),
        Key::optional(
            "deadline",
            &Duration { least: 1 },
            "How long all attempts may take, from the trigger.",
        ),
        Key::optional("priority", &Whole { least: 0, most: 100 }, "Higher first."),
        Key::optional("runner", &Name(Free), "A named external runner."),
        Key::optional(
            "onUnknown",
            &Word(&["retry", "review"]),
            "What follows an unknown outcome.",
        ),
        Key::optional("limits", &List(&Map(&LIMIT)), "How many at once and how often."),
        Key::optional("description", &Text, "What it does."),
        Key::optional("actionId", &Refused("remove it: the operation's name is enough"), ""),
        Key::optional("triggerState", &REFUSED, ""),
        Key::optional("schedule", &REFUSED, ""),
        Key::optional("delay", &Refused("remove it: a proposal or a step has the `delay`"), ""),
        Key::optional("condition", &REFUSED, ""),
        Key::optional("enabled", &REFUSED, ""),
        Key::optional("keepOnExit", &REFUSED, ""),
        Key::optional("cancelOnExit", &REFUSED, ""),
        Key::optional("requiresApproval", &Refused("move it up, beside `riskLevel`"), ""),
        Key::optional("compensate", &Refused("move it up, beside `action`"), ""),
        Key::optional("tags", &Refused("move it up, beside `action`"), ""),
    ],
};

/// What takes an effect back.
pub(super) static COMPENSATE: Table = Table {
    name: "compensate",
    called: "a compensation",
    keys: &[
        Key::required(
            "operation",
            &OPERATION_NAME,
            "The operation that takes the effect back.",
        ),
        Key::optional("params", &Members(Identifier, &Any), "Its parameters."),
    ],
};

/// A step of a workflow.
pub(super) static STEP: Table = Table {
    name: "step",
    called: "a step",
    keys: &[
        Key::required("name", &Name(Identifier), "The step's name."),
        Key::required("operation", &OPERATION_NAME, "The operation it runs."),
        Key::optional("params", &Members(Identifier, &Any), "Its parameters."),
        Key::optional("reason", &Text, "Why it is there."),
        Key::optional(
            "dependsOn",
            &List(&Name(Identifier)),
            "The steps that must succeed before it begins.",
        ),
        Key::optional("delay", &Duration { least: 0 }, "How long after those it begins."),
        Key::optional("scheduledAt", &Text, "When it begins at the earliest."),
        Key::optional(
            "continueOnError",
            &Flag,
            "Whether steps that depend on it begin also if it fails.",
        ),
    ],
};

/// A workflow that a principal proposes.
pub(super) static PROPOSAL: Table = Table {
    name: "proposal",
    called: "a proposal",
    keys: &[
        Key::optional("operation", &OPERATION_NAME, "The operation to run."),
        Key::optional("params", &Members(Identifier, &Any), "Its parameters."),
        Key::optional("name", &Name(Free), "A name for the workflow."),
        Key::optional("description", &Text, "What the workflow is for."),
        Key::required("reason", &Text, "Why it is needed."),
        Key::optional("ticket", &Name(Free), "A reference, such as the number of an incident."),
        Key::optional(
            "urgency",
            &Word(&["now", "soon", "later"]),
            "How soon an approver should decide.",
        ),
        Key::optional(
            "onFailure",
            &Word(&["stop", "compensate"]),
            "What a failed step leads to.",
        ),
        Key::optional("scheduledAt", &Text, "When the operation begins at the earliest."),
        Key::optional("delay", &Duration { least: 0 }, "How long from now it begins."),
        Key::optional("steps", &List(&Map(&STEP)), "The steps, instead of one operation."),
        Key::optional("supersedes", &Text, "The workflow that this one replaces."),
    ],
};
