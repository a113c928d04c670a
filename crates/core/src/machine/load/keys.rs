//! Every key of a machine file, with what it holds.

use crate::document::Names::{Descriptor, Event, Free, Identifier};
use crate::document::Shape::{
    Any, Duration, Either, Flag, List, Map, Members, Name, Nothing, Number, Open, Refused, Rule, Text, Whole, Word,
};
use crate::document::{Key, Names, Shape, Table};

const U32_MAX: u64 = 0xffff_ffff;

static TEXTS: Shape = Either(&[Text, List(&Text)]);
static TAGS: Shape = Either(&[Name(Free), List(&Name(Free))]);
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
        Key::optional("description", &Text, "What the machine is for."),
        Key::optional(
            "version",
            &Any,
            "Ignored: versions are counted when a machine is applied.",
        ),
        Key::optional("$schema", &Text, "Ignored: for editors."),
        Key::optional(
            "variables",
            &VARIABLES,
            "Default variables. The start of an execution overrides them.",
        )
        .or("context"),
        Key::optional(
            "input",
            &Open,
            "The JSON Schema that the variables of a start must meet.",
        ),
        Key::optional(
            "type",
            &Word(&["compound", "parallel"]),
            "`parallel`: all states right below are active at once.",
        ),
        Key::optional("initial", &TEXTS, "The state an execution begins in."),
        Key::optional("states", &STATES, "The states."),
        Key::optional("on", &ON, "Transitions by event, wherever the machine is."),
        Key::optional(
            "always",
            &TRANSITIONS,
            "Transitions taken as soon as their guard holds.",
        ),
        Key::optional("after", &AFTER, "Transitions by the time since the start."),
        Key::optional("entry", &OPERATIONS, "What happens at the start."),
        Key::optional("exit", &OPERATIONS, "What happens at the end."),
        Key::optional("output", &Any, "What a completed execution gives."),
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
            "What the state is made of, where its keys do not say it.",
        ),
        Key::optional(
            "initial",
            &TEXTS,
            "Where entering the state leads; a list leads into parallel regions.",
        ),
        Key::optional("states", &STATES, "The states inside."),
        Key::optional("on", &ON, "Transitions by event."),
        Key::optional(
            "always",
            &TRANSITIONS,
            "Transitions taken as soon as their guard holds.",
        ),
        Key::optional("after", &AFTER, "Transitions by the time since entry."),
        Key::optional("entry", &OPERATIONS, "What happens on entry."),
        Key::optional("exit", &OPERATIONS, "What happens on exit."),
        Key::optional(
            "onDone",
            &TRANSITIONS,
            "Transitions taken when the states inside have reached their end.",
        ),
        Key::optional(
            "history",
            &Either(&[Word(&["shallow", "deep"]), Flag]),
            "How much a history state remembers.",
        ),
        Key::optional(
            "target",
            &TEXTS,
            "Where a history state leads when it remembers nothing.",
        ),
        Key::optional("output", &Any, "What a final state gives."),
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
        Key::optional("target", &TEXTS, "Where it leads; a list leads into parallel regions."),
        Key::optional("guard", &Rule, "A JSONLogic rule that must hold."),
        Key::optional("assign", &VARIABLES, "Variables to set, before `actions`."),
        Key::optional("actions", &OPERATIONS, "What happens on the way."),
        Key::optional(
            "reenter",
            &Flag,
            "Leave and enter the state again, also where the target lies within it.",
        ),
        Key::optional("description", &Text, "What the transition means."),
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
            "Sets variables; all right sides see the values before.",
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
        Key::required("actionId", &Name(Identifier), "What the machine calls it."),
        Key::required("type", &Name(Free), "Which runner performs it."),
        Key::optional("triggerState", &Text, "The state whose entry triggers it."),
        Key::optional("config", &Open, "What the runner needs."),
        Key::optional("retryPolicy", &Map(&RETRY), "When and how often to try again."),
        Key::optional("timeout", &Duration { least: 1 }, "How long an attempt may take."),
        Key::optional(
            "deadline",
            &Duration { least: 1 },
            "How long all attempts may take, from the trigger.",
        ),
        Key::optional("enabled", &Flag, "`false`: every occurrence is recorded as skipped."),
        Key::optional(
            "delay",
            &Duration { least: 0 },
            "How long after the trigger the first attempt starts.",
        ),
        Key::optional(
            "schedule",
            &Either(&[Text, Map(&SCHEDULE)]),
            "Occurrences by the clock, while the state lasts.",
        ),
        Key::optional(
            "condition",
            &Either(&[Rule, Text]),
            "A JSONLogic rule; false at the trigger: skipped.",
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
            "Leaving the state cancels it also when it is due.",
        ),
        Key::optional("requiresApproval", &Flag, "Only `false` can be honoured yet."),
        Key::optional("description", &Text, "What it does."),
        Key::optional("tags", &TAGS, "For filters."),
        Key::optional("createdAt", &Any, "Ignored."),
        Key::optional("updatedAt", &Any, "Ignored."),
        Key::optional(
            "compensate",
            &Refused("remove it: compensation cannot be honoured yet"),
            "",
        ),
    ],
};

/// When and how often to try again.
pub(in crate::machine) static RETRY: Table = Table {
    name: "retryPolicy",
    called: "a retry policy",
    keys: &[
        Key::optional(
            "maxAttempts",
            &Whole {
                least: 1,
                most: U32_MAX,
            },
            "Attempts in all; 1 means no retry.",
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
            "For `custom`; the last one repeats.",
        ),
        Key::optional("jitter", &Flag, "Spread each delay over the upper half of its length."),
        Key::optional("retryableErrors", &List(&Text), "Only these error types are retried."),
        Key::optional("nonRetryableErrors", &List(&Text), "These error types never are."),
    ],
};

/// Occurrences by the clock.
pub(in crate::machine) static SCHEDULE: Table = Table {
    name: "schedule",
    called: "a schedule",
    keys: &[
        Key::required("cron", &Text, "When."),
        Key::optional("timezone", &Text, "An IANA time zone; UTC if none is given."),
        Key::optional(
            "overlap",
            &Word(&["skip", "queue", "allow"]),
            "What happens while the last one is open.",
        ),
        Key::optional(
            "catchUp",
            &Word(&["skip", "one", "all"]),
            "What happens to those that were missed.",
        ),
    ],
};

/// How many at once and how often, under a key.
pub(in crate::machine) static LIMIT: Table = Table {
    name: "limit",
    called: "a limit",
    keys: &[
        Key::optional(
            "key",
            &Text,
            "Shared by all machines that render the same; machine and actionId if not given.",
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
            "How its sender is known.",
        ),
        Key::optional(
            "secret",
            &TEXTS,
            "The secret its signature is checked with; several during a change.",
        ),
        Key::required("key", &Text, "The key of the execution it is for."),
        Key::required("type", &Text, "The message's type."),
        Key::optional(
            "payload",
            &Any,
            "What the message carries; the request's body, if not given.",
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
