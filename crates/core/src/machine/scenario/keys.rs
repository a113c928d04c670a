//! Every key of a scenario file, with what it holds.

use crate::document::Names::{Event, Free, Identifier};
use crate::document::Shape::{Any, Duration, Either, Flag, List, Map, Members, Name, Text, Word};
use crate::document::{Key, Shape, Table};

/// Of a scenario that has not ended.
pub(super) const RUNNING: &str = "running";
/// Of a scenario that has reached a final state of the machine.
pub(super) const COMPLETED: &str = "completed";

static TEXTS: Shape = Either(&[Text, List(&Text)]);
static VARIABLES: Shape = Members(Identifier, &Any);
static MOCKS: Shape = Members(Identifier, &Either(&[Map(&MOCK), List(&Map(&MOCK))]));
static STEPS: Shape = List(&Map(&STEP));

/// The whole file.
pub(super) static FILE: Table = Table {
    name: "scenarioFile",
    called: "a scenario file",
    keys: &[
        Key::required("machine", &Name(Free), "The machine file, relative to this one."),
        Key::optional("description", &Text, "What the scenarios are about."),
        Key::required("scenarios", &List(&Map(&SCENARIO)), "The scenarios."),
    ],
};

static SCENARIO: Table = Table {
    name: "scenario",
    called: "a scenario",
    keys: &[
        Key::required("name", &Name(Free), "What it shows, as a sentence."),
        Key::optional("given", &Map(&GIVEN), "What it begins with."),
        Key::optional("variables", &VARIABLES, "The variables of the start."),
        Key::optional("key", &Text, "The business key."),
        Key::optional("now", &Text, "When it starts, as RFC 3339."),
        Key::optional("mocks", &MOCKS, "How actions end, as soon as they are due."),
        Key::optional("steps", &STEPS, "What happens, in order.").or("when"),
        Key::optional(
            "then",
            &Map(&EXPECT),
            "What is expected in the end; `actions` are those of all steps.",
        ),
    ],
};

static GIVEN: Table = Table {
    name: "given",
    called: "`given`",
    keys: &[
        Key::optional("variables", &VARIABLES, "The variables of the start."),
        Key::optional("key", &Text, "The business key."),
        Key::optional("now", &Text, "When it starts, as RFC 3339."),
        Key::optional("mocks", &MOCKS, "How actions end, as soon as they are due."),
    ],
};

static MOCK: Table = Table {
    name: "mock",
    called: "a mock",
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
        Key::optional("expect", &Map(&EXPECT), "What is expected after this step."),
    ],
};

static EXPECT: Table = Table {
    name: "expect",
    called: "an expectation",
    keys: &[
        Key::optional(
            "configuration",
            &TEXTS,
            "The active atomic and final states as dotted paths.",
        ),
        Key::optional("variables", &VARIABLES, "Some of the variables."),
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
