//! What `SQLite`'s errors mean to a caller.

use rusqlite::{ErrorCode, ffi};

use crate::traits::Error;

/// The kind of a failure, by what the caller must do about it.
pub(super) fn classify(problem: &rusqlite::Error) -> Error {
    let detail = problem.to_string();
    match problem {
        rusqlite::Error::SqliteFailure(failure, _) => classify_code(*failure, detail),
        rusqlite::Error::StatementChangedRows(_) => Error::Refused {
            detail: "a record that must be there is not, or a history would have a gap".to_owned(),
        },
        rusqlite::Error::ToSqlConversionFailure(_) => Error::Refused { detail },
        // What was written by this code can be read by it: anything else came from outside.
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::Utf8Error(..) => Error::Corrupt { detail },
        _ => Error::Failed { detail },
    }
}

fn classify_code(failure: ffi::Error, detail: String) -> Error {
    match (failure.code, failure.extended_code) {
        // The shared-memory file beside the database could not grow, or a checksum of the filesystem did not match.
        (_, ffi::SQLITE_IOERR_SHMSIZE) | (ErrorCode::DiskFull, _) => Error::Full,
        (_, ffi::SQLITE_IOERR_CORRUPTFS) | (ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _) => {
            Error::Corrupt { detail }
        }
        (_, ffi::SQLITE_IOERR_NOMEM) => Error::Failed { detail },
        // A failed flush is in here: the kernel may have dropped the pages, so trying again would prove nothing.
        (ErrorCode::SystemIoFailure, _) => Error::Disk { detail },
        (ErrorCode::ReadOnly, _) => Error::ReadOnly,
        (ErrorCode::ConstraintViolation | ErrorCode::TooBig, _) => Error::Refused { detail },
        _ => Error::Failed { detail },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(extended_code: i32) -> Error {
        classify(&rusqlite::Error::SqliteFailure(ffi::Error::new(extended_code), None))
    }

    #[test]
    fn a_failed_flush_is_a_failed_disk() {
        assert!(matches!(of(ffi::SQLITE_IOERR_FSYNC), Error::Disk { .. }));
        assert!(matches!(of(ffi::SQLITE_IOERR_DIR_FSYNC), Error::Disk { .. }));
        assert!(matches!(of(ffi::SQLITE_IOERR_WRITE), Error::Disk { .. }));
    }

    #[test]
    fn no_room_for_the_shared_memory_is_a_full_disk() {
        assert!(matches!(of(ffi::SQLITE_IOERR_SHMSIZE), Error::Full));
        assert!(matches!(of(ffi::SQLITE_FULL), Error::Full));
    }

    #[test]
    fn what_cannot_be_a_database_is_damaged() {
        assert!(matches!(of(ffi::SQLITE_CORRUPT), Error::Corrupt { .. }));
        assert!(matches!(of(ffi::SQLITE_NOTADB), Error::Corrupt { .. }));
        assert!(matches!(of(ffi::SQLITE_IOERR_CORRUPTFS), Error::Corrupt { .. }));
    }

    #[test]
    fn a_value_of_the_wrong_type_is_damage() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let problem = connection
            .query_row("SELECT 'text'", [], |row| row.get::<_, i64>(0))
            .unwrap_err();
        assert!(matches!(classify(&problem), Error::Corrupt { .. }));
    }

    #[test]
    fn everything_else_is_just_a_failure() {
        assert!(matches!(of(ffi::SQLITE_BUSY), Error::Failed { .. }));
        assert!(matches!(of(ffi::SQLITE_READONLY), Error::ReadOnly));
        assert!(matches!(of(ffi::SQLITE_CONSTRAINT_UNIQUE), Error::Refused { .. }));
    }
}
