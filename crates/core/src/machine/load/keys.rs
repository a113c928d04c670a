//! Every key of a machine file, with what it holds.

use crate::document::Names::{Descriptor, Event, Free, Identifier};
use crate::document::Shape::{
    Any, Duration, Either, Flag, List, Map, Members, Name, Nothing, Number, Open, Refused, Rule, Text, Whole, Word,
};
use crate::document::{Key, Names, Shape, Table};
use crate::operation::RISKS;

const U32_MAX: u64 = 0xffff_ffff;

static TEXTS: Shape = Either(&[Text, List(&Text)]);
pub(crate) static TAGS: Shape = Either(&[Name(Free), List(&Name(Free))]);
static VARIABLES: Shape = Members(Identifier, &Any);
static TRANSITIONS: Shape = Either(&[Text, Map(&TRANSITION), List(&Either(&[Text, Map(&TRANSITION)]))]);
static OPERATIONS: Shape = Either(&[Text, Map(&OPERATION), List(&Either(&[Text, Map(&OPERATION)]))]);
static STATES: Shape = Members(Names::State, &Either(&[Map(&STATE), Nothing]));
static ON: Shape = Members(Descriptor, &TRANSITIONS);
static AFTER: Shape = Members(Names::Duration, &TRANSITIONS);

/// The machine itself: a state, and more.
pub(in crate::machine) static MACHINE: Table = Table {
    name: "machine",
    called: "a machine",
    keys: &[
        Key::required("id", &Name(Names::Machine), "The machine's name."),
        Key::optional("description", &Text, "A description for people."),
        Key::optional("version", &Any, "Ignored: the server counts versions."),
        Key::optional("$schema", &Text, "Ignored: for editors."),
        Key::optional(
            "variables",
            &VARIABLES,
            "Default variables. The start of an execution overrides them.",
        )
        .or("context"),
        Key::optional("input", &Open, "A JSON Schema for the variables of a start."),
        Key::optional(
            "type",
            &Word(&["compound", "parallel"]),
            "`parallel`: all states right below are active at once.",
        ),
        Key::optional("initial", &TEXTS, "The state to enter first."),
        Key::optional("states", &STATES, "The states."),
        Key::optional("on", &ON, "Transitions by event, in every state."),
        Key::optional("always", &TRANSITIONS, "Transitions without an event."),
        Key::optional("after", &AFTER, "Transitions by the time since the start."),
        Key::optional("entry", &OPERATIONS, "Operations at the start."),
        Key::optional("exit", &OPERATIONS, "Operations at the end."),
        Key::optional("output", &Any, "The output of a completed execution."),
        Key::optional("tags", &TAGS, "For people and filters."),
        Key::optional("meta", &Any, "For tools."),
        Key::optional("actions", &List(&Map(&ACTION)), "What the machine does to the world."),
        Key::optional(
            "hooks",
            &Members(Free, &Map(&HOOK)),
            "Inbound webhooks that become messages.",
        ),
        Key::optional("templates", &Members(Free, &Map(&MAIL)), "Mail templates by name."),
        Key::optional(
            "onDone",
            &Refused("give a final state below the root an `output`, or use its `entry`"),
            "",
        ),
        Key::optional("invoke", &INVOKE, ""),
    ],
};

static INVOKE: Shape =
    Refused("define an action with `triggerState`, and handle `done.<actionId>` and `failed.<actionId>`");

/// A state.
pub(in crate::machine) static STATE: Table = Table {
    name: "state",
    called: "a state",
    keys: &[
        Key::optional("id", &Name(Free), "A name for `#id` targets and `done.state.<id>`."),
        Key::optional(
            "type",
            &Word(&["atomic", "compound", "parallel", "final", "history"]),
            "The kind of the state, if its keys do not determine it.",
        ),
        Key::optional(
            "initial",
            &TEXTS,
            "The child state to enter first; a list enters parallel regions.",
        ),
        Key::optional("states", &STATES, "The states inside."),
        Key::optional("on", &ON, "Transitions by event."),
        Key::optional("always", &TRANSITIONS, "Transitions without an event."),
        Key::optional("after", &AFTER, "Transitions by the time since entry."),
        Key::optional("entry", &OPERATIONS, "Operations on entry."),
        Key::optional("exit", &OPERATIONS, "What happens on exit."),
        Key::optional("onDone", &TRANSITIONS, "Transitions for when the child states finish."),
        Key::optional(
            "history",
            &Either(&[Word(&["shallow", "deep"]), Flag]),
            "`shallow` or `deep`: what a history state restores.",
        ),
        Key::optional("target", &TEXTS, "The state to enter if there is no history yet."),
        Key::optional("output", &Any, "The output of a final state."),
        Key::optional("description", &Text, "What the state means."),
        Key::optional("tags", &TAGS, "For people and filters."),
        Key::optional("meta", &Any, "For tools."),
        Key::optional("invoke", &INVOKE, ""),
    ],
};

