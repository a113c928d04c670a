//! TOML, as `sprag.toml` is written: what JSON can hold of it.
//!
//! A date is its text. Numbers that are not finite are refused: nothing that reads a document could use them.

use serde_json::Number;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::ParseError;
use super::limits::{Budget, Limits};
use super::node::{Content, Entry, Node, Position};
use super::number;

pub(super) fn parse(text: &str, limits: &Limits) -> Result<Node, ParseError> {
    let breaks = text.match_indices('\n').map(|(index, _)| index + 1);
    let mut reader = TomlReader {
        text,
        starts: std::iter::once(0).chain(breaks).collect(),
        budget: Budget::new(limits),
    };
    match DeTable::parse(text) {
        Ok(table) => Ok(Node {
            at: Position::START,
            content: reader.table(table.get_ref(), Position::START)?,
        }),
        Err(error) => {
            let at = reader.position(error.span().map_or(0, |span| span.start));
            let detail = error.message().trim().replace('\n', "; ");
            Err(ParseError::syntax(at, detail).remedy("fix the TOML there"))
        }
    }
}

struct TomlReader<'t> {
    text: &'t str,
    /// Where each line begins, in bytes.
    starts: Vec<usize>,
    budget: Budget,
}

impl TomlReader<'_> {
    fn table(&mut self, table: &DeTable<'_>, at: Position) -> Result<Content, ParseError> {
        self.budget.enter(at)?;
        let mut members: Vec<_> = table.iter().collect();
        members.sort_by_key(|(name, _)| name.span().start);
        let mut entries = Vec::with_capacity(members.len());
        for (name, value) in members {
            entries.push(Entry {
                key: name.get_ref().clone().into_owned(),
                key_at: self.position(name.span().start),
                value: self.value(value)?,
            });
        }
        self.budget.leave();
        Ok(Content::Map(entries))
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>) -> Result<Node, ParseError> {
        let at = self.position(value.span().start);
        self.budget.spend(at, 1)?;
        let content = match value.get_ref() {
            DeValue::String(text) => Content::Text(text.clone().into_owned()),
            DeValue::Boolean(truth) => Content::Bool(*truth),
            DeValue::Integer(number) if number.radix() == 10 => Content::Number(number::integer(number.as_str(), at)?),
            DeValue::Integer(number) => Content::Number(number::integer_in_base(number.as_str(), number.radix(), at)?),
            DeValue::Float(number) => Content::Number(fraction(number.as_str(), at)?),
            DeValue::Array(items) => {
                self.budget.enter(at)?;
                let items = items.iter().map(|item| self.value(item)).collect::<Result<_, _>>()?;
                self.budget.leave();
                Content::List(items)
            }
            DeValue::Table(table) => self.table(table, at)?,
            DeValue::Datetime(date) => Content::Text(date.to_string()),
        };
        Ok(Node { at, content })
    }

    /// The line and column of a byte.
    fn position(&self, byte: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= byte);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let column = self.text.get(start..byte).map_or(0, |before| before.chars().count()) + 1;
        Position {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }
}

fn fraction(text: &str, at: Position) -> Result<Number, ParseError> {
    if text.ends_with("inf") || text.ends_with("nan") {
        let detail = format!("`{text}` is not a number JSON can hold");
        return Err(ParseError::syntax(at, detail).remedy("quote it to keep it as text"));
    }
    number::fraction(text, at)
}
