//! Every key of a test file, with what it holds.

use crate::document::Names::{Event, Free, Identifier};
use crate::document::Shape::{Any, Duration, Either, Flag, List, Map, Members, Name, Open, Text, Whole, Word};
use crate::document::{Key, Shape, Table};

/// How often one entry of a mock may answer.
const REPEAT_MAX: u64 = 1_000_000;
/// More attempts than any test makes.
const ATTEMPTS_MAX: u64 = 0xffff_ffff;

/// Of a machine that has not ended.
pub(super) const RUNNING: &str = "running";
/// Of a machine that has reached a final state of its own.
pub(super) const COMPLETED: &str = "completed";

static TEXTS: Shape = Either(&[Text, List(&Text)]);
static MOCKS: Shape = Members(Identifier, &Either(&[Map(&END), List(&Map(&END))]));
static STEPS: Shape = List(&Map(&STEP));
static VALUES: Shape = Members(Identifier, &Any);
static HEADERS: Shape = Members(Free, &Text);

/// The whole file.
pub(super) static FILE: Table = Table {
    name: "testFile",
    called: "a test file",
    keys: &[
        Key::optional("machine", &Name(Free), "The machine file, relative to this one."),
        Key::optional(
            "actionId",
            &Name(Identifier),
            "The action of that machine that tests without steps are about.",
        ),
        Key::optional("action", &Open, "An action definition, instead of a machine."),
        Key::optional("templates", &Open, "Mail templates by name, for an `action`."),
        Key::optional(
            "configuration",
            &Name(Free),
            "A `sprag.toml`, relative to this file: services, providers, what may be reached.",
        ),
        Key::optional("description", &Text, "What the tests are about."),
        Key::required("tests", &List(&Map(&TEST)), "The tests.").or("scenarios"),
    ],
};

static TEST: Table = Table {
    name: "test",
    called: "a test",
    keys: &[
        Key::required("name", &Name(Free), "What it shows, as a sentence."),
        Key::optional(
            "variables",
            &VALUES,
            "The variables of the start, or at the trigger of the action.",
        ),
        Key::optional("key", &Text, "The business key."),
        Key::optional("now", &Text, "When it starts, as RFC 3339."),
        Key::optional("given", &Map(&GIVEN), "What the machine begins with."),
        Key::optional("mocks", &MOCKS, "How actions end, as soon as they are due."),
        Key::optional("steps", &STEPS, "What happens to the machine, in order.").or("when"),
        Key::optional(
            "then",
            &Map(&EXPECTED_MACHINE),
            "What is expected of the machine in the end; `actions` are those of all steps.",
        ),
        Key::optional("actionId", &Name(Identifier), "Which action of the machine is tested."),
        Key::optional("event", &Map(&EVENT), "The event that leads to the trigger."),
        Key::optional("results", &VALUES, "How other actions ended before, by actionId."),
        Key::optional("secrets", &Members(Identifier, &Text), "The secrets there are."),
        Key::optional(
            "mock",
            &Either(&[Map(&MOCK), List(&Map(&MOCK))]),
            "What comes back to the action, in order; the last one repeats.",
        ),
        Key::optional(
            "expect",
            &Map(&EXPECT),
            "What is expected of the action; success, if nothing is.",
        ),
    ],
};

static GIVEN: Table = Table {
    name: "given",
    called: "`given`",
    keys: &[
        Key::optional("variables", &VALUES, "The variables of the start."),
        Key::optional("key", &Text, "The business key."),
        Key::optional("now", &Text, "When it starts, as RFC 3339."),
        Key::optional("mocks", &MOCKS, "How actions end, as soon as they are due."),
    ],
};

static END: Table = Table {
    name: "end",
    called: "the end of an action",
    keys: &[
        Key::optional(
            "success",
            &Flag,
            "Whether the action succeeds; it does unless this says otherwise.",
        ),
        Key::optional("result", &Any, "What comes back, or the error as `{type, message}`."),
    ],
};

static STEP: Table = Table {
    name: "step",
    called: "a step",
    keys: &[
        Key::optional("send", &Name(Event), "The type of a message."),
        Key::optional("payload", &Any, "What the message carries."),
        Key::optional("advance", &Duration { least: 0 }, "How far the clock moves."),
        Key::optional("outcome", &Text, "The actionId of an action that ends."),
        Key::optional("success", &Flag, "Whether that action succeeded."),
        Key::optional("result", &Any, "What came back, or the error as `{type, message}`."),
        Key::optional("expect", &Map(&EXPECTED_MACHINE), "What is expected after this step."),
    ],
};

