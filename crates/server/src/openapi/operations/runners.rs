//! Programs outside this process, and the attempts they hold.

use sprag_core::ids::AttemptId;
use sprag_engine::requests;
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
        .path("id", Shape::of::<AttemptId>(), "The id of the leased attempt.")
        .writes()
        .refuses([
            requests::Code::AttemptUnknown,
            requests::Code::AttemptSuperseded,
            requests::Code::SecretUnavailable,
            requests::Code::VariablesTooLarge,
        ])
}

/// How a program ends its attempt.
fn ends(id: &'static str, summary: &'static str) -> Operation {
    of_attempt(id, summary)
        .header(
            ONCE,
            text(),
            "Not needed, and ignored: an attempt ends once. If you send the same request within a day, you get the first \
             answer.",
        )
        .answers::<wire::Finished>(200, "The outcome of the attempt.")
}

pub(crate) fn lease() -> Operation {
    operation("leaseAttempts", "Lease attempts for an external runner")
        .body::<Asks>()
        .header(
            ONCE,
            text(),
            "Accepted and ignored: a repeat gets other attempts. If you lose an answer, its attempts end when their \
         leases expire.",
        )
        .answers::<wire::Leased>(200, "The leased attempts; empty if there is no work.")
        .writes()
}

pub(crate) fn heartbeat() -> Operation {
    of_attempt("heartbeatAttempt", "Extend the lease of an attempt")
        .body::<wire::HeartbeatRequest>()
        .header(ONCE, text(), "Accepted and ignored: you can send a heartbeat again.")
        .answers::<wire::Heartbeat>(200, "The new end of the lease.")
}

pub(crate) fn complete() -> Operation {
    ends("completeAttempt", "Report that an attempt is done").body::<Completed>()
}

pub(crate) fn fail() -> Operation {
    ends("failAttempt", "Report that an attempt failed").body::<Failed>()
}
