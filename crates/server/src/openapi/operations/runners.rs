//! Programs outside this process, and the attempts they hold.

use sprag_core::ids::AttemptId;
use sprag_engine::command;
use sprag_wire as wire;

use super::{Operation, Shape, text};
use crate::handlers::runners::{Asks, Completed, Failed};
use crate::openapi::operation::ONCE;

/// The group.
pub(crate) const RESOURCE: &str = "runners";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// What a program says of its attempt.
fn of_attempt(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary)
        .path("id", Shape::of::<AttemptId>(), "The attempt's id, as it was leased.")
        .writes()
        .refuses([
            command::Code::AttemptUnknown,
            command::Code::AttemptSuperseded,
            command::Code::SecretUnavailable,
            command::Code::VariablesTooLarge,
        ])
}

/// How a program ends its attempt.
fn ends(id: &'static str, summary: &'static str) -> Operation {
    of_attempt(id, summary)
        .header(
            ONCE,
            text(),
            "Not needed and not looked at: an attempt ends once. Sent again with the same body within a day, the request \
             is answered as the first time.",
        )
        .answers::<wire::Finished>(200, "It has ended.")
}

pub(crate) fn lease() -> Operation {
    operation(
        "leaseAttempts",
        "Ask for work: attempts as soon as there are some, or none when the time is up",
    )
    .body::<Asks>()
    .header(
        ONCE,
        text(),
        "Accepted and not looked at: asked again, there is other work. What was leased and never heard of comes back \
         when its lease is over.",
    )
    .answers::<wire::Leased>(200, "Attempts, perhaps none.")
    .writes()
}

pub(crate) fn heartbeat() -> Operation {
    of_attempt("heartbeatAttempt", "Say that the program still works on its attempt")
        .body::<wire::HeartbeatRequest>()
        .header(
            ONCE,
            text(),
            "Accepted and not looked at: a heartbeat may be sent again as it is.",
        )
        .answers::<wire::Heartbeat>(200, "It was heard.")
}

pub(crate) fn complete() -> Operation {
    ends("completeAttempt", "Say that the effect happened").body::<Completed>()
}

pub(crate) fn fail() -> Operation {
    ends("failAttempt", "Say that the attempt did not succeed").body::<Failed>()
}