static EXPECTED_MACHINE: Table = Table {
    name: "machineExpectation",
    called: "an expectation",
    keys: &[
        Key::optional(
            "configuration",
            &TEXTS,
            "The active atomic and final states as dotted paths.",
        ),
        Key::optional("variables", &VALUES, "Some of the variables."),
        Key::optional("actions", &TEXTS, "The actions triggered, in order."),
        Key::optional("handled", &Flag, "Whether a transition answered."),
        Key::optional(
            "status",
            &Word(&[RUNNING, COMPLETED]),
            "Whether a final state of the machine was reached.",
        ),
        Key::optional("output", &Any, "What the completed machine gave."),
        Key::optional("error", &Text, "Why the input was refused."),
    ],
};

static EVENT: Table = Table {
    name: "triggerEvent",
    called: "an event",
    keys: &[
        Key::required("type", &Name(Event), "The event's type."),
        Key::optional("payload", &Any, "What it carries."),
        Key::optional("result", &Any, "What an action gave, for `done.<actionId>`."),
        Key::optional("error", &Map(&ERROR), "Why an action failed, for `failed.<actionId>`."),
    ],
};

static MOCK: Table = Table {
    name: "scriptedReply",
    called: "a mock entry",
    keys: &[
        Key::optional(
            "status",
            &Whole { least: 100, most: 599 },
            "The status of the reply; 200.",
        ),
        Key::optional("headers", &HEADERS, "Its headers."),
        Key::optional("body", &Any, "Its body: a text as it is, anything else as JSON."),
        Key::optional("delay", &Duration { least: 0 }, "How long it takes."),
        Key::optional(
            "cut",
            &Word(&["connect", "request", "reply"]),
            "Where the connection fails: before it opens, before a reply, or inside the reply.",
        ),
        Key::optional("to", &Name(Free), "Only for requests whose URL begins so."),
        Key::optional(
            "repeat",
            &Whole {
                least: 1,
                most: REPEAT_MAX,
            },
            "How often it answers; once.",
        ),
        Key::optional(
            "result",
            &Any,
            "The attempt succeeds with this result, whatever its type.",
        ),
        Key::optional(
            "error",
            &Map(&ERROR),
            "The attempt fails with this error, whatever its type.",
        ),
        Key::optional(
            "outcome",
            &Word(&["notDone", "unknown"]),
            "Whether the effect of a failed attempt is known not to have happened; `notDone`.",
        ),
    ],
};

static ERROR: Table = Table {
    name: "scriptedError",
    called: "an error",
    keys: &[
        Key::required("type", &Name(Free), "The error type."),
        Key::optional("message", &Text, "What happened."),
        Key::optional("code", &Text, "The error code of the service."),
        Key::optional("details", &Any, "What helps a person."),
        Key::optional(
            "retryAfter",
            &Duration { least: 0 },
            "The wait that the service asks for.",
        ),
    ],
};

static EXPECT: Table = Table {
    name: "actionExpectation",
    called: "an expectation",
    keys: &[
        Key::optional(
            "status",
            &Word(&["succeeded", "dead", "skipped"]),
            "Where the action ends.",
        ),
        Key::optional(
            "attempts",
            &Whole {
                least: 0,
                most: ATTEMPTS_MAX,
            },
            "How many attempts were made.",
        ),
        Key::optional(
            "delays",
            &List(&Either(&[Duration { least: 0 }, Map(&RANGE)])),
            "How long was waited after each attempt but the last.",
        ),
        Key::optional("result", &Any, "Some of the result."),
        Key::optional(
            "event",
            &Map(&EXPECTED_EVENT),
            "Some of the event that the machine hears.",
        ),
        Key::optional("error", &Map(&EXPECTED_ERROR), "Some of the last error."),
        Key::optional(
            "sent",
            &Either(&[Map(&SENT), List(&Map(&SENT))]),
            "Some of one request; as a list, some of each in order.",
        ),
    ],
};

static RANGE: Table = Table {
    name: "delayRange",
    called: "a range of delays",
    keys: &[
        Key::required("from", &Duration { least: 0 }, "Not shorter."),
        Key::required("to", &Duration { least: 0 }, "Not longer."),
    ],
};

static EXPECTED_EVENT: Table = Table {
    name: "expectedEvent",
    called: "an expected event",
    keys: &[
        Key::optional("type", &Text, "Its type."),
        Key::optional("payload", &Any, "Some of what it carries."),
    ],
};

static EXPECTED_ERROR: Table = Table {
    name: "expectedError",
    called: "an expected error",
    keys: &[
        Key::optional("type", &Text, "The error type."),
        Key::optional("message", &Text, "The whole message."),
        Key::optional("retryable", &Flag, "Whether another attempt followed from it."),
        Key::optional("code", &Text, "The error code of the service."),
        Key::optional("details", &Any, "Some of the details."),
    ],
};

static SENT: Table = Table {
    name: "sentRequest",
    called: "a request",
    keys: &[
        Key::optional("method", &Text, "Its method."),
        Key::optional("url", &Text, "Its whole URL."),
        Key::optional("headers", &HEADERS, "Some of its headers; letter case does not matter."),
        Key::optional("body", &Any, "Some of its body."),
    ],
};
