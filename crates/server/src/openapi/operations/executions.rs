//! Executions, and messages to them.

use sprag_core::ids::ExecutionId;
use sprag_engine::command::{self, Start};
use sprag_wire as wire;

use super::{Answer, Operation, Shape, text, whole};
use crate::body::NoFields;
use crate::handlers::executions::Destination;
use crate::handlers::messages::{Addressed, Message};
use crate::problem::Code;

/// The group.
pub(crate) const RESOURCE: &str = "executions";
/// The group of messages.
pub(crate) const MESSAGES: &str = "messages";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// An operation on one execution.
fn one(operation: Operation) -> Operation {
    operation
        .path("id", Shape::of::<ExecutionId>(), "The execution's id.")
        .reads()
        .refuses([command::Code::ExecutionUnknown])
}

/// What a person does to an execution.
fn change(id: &'static str, summary: &'static str) -> Operation {
    one(operation(id, summary))
        .body::<NoFields>()
        .answers::<wire::Execution>(200, "The execution as it is now.")
        .writes()
        .once()
        .refuses([command::Code::StatusConflict, command::Code::ExecutionClosed])
}

pub(crate) fn start() -> Operation {
    operation("startExecution", "Start an execution")
        .waits()
        .body::<Start>()
        .answers::<wire::Execution>(201, "It is started.")
        .located()
        .writes()
        .once()
        .refuses([
            command::Code::MachineUnknown,
            command::Code::VersionUnknown,
            command::Code::InputInvalid,
            command::Code::KeyInUse,
            command::Code::NameInvalid,
            command::Code::DecisionFailed,
            command::Code::VariablesTooLarge,
        ])
}

pub(crate) fn list() -> Operation {
    operation("listExecutions", "Executions, newest first")
        .query("machine", text(), "Only of this machine.")
        .query("status", Shape::of::<wire::ExecutionStatus>(), "Only with this status.")
        .query("key", text(), "Only with this key.")
        .query(
            "state",
            text(),
            "Only where this state is active, or a state inside it.",
        )
        .filtered()
        .paged()
        .answers::<wire::Page<wire::Execution>>(200, "The executions.")
        .reads()
}

pub(crate) fn show() -> Operation {
    one(operation("showExecution", "An execution"))
        .waits()
        .answers::<wire::Execution>(200, "The execution.")
}

pub(crate) fn history() -> Operation {
    one(operation("listHistory", "What happened to an execution, oldest first"))
        .query("after", whole(0), "Only after this sequence.")
        .paged()
        .answers::<wire::Page<wire::HistoryEntry>>(200, "The entries.")
}

pub(crate) fn explain() -> Operation {
    one(operation("explainExecution", "Why an execution does not move"))
        .answers::<wire::Explanation>(200, "What it and each of its open actions wait for.")
}

pub(crate) fn replay() -> Operation {
    one(operation(
        "replayExecution",
        "Take every step again and compare with what is stored",
    ))
    .body::<NoFields>()
    .answers::<wire::Replayed>(200, "What the replay found.")
    .changes_nothing()
}

pub(crate) fn cancel() -> Operation {
    change("cancelExecution", "End an execution and all its open actions")
}

pub(crate) fn pause() -> Operation {
    change("pauseExecution", "Hold decisions and starts")
}

pub(crate) fn resume() -> Operation {
    change("resumeExecution", "Continue after a pause or a failure")
}

pub(crate) fn migrate() -> Operation {
    let summary = "Move an execution to another version, the newest unless one is named; or check what that would do";
    one(operation("migrateExecution", summary))
        .body::<Destination>()
        .answers::<wire::Migrated>(200, "The execution as it is now, or the check.")
        .writes()
        .once()
        .refuses([command::Code::StatusConflict, command::Code::ExecutionClosed])
        .refuses([command::Code::VersionUnknown, command::Code::MigrationImpossible])
}

/// What can become of a message.
fn sends(operation: Operation) -> Operation {
    operation
        .answers::<wire::Sent>(200, "What it did.")
        .answers::<wire::Sent>(202, "It waits in the inbox.")
        .writes()
        .refuses([
            command::Code::ExecutionUnknown,
            command::Code::ExecutionClosed,
            command::Code::ReservedType,
            command::Code::NameInvalid,
            command::Code::MessageTooLarge,
            command::Code::InboxFull,
            command::Code::DecisionFailed,
            command::Code::VariablesTooLarge,
        ])
}

pub(crate) fn send() -> Operation {
    let operation = Operation::new(MESSAGES, "sendMessage", "Send a message to an execution");
    sends(one(operation).body::<Message>()).once()
}

pub(crate) fn send_by_key() -> Operation {
    let summary = "Send a message to the open execution of a machine with a key";
    let operation = Operation::new(MESSAGES, "sendMessageByKey", summary);
    sends(operation.body::<Addressed>()).once()
}

pub(crate) fn follow() -> Operation {
    one(operation(
        "followExecution",
        "An execution's history, and then whatever happens, as server-sent events",
    ))
    .query("after", whole(0), "Only after this sequence.")
    .header(
        "Last-Event-ID",
        whole(0),
        "The same, as a reader that comes back says it; it counts before `after`.",
    )
    .gives(Answer::of(
        200,
        "Events until the execution is closed.",
        "text/event-stream",
        text(),
    ))
    .refuses([Code::LastEventIdInvalid, Code::TooManyStreams])
}

pub(crate) fn hook() -> Operation {
    let operation = Operation::lenient(
        MESSAGES,
        "receiveHook",
        "An inbound webhook, mapped to a message by the machine",
    );
    let called = operation
        .path("machine", text(), "The machine's name.")
        .path("name", text(), "The hook's name in the machine file.")
        .raw_body();
    sends(called)
        .once()
        .refuses([
            command::Code::HookUnknown,
            command::Code::MachineUnknown,
            command::Code::SecretUnavailable,
        ])
        .refuses([Code::HookUnmapped, Code::HookUnverified, Code::SignatureInvalid])
}
