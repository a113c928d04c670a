//! Executions, and messages to them.

use sprag_core::ids::ExecutionId;
use sprag_engine::requests;
use sprag_wire as wire;

use super::{Answer, Operation, Shape, text, whole};
use crate::problem::Code;
use crate::request::body::NoFields;

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
        .refuses([requests::Code::ExecutionUnknown])
}

/// What a person does to an execution.
fn change(id: &'static str, summary: &'static str) -> Operation {
    one(operation(id, summary))
        .body::<NoFields>()
        .answers::<wire::Execution>(200, "The execution after the change.")
        .writes()
        .once()
        .audited()
        .refuses([requests::Code::StatusConflict, requests::Code::ExecutionClosed])
}

pub(crate) fn start() -> Operation {
    operation("startExecution", "Start an execution")
        .waits()
        .body::<wire::Start>()
        .answers::<wire::Execution>(201, "The started execution.")
        .located()
        .writes()
        .once()
        .audited()
        .refuses([
            requests::Code::MachineUnknown,
            requests::Code::VersionUnknown,
            requests::Code::InputInvalid,
            requests::Code::KeyInUse,
            requests::Code::NameInvalid,
            requests::Code::DecisionFailed,
            requests::Code::VariablesTooLarge,
        ])
}

pub(crate) fn list() -> Operation {
    operation("listExecutions", "List executions, newest first")
        .query("machine", text(), "Only of this machine.")
        .query("status", Shape::of::<wire::ExecutionStatus>(), "Only with this status.")
        .query("key", text(), "Only with this key.")
        .query(
            "state",
            text(),
            "Only executions in which this state or a state inside it is active.",
        )
        .filtered()
        .paged()
        .answers::<wire::Page<wire::Execution>>(200, "The executions.")
        .reads()
}

pub(crate) fn show() -> Operation {
    one(operation("showExecution", "Show an execution"))
        .waits()
        .answers::<wire::Execution>(200, "The execution.")
}

pub(crate) fn history() -> Operation {
    one(operation(
        "listHistory",
        "Show the history of an execution, oldest entry first",
    ))
    .query("after", whole(0), "Only after this sequence.")
    .paged()
    .answers::<wire::Page<wire::HistoryEntry>>(200, "The entries.")
}

pub(crate) fn explain() -> Operation {
    one(operation("explainExecution", "Explain what an execution waits for"))
        .answers::<wire::Explanation>(200, "What the execution and each of its open actions wait for.")
}

pub(crate) fn replay() -> Operation {
    one(operation(
        "replayExecution",
        "Replay the history of an execution and compare the result with the store",
    ))
    .body::<NoFields>()
    .answers::<wire::Replayed>(200, "The result of the replay.")
    .changes_nothing()
}

pub(crate) fn cancel() -> Operation {
    change("cancelExecution", "Cancel an execution and its open actions")
}

pub(crate) fn compensate() -> Operation {
    one(operation(
        "compensateExecution",
        "Take back what a closed execution did: propose its compensations as a workflow",
    ))
    .body::<NoFields>()
    .answers::<wire::Workflow>(201, "The new workflow: it waits for approval, or runs.")
    .located()
    .answers::<wire::Workflow>(200, "The workflow that takes it back already. Nothing changed.")
    .writes()
    .once()
    .audited()
    .refuses([requests::Code::StatusConflict, requests::Code::DecisionFailed])
}

pub(crate) fn pause() -> Operation {
    change(
        "pauseExecution",
        "Pause an execution: messages wait, and no action starts",
    )
}

pub(crate) fn resume() -> Operation {
    change("resumeExecution", "Continue after a pause or a failure")
}

pub(crate) fn migrate() -> Operation {
    let summary = "Migrate an execution to another version, or check what a migration would do";
    one(operation("migrateExecution", summary))
        .body::<wire::MigrateRequest>()
        .answers::<wire::Migrated>(200, "The migrated execution, or the result of the check.")
        .writes()
        .once()
        .audited()
        .refuses([requests::Code::StatusConflict, requests::Code::ExecutionClosed])
        .refuses([requests::Code::VersionUnknown, requests::Code::MigrationImpossible])
}

/// What can become of a message.
fn sends(operation: Operation) -> Operation {
    operation
        .answers::<wire::Sent>(200, "The result of the message.")
        .answers::<wire::Sent>(202, "The message waits in the inbox of a paused or failed execution.")
        .writes()
        .refuses([
            requests::Code::ExecutionUnknown,
            requests::Code::ExecutionClosed,
            requests::Code::ReservedType,
            requests::Code::NameInvalid,
            requests::Code::MessageTooLarge,
            requests::Code::InboxFull,
            requests::Code::DecisionFailed,
            requests::Code::VariablesTooLarge,
        ])
}

pub(crate) fn send() -> Operation {
    let operation = Operation::new(MESSAGES, "sendMessage", "Send a message to an execution");
    sends(one(operation).body::<wire::Message>()).once()
}

pub(crate) fn send_by_key() -> Operation {
    let summary = "Send a message to the open execution of a machine with a key";
    let operation = Operation::new(MESSAGES, "sendMessageByKey", summary);
    sends(operation.body::<wire::AddressedMessage>()).once()
}

pub(crate) fn follow() -> Operation {
    one(operation(
        "followExecution",
        "Stream the history and all new events of an execution, as server-sent events",
    ))
    .query("after", whole(0), "Only after this sequence.")
    .header(
        "Last-Event-ID",
        whole(0),
        "The same as `after`, sent by a client that reconnects. It overrides `after`.",
    )
    .gives(Answer::of(
        200,
        "Events, until the execution closes.",
        "text/event-stream",
        text(),
    ))
    .refuses([Code::LastEventIdInvalid, Code::TooManyStreams])
}

pub(crate) fn hook() -> Operation {
    let operation = Operation::lenient(
        MESSAGES,
        "receiveHook",
        "Receive a webhook call and send it to an execution as a message",
    );
    let called = operation
        .path("machine", text(), "The name of the machine.")
        .path("name", text(), "The name of the hook in the machine file.")
        .raw_body();
    sends(called)
        .once()
        .refuses([
            requests::Code::HookUnknown,
            requests::Code::MachineUnknown,
            requests::Code::SecretUnavailable,
        ])
        .refuses([Code::HookUnmapped, Code::HookUnverified, Code::SignatureInvalid])
}
