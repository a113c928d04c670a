//! A commit as one statement: parts side by side.
//!
//! Each part is what one kind of mutation writes, as common table expressions, and what must hold for it. All parts of a
//! statement see the database as it was before any of them, so parts belong together only if none touches what another does.
//! One statement is one message to the server and one answer, which is most of what a small commit costs.

use super::rows::RowTable;
use super::session::Value;

/// The text of a part. Its parameters are numbered from 1; rows count as one, the first, and stand as `{rows}`, and
/// their columns as `{columns}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Text {
    /// The table whose rows it takes, if it does.
    pub(super) rows: Option<&'static RowTable>,
    /// Common table expressions: what is written, each under a name that no other part has. Empty where nothing is.
    pub(super) with: &'static str,
    /// Branches of a CASE that refuse the commit. Empty where nothing can be wrong.
    pub(super) refusals: &'static str,
}

impl Text {
    /// One that only writes.
    pub(super) const fn new(with: &'static str) -> Self {
        Self {
            rows: None,
            with,
            refusals: "",
        }
    }
}

/// A part as it is written in a statement. A single row is written in another way than many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Form {
    pub(super) text: Text,
    pub(super) is_one: bool,
    /// How many parameters it has.
    pub(super) values: usize,
}

/// A part with its parameters.
pub(super) struct StatementPart<'a> {
    pub(super) form: Form,
    pub(super) values: Vec<Value<'a>>,
}

impl<'a> StatementPart<'a> {
    pub(super) fn new(text: Text, values: Vec<Value<'a>>) -> Self {
        Self::of(text, 0, values)
    }

    /// One that writes so many rows.
    pub(super) fn of(text: Text, rows: usize, values: Vec<Value<'a>>) -> Self {
        let form = Form {
            text,
            is_one: rows == 1,
            values: values.len(),
        };
        Self { form, values }
    }
}

/// The statement of parts.
pub(super) fn statement(parts: impl IntoIterator<Item = Form>) -> String {
    let (mut with, mut refusals, mut before) = (Vec::new(), String::new(), 0);
    for Form { text, is_one, values } in parts {
        // What else it has comes after its rows.
        let after = before + text.rows.map_or(0, |table| table.values(is_one) - 1);
        if !text.with.is_empty() {
            let rows = text.rows.map(|table| table.source(is_one)).unwrap_or_default();
            let columns = text.rows.map(RowTable::names).unwrap_or_default();
            let text = numbered_from(after, text.with).replace("{columns}", &columns);
            with.push(text.replace("{rows}", &numbered_from(before, &rows)));
        }
        refusals.push_str(&numbered_from(after, text.refusals));
        before += values;
    }
    let with = match with.join(", ") {
        none if none.is_empty() => none,
        some => format!("WITH {some} "),
    };
    match refusals.as_str() {
        "" => format!("{with}SELECT 0"),
        some => format!("{with}SELECT CASE {some}ELSE 0 END"),
    }
}

/// The text with each parameter's number raised.
fn numbered_from(before: usize, text: &str) -> String {
    let mut pieces = text.split('$');
    let mut numbered = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = piece.split_at(digits);
        let number: usize = number.parse().unwrap_or_default();
        numbered.push('$');
        numbered.push_str(&(before + number).to_string());
        numbered.push_str(rest);
    }
    numbered
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: RowTable = RowTable {
        row: "a_row",
        columns: &[("id", "uuid"), ("body", "bytea")],
    };
    const WRITES: Text = Text {
        rows: Some(&TABLE),
        ..Text::new("a AS (INSERT INTO a ({columns}) SELECT * FROM {rows} AS new WHERE $2)")
    };
    const MUST: Text = Text {
        rows: None,
        with: "b AS (DELETE FROM b WHERE id = ANY($1) RETURNING 1)",
        refusals: "WHEN (SELECT count(*) FROM b) <> $2 THEN refuse($12) ",
    };

    fn form(text: Text, is_one: bool, values: usize) -> Form {
        Form { text, is_one, values }
    }

    #[test]
    fn parts_keep_their_own_parameters() {
        let forms = [form(WRITES, false, 2), form(MUST, false, 2), form(WRITES, true, 3)];
        assert_eq!(
            statement(forms),
            "WITH a AS (INSERT INTO a (id, body) SELECT * FROM unnest($1::a_row[]) AS new WHERE $2), \
             b AS (DELETE FROM b WHERE id = ANY($3) RETURNING 1), \
             a AS (INSERT INTO a (id, body) SELECT * FROM (SELECT $5::uuid AS id, $6::bytea AS body) AS new WHERE $7) \
             SELECT CASE WHEN (SELECT count(*) FROM b) <> $4 THEN refuse($14) ELSE 0 END"
        );
    }

    #[test]
    fn a_part_may_only_write_or_only_refuse() {
        let only_writes = form(Text::new("a AS (SELECT 1)"), false, 0);
        assert_eq!(statement([only_writes]), "WITH a AS (SELECT 1) SELECT 0");
        let only_refuses = Text {
            with: "",
            refusals: "WHEN $1 THEN refuse() ",
            rows: None,
        };
        assert_eq!(
            statement([form(only_refuses, false, 1)]),
            "SELECT CASE WHEN $1 THEN refuse() ELSE 0 END"
        );
    }
}