/// A transition.
pub(in crate::machine) static TRANSITION: Table = Table {
    name: "transition",
    called: "a transition",
    keys: &[
        Key::optional("target", &TEXTS, "The target state; a list enters parallel regions."),
        Key::optional("guard", &Rule, "A JSONLogic rule that must be true."),
        Key::optional("assign", &VARIABLES, "Variables to set, before `actions`."),
        Key::optional("actions", &OPERATIONS, "Operations of the transition."),
        Key::optional(
            "reenter",
            &Flag,
            "Leave and re-enter the state, even if the target is inside it.",
        ),
        Key::optional("description", &Text, "A description for people."),
        Key::optional("meta", &Any, "Ignored: for tools."),
    ],
};

/// An inline operation: exactly one of these keys.
pub(in crate::machine) static OPERATION: Table = Table {
    name: "operation",
    called: "an operation",
    keys: &[
        Key::optional(
            "assign",
            &VARIABLES,
            "Sets variables. All expressions use the values from before the operation.",
        ),
        Key::optional(
            "raise",
            &Either(&[Name(Event), Map(&RAISE)]),
            "Raises an event inside the machine.",
        ),
        Key::optional("log", &Any, "Writes a line to the log."),
        Key::optional("run", &Text, "Triggers the action of this actionId."),
        Key::optional("cancel", &Text, "Cancels the open actions of this actionId."),
        Key::optional("type", &Text, "The same as `run`."),
    ],
};

/// An event to raise.
pub(in crate::machine) static RAISE: Table = Table {
    name: "raise",
    called: "an event to raise",
    keys: &[
        Key::required("type", &Name(Event), "The event's type."),
        Key::optional("payload", &Any, "What it carries."),
    ],
};

/// An action definition.
pub(in crate::machine) static ACTION: Table = Table {
    name: "action",
    called: "an action",
    keys: &[
        Key::required("actionId", &Name(Identifier), "The name in the machine."),
        Key::required("type", &Name(Free), "The action type."),
        Key::optional("triggerState", &Text, "Entering this state triggers the action."),
        Key::optional("config", &Open, "The input of the action type."),
        Key::optional("retryPolicy", &Map(&RETRY), "When and how often Sprag retries."),
        Key::optional("timeout", &Duration { least: 1 }, "How long an attempt may take."),
        Key::optional(
            "deadline",
            &Duration { least: 1 },
            "The time limit of all attempts together, from the trigger.",
        ),
        Key::optional(
            "enabled",
            &Flag,
            "With `false`, Sprag records every occurrence as skipped.",
        ),
        Key::optional(
            "delay",
            &Duration { least: 0 },
            "The wait between the trigger and the first attempt.",
        ),
        Key::optional(
            "schedule",
            &Either(&[Text, Map(&SCHEDULE)]),
            "Runs the action on a schedule while the state is active.",
        ),
        Key::optional(
            "condition",
            &Either(&[Rule, Text]),
            "A JSONLogic rule. If it is false at the trigger, the action is skipped.",
        ),
        Key::optional("priority", &Whole { least: 0, most: 100 }, "Higher first."),
        Key::optional("runner", &Name(Free), "A named external runner."),
        Key::optional(
            "onUnknown",
            &Word(&["retry", "review"]),
            "What follows an unknown outcome.",
        ),
        Key::optional("limits", &List(&Map(&LIMIT)), "How many at once and how often."),
        Key::optional("keepOnExit", &Flag, "Leaving the state cancels nothing."),
        Key::optional(
            "cancelOnExit",
            &Flag,
            "Leaving the state also cancels an action that is due or running.",
        ),
        Key::optional(
            "requiresApproval",
            &Flag,
            "Each occurrence waits until a principal approves it.",
        ),
        Key::optional(
            "riskLevel",
            &Word(&RISKS),
            "How much can go wrong. The policy of approvals decides whether it needs approval.",
        ),
        Key::optional("description", &Text, "What it does."),
        Key::optional("tags", &TAGS, "For filters."),
        Key::optional("createdAt", &Any, "Ignored."),
        Key::optional("updatedAt", &Any, "Ignored."),
        Key::optional(
            "compensate",
            &Name(Identifier),
            "The actionId of the action that takes its effect back.",
        ),
    ],
};

