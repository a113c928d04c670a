//! What `PostgreSQL`'s errors mean to a caller.

use std::error::Error as _;
use std::num::TryFromIntError;

use tokio_postgres::error::{DbError, SqlState};
use tokio_postgres::types::WrongType;

use super::idempotency::PRIMARY_KEY;
use super::rows::Misplaced;
use crate::traits::{Error, ShardId};

/// A statement did not find what it must.
pub(super) const REFUSED: &str = "SPR01";
/// Another owner has the shard, whose number is the message.
pub(super) const FENCE_BROKEN: &str = "SPR02";
/// A newer connection of the lane took over, so this one writes nothing any more.
pub(super) const SUPERSEDED: &str = "SPR03";
/// The machine, whose name is the message, has a newer version than was decided on.
pub(super) const OUTDATED: &str = "SPR04";

const UNIQUE_VIOLATION: &str = "23505";

/// The kind of a failure, by what the caller must do about it.
pub(super) fn classify(problem: &tokio_postgres::Error) -> Error {
    match problem.as_db_error() {
        Some(said) => classify_said(said),
        // Nothing was sent, and the same rows would never be.
        None if is_unsendable(problem) => Error::Refused { detail: chain(problem) },
        // The server said nothing: the connection was lost, refused or never made.
        None => Error::Away { detail: chain(problem) },
    }
}

/// Whether rows could not be made into parameters: they are not what their columns take, or too long for the protocol.
fn is_unsendable(problem: &tokio_postgres::Error) -> bool {
    problem
        .source()
        .is_some_and(|cause| cause.is::<Misplaced>() || cause.is::<WrongType>() || cause.is::<TryFromIntError>())
}

/// Whether a statement failed only because one before it did.
pub(super) fn is_aftermath(problem: &tokio_postgres::Error) -> bool {
    problem.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION)
}

fn classify_said(said: &DbError) -> Error {
    let detail = match said.detail() {
        Some(more) => format!("{} ({more})", said.message()),
        None => said.message().to_owned(),
    };
    match said.code().code() {
        REFUSED => Error::Refused { detail },
        FENCE_BROKEN => match said.message().parse() {
            Ok(number) => Error::FenceBroken { shard: ShardId(number) },
            Err(_) => Error::Failed { detail },
        },
        OUTDATED => Error::Outdated {
            machine: said.message().to_owned(),
        },
        UNIQUE_VIOLATION if said.constraint() == Some(PRIMARY_KEY) => Error::Answered,
        // Read-only transactions, standbys.
        "25006" => Error::ReadOnly,
        // Disk full; a limit that was configured.
        "53100" | "53400" => Error::Full,
        // Too much at once: a statement that ran out of time or memory, a lock that was not free, a deadlock. Too many
        // connections; a server that ends, starts or recovers; a session that was ended.
        SUPERSEDED | "57014" | "53200" | "55P03" | "40001" | "40P01" | "53300" | "57P01" | "57P02" | "57P03"
        | "57P05" | "25P03" => Error::Away { detail },
        "XX001" | "XX002" => Error::Corrupt { detail },
        code => classify_class(code, detail),
    }
}

/// The rest, by what codes begin with: connections; values, constraints and the limits of the program, such as that of an
/// index entry.
fn classify_class(code: &str, detail: String) -> Error {
    match code.get(..2) {
        Some("08") => Error::Away { detail },
        Some("22" | "23" | "54") => Error::Refused { detail },
        _ => Error::Failed { detail },
    }
}

/// A failure with all of its causes: the library's own text is only the first of them.
pub(super) fn chain(problem: &dyn std::error::Error) -> String {
    let mut text = problem.to_string();
    let mut cause = problem.source();
    while let Some(next) = cause {
        let said = next.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = next.source();
    }
    text
}
