//! Receipts: the first answer to a message with an id.

use sprag_core::ids::ExecutionId;
use sprag_core::text::is_storable;

use super::columns::{Id, as_wanted, column, id_at};
use super::part::{StatementPart, Text};
use super::session::{Session, list};
use crate::records::Receipt;
use crate::traits::Error;

const INSERT: Text = Text::new(
    "new_receipts AS (INSERT INTO receipt (execution, message, answer) \
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::bytea[]))",
);

const DELETE: Text = Text::new(
    "gone_receipts AS (DELETE FROM receipt USING unnest($1::uuid[], $2::text[]) AS gone (execution, message) \
    WHERE receipt.execution = gone.execution AND receipt.message = gone.message)",
);

pub(super) const GET: &str = "\
    SELECT receipt.execution, receipt.message, answer FROM unnest($1::uuid[], $2::text[]) AS wanted (execution, message) \
    JOIN receipt ON receipt.execution = wanted.execution AND receipt.message = wanted.message";

/// Adds answers.
pub(super) fn insert<'a>(records: &[&'a Receipt]) -> StatementPart<'a> {
    StatementPart::new(
        INSERT,
        vec![
            list(records, |record| Id::from(record.execution)),
            list(records, |record| record.message.as_str()),
            list(records, |record| record.answer.as_slice()),
        ],
    )
}

/// Deletes answers, as far as they are still there.
pub(super) fn delete<'a>(keys: &[(ExecutionId, &'a str)]) -> StatementPart<'a> {
    StatementPart::new(
        DELETE,
        vec![
            list(keys, |(execution, _)| Id::from(*execution)),
            list(keys, |(_, message)| *message),
        ],
    )
}

/// Answers, in the order in which they are wanted.
pub(super) async fn get(session: &Session, keys: &[(ExecutionId, String)]) -> Result<Vec<Receipt>, Error> {
    // The server would refuse the whole question for one text that it cannot hold.
    let (executions, messages): (Vec<Id>, Vec<&str>) = keys
        .iter()
        .filter(|(_, message)| is_storable(message))
        .map(|(execution, message)| (Id::from(*execution), &**message))
        .unzip();
    let found = session
        .all(GET, &[&executions, &messages], |row| {
            let key = (id_at(row, 0)?, column::<String>(row, 1)?);
            Ok((key, column::<Vec<u8>>(row, 2)?))
        })
        .await?;
    let ordered = as_wanted(keys, &found, |(key, _)| key);
    Ok(ordered
        .into_iter()
        .map(|((execution, message), answer)| Receipt {
            execution,
            message,
            answer,
        })
        .collect())
}