/// When and how often to try again.
pub(crate) static RETRY: Table = Table {
    name: "retryPolicy",
    called: "a retry policy",
    keys: &[
        Key::optional(
            "maxAttempts",
            &Whole {
                least: 1,
                most: U32_MAX,
            },
            "The total number of attempts; 1 means no retry.",
        ),
        Key::optional(
            "backoffStrategy",
            &Word(&["fixed", "linear", "exponential", "custom"]),
            "How delays grow.",
        ),
        Key::optional("baseDelay", &Duration { least: 0 }, "The first delay.").or("backoffDelay"),
        Key::optional("multiplier", &Number { least: 1 }, "For exponential growth."),
        Key::optional("maxDelay", &Duration { least: 0 }, "No delay is longer."),
        Key::optional(
            "delays",
            &List(&Duration { least: 0 }),
            "For `custom`; the last delay repeats.",
        ),
        Key::optional("jitter", &Flag, "Multiplies each delay by 0.5 to 1.0."),
        Key::optional("retryableErrors", &List(&Text), "Sprag retries only these error types."),
        Key::optional(
            "nonRetryableErrors",
            &List(&Text),
            "Sprag never retries these error types.",
        ),
    ],
};

/// Occurrences by the clock.
pub(in crate::machine) static SCHEDULE: Table = Table {
    name: "schedule",
    called: "a schedule",
    keys: &[
        Key::required("cron", &Text, "When."),
        Key::optional("timezone", &Text, "An IANA time zone. Default: UTC."),
        Key::optional(
            "overlap",
            &Word(&["skip", "queue", "allow"]),
            "If the previous occurrence is still open: skip, queue or allow.",
        ),
        Key::optional(
            "catchUp",
            &Word(&["skip", "one", "all"]),
            "For missed occurrences: skip all, run one, or run all.",
        ),
    ],
};

/// How many at once and how often, under a key.
pub(crate) static LIMIT: Table = Table {
    name: "limit",
    called: "a limit",
    keys: &[
        Key::optional(
            "key",
            &Text,
            "All actions with the same rendered key share the limit. Default: machine and actionId.",
        ),
        Key::optional(
            "concurrency",
            &Whole {
                least: 1,
                most: U32_MAX,
            },
            "Attempts at once.",
        ),
        Key::optional("rate", &Map(&RATE), "Attempts per time."),
    ],
};

/// So many in so much time.
pub(in crate::machine) static RATE: Table = Table {
    name: "rate",
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

/// An inbound webhook.
pub(in crate::machine) static HOOK: Table = Table {
    name: "hook",
    called: "a hook",
    keys: &[
        Key::required(
            "verify",
            &Word(&["standard-webhooks", "docusign-hmac", "none"]),
            "How Sprag verifies the sender.",
        ),
        Key::optional("secret", &TEXTS, "The signing secret; a list during a rotation."),
        Key::required("key", &Text, "The key of the receiving execution."),
        Key::required("type", &Text, "The message's type."),
        Key::optional(
            "payload",
            &Any,
            "The payload of the message. Default: the body of the call.",
        ),
    ],
};

/// A mail template.
pub(in crate::machine) static MAIL: Table = Table {
    name: "template",
    called: "a mail template",
    keys: &[
        Key::optional("subject", &Text, "The subject; one line."),
        Key::optional("text", &Text, "The plain text."),
        Key::optional("html", &Text, "The HTML; values are escaped."),
    ],
};
