//! Every key of a rehearsal file, with what it holds.

use crate::document::Names::{Event, Free, Identifier};
use crate::document::Shape::{Any, Duration, Either, Flag, List, Map, Members, Name, Open, Text, Whole, Word};
use crate::document::{Key, Shape, Table};

/// How often one entry of a mock may answer.
const REPEAT_MAX: u64 = 1_000_000;
/// More attempts than any rehearsal makes.
const ATTEMPTS_MAX: u64 = 0xffff_ffff;

static VALUES: Shape = Members(Identifier, &Any);
static HEADERS: Shape = Members(Free, &Text);

/// The whole file.
pub(super) static FILE: Table = Table {
    name: "rehearsalFile",
    called: "a file of action tests",
    keys: &[
        Key::optional("action", &Open, "The action definition."),
        Key::optional(
            "machine",
            &Name(Free),
            "The machine file that holds the action, relative to this one.",
        ),
        Key::optional("actionId", &Name(Identifier), "Which action of that machine."),
        Key::optional("templates", &Open, "Mail templates by name, for an `action`."),
        Key::optional(
            "configuration",
            &Name(Free),
            "A `sprag.toml`, relative to this file: services, providers, what may be reached.",
        ),
        Key::optional("description", &Text, "What the tests are about."),
        Key::required("tests", &List(&Map(&TEST)), "The tests."),
    ],
};

static TEST: Table = Table {
    name: "actionTest",
    called: "a test",
    keys: &[
        Key::required("name", &Name(Free), "What it shows, as a sentence."),
        Key::optional("variables", &VALUES, "The variables at the trigger."),
        Key::optional("key", &Text, "The business key."),
        Key::optional("now", &Text, "When the action is triggered, as RFC 3339."),
        Key::optional("event", &Map(&EVENT), "The event that leads to the trigger."),
        Key::optional("results", &VALUES, "How other actions ended before, by actionId."),
        Key::optional("secrets", &Members(Identifier, &Text), "The secrets there are."),
        Key::optional(
            "mock",
            &Either(&[Map(&MOCK), List(&Map(&MOCK))]),
            "What comes back, in order; the last one repeats.",
        ),
        Key::optional("expect", &Map(&EXPECT), "What is expected; success, if nothing is."),
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

pub(super) static MOCK: Table = Table {
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
            "Where the connection fails: before it stands, before a reply, or inside it.",
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
        Key::optional("code", &Text, "The other side's own code."),
        Key::optional("details", &Any, "What helps a person."),
        Key::optional(
            "retryAfter",
            &Duration { least: 0 },
            "How long the other side asks to be left alone.",
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
        Key::optional("code", &Text, "The other side's own code."),
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
