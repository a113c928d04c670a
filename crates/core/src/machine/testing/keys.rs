//! Every key of a test file, with what it holds.

use crate::document::Names::{Event, Free, Identifier};
use crate::document::Shape::{Any, Duration, Either, Flag, List, Map, Members, Name, Open, Text, Whole, Word};
use crate::document::{Shape, Table};
use crate::table;

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
pub(super) static FILE: Table = table! {
    "testFile" called "a test file";
    optional "machine": Name(Free) => "The machine file, relative to this one.";
    optional "actionId": Name(Identifier) => "The action of that machine that tests without steps are about.";
    optional "action": Open => "An action definition, instead of a machine.";
    optional "templates": Open => "Mail templates by name, for an `action`.";
    optional "configuration": Name(Free)
        => "A `sprag.toml`, relative to this file: services, providers, what may be reached.";
    optional "description": Text => "What the tests are about.";
    required "tests" or "scenarios": List(&Map(&TEST)) => "The tests.";
};

static TEST: Table = table! {
    "test" called "a test";
    required "name": Name(Free) => "What it shows, as a sentence.";
    optional "variables": VALUES => "The variables of the start, or at the trigger of the action.";
    optional "key": Text => "The business key.";
    optional "now": Text => "When it starts, as RFC 3339.";
    optional "given": Map(&GIVEN) => "What the machine begins with.";
    optional "mocks": MOCKS => "How actions end, as soon as they are due.";
    optional "steps" or "when": STEPS => "What happens to the machine, in order.";
    optional "then": Map(&EXPECTED_MACHINE)
        => "What is expected of the machine in the end; `actions` are those of all steps.";
    optional "actionId": Name(Identifier) => "Which action of the machine is tested.";
    optional "event": Map(&EVENT) => "The event that leads to the trigger.";
    optional "results": VALUES => "How other actions ended before, by actionId.";
    optional "secrets": Members(Identifier, &Text) => "The secrets there are.";
    optional "mock": Either(&[Map(&MOCK), List(&Map(&MOCK))])
        => "What comes back to the action, in order; the last one repeats.";
    optional "expect": Map(&EXPECT) => "What is expected of the action; success, if nothing is.";
};

static GIVEN: Table = table! {
    "given" called "`given`";
    optional "variables": VALUES => "The variables of the start.";
    optional "key": Text => "The business key.";
    optional "now": Text => "When it starts, as RFC 3339.";
    optional "mocks": MOCKS => "How actions end, as soon as they are due.";
};

static END: Table = table! {
    "end" called "the end of an action";
    optional "success": Flag => "Whether the action succeeds; it does unless this says otherwise.";
    optional "result": Any => "What comes back, or the error as `{type, message}`.";
};

static STEP: Table = table! {
    "step" called "a step";
    optional "send": Name(Event) => "The type of a message.";
    optional "payload": Any => "What the message carries.";
    optional "advance": Duration { least: 0 } => "How far the clock moves.";
    optional "outcome": Text => "The actionId of an action that ends.";
    optional "success": Flag => "Whether that action succeeded.";
    optional "result": Any => "What came back, or the error as `{type, message}`.";
    optional "expect": Map(&EXPECTED_MACHINE) => "What is expected after this step.";
};

static EXPECTED_MACHINE: Table = table! {
    "machineExpectation" called "an expectation";
    optional "configuration": TEXTS => "The active atomic and final states as dotted paths.";
    optional "variables": VALUES => "Some of the variables.";
    optional "actions": TEXTS => "The actions triggered, in order.";
    optional "handled": Flag => "Whether a transition answered.";
    optional "status": Word(&[RUNNING, COMPLETED]) => "Whether a final state of the machine was reached.";
    optional "output": Any => "What the completed machine gave.";
    optional "error": Text => "Why the input was refused.";
};

static EVENT: Table = table! {
    "triggerEvent" called "an event";
    required "type": Name(Event) => "The event's type.";
    optional "payload": Any => "What it carries.";
    optional "result": Any => "What an action gave, for `done.<actionId>`.";
    optional "error": Map(&ERROR) => "Why an action failed, for `failed.<actionId>`.";
};

/// An entry of a mock.
pub static MOCK: Table = table! {
    "scriptedReply" called "a mock entry";
    optional "status": Whole { least: 100, most: 599 } => "The status of the reply; 200.";
    optional "headers": HEADERS => "Its headers.";
    optional "body": Any => "Its body: a text as it is, anything else as JSON.";
    optional "delay": Duration { least: 0 } => "How long it takes.";
    optional "cut": Word(&["connect", "request", "reply"])
        => "Where the connection fails: before it opens, before a reply, or inside the reply.";
    optional "to": Name(Free) => "Only for requests whose URL begins so.";
    optional "repeat": Whole { least: 1, most: REPEAT_MAX } => "How often it answers; once.";
    optional "result": Any => "The attempt succeeds with this result, whatever its type.";
    optional "error": Map(&ERROR) => "The attempt fails with this error, whatever its type.";
    optional "outcome": Word(&["notDone", "unknown"])
        => "Whether the effect of a failed attempt is known not to have happened; `notDone`.";
};

static ERROR: Table = table! {
    "scriptedError" called "an error";
    required "type": Name(Free) => "The error type.";
    optional "message": Text => "What happened.";
    optional "code": Text => "The error code of the service.";
    optional "details": Any => "What helps a person.";
    optional "retryAfter": Duration { least: 0 } => "The wait that the service asks for.";
};

static EXPECT: Table = table! {
    "actionExpectation" called "an expectation";
    optional "status": Word(&["succeeded", "dead", "skipped"]) => "Where the action ends.";
    optional "attempts": Whole { least: 0, most: ATTEMPTS_MAX } => "How many attempts were made.";
    optional "delays": List(&Either(&[Duration { least: 0 }, Map(&RANGE)]))
        => "How long was waited after each attempt but the last.";
    optional "result": Any => "Some of the result.";
    optional "event": Map(&EXPECTED_EVENT) => "Some of the event that the machine hears.";
    optional "error": Map(&EXPECTED_ERROR) => "Some of the last error.";
    optional "sent": Either(&[Map(&SENT), List(&Map(&SENT))])
        => "Some of one request; as a list, some of each in order.";
};

static RANGE: Table = table! {
    "delayRange" called "a range of delays";
    required "from": Duration { least: 0 } => "Not shorter.";
    required "to": Duration { least: 0 } => "Not longer.";
};

static EXPECTED_EVENT: Table = table! {
    "expectedEvent" called "an expected event";
    optional "type": Text => "Its type.";
    optional "payload": Any => "Some of what it carries.";
};

static EXPECTED_ERROR: Table = table! {
    "expectedError" called "an expected error";
    optional "type": Text => "The error type.";
    optional "message": Text => "The whole message.";
    optional "retryable": Flag => "Whether another attempt followed from it.";
    optional "code": Text => "The error code of the service.";
    optional "details": Any => "Some of the details.";
};

static SENT: Table = table! {
    "sentRequest" called "a request";
    optional "method": Text => "Its method.";
    optional "url": Text => "Its whole URL.";
    optional "headers": HEADERS => "Some of its headers; letter case does not matter.";
    optional "body": Any => "Some of its body.";
};
