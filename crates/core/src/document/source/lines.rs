//! The lines of a YAML document, to turn the parser's marks into positions and to quote the text there.

use std::collections::BTreeMap;

use saphyr_parser::Marker;

use super::error::ParseError;
use super::node::Position;

/// A document cut at its line breaks: `\n`, `\r\n` or `\r`. There is always at least one line.
pub(super) struct Lines<'t> {
    lines: Vec<&'t str>,
    /// The column of the first tab in the indentation of each line that has one, by line. Found once, because it is
    /// asked for again and again and an indentation can be as long as the document.
    tabs: BTreeMap<u32, u32>,
}

impl<'t> Lines<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let at_line_feeds = text.split('\n');
        let lines: Vec<_> = at_line_feeds
            .flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
            .collect();
        let tabs = (1..)
            .zip(&lines)
            .filter_map(|(number, line)| Some((number, tab_in_indentation(line)?)));
        Self {
            tabs: tabs.collect(),
            lines,
        }
    }

    /// Refuses characters that the parser lets pass and should not: control characters, of which it takes NUL for
    /// the end, and a byte order mark at the start of a line, which it does not count as a column.
    pub(super) fn refuse_controls(&self) -> Result<(), ParseError> {
        for (number, line) in (1..).zip(&self.lines) {
            let refused = |&(index, c): &(usize, char)| (c < ' ' && c != '\t') || (c == '\u{feff}' && index == 0);
            if let Some((index, character)) = line.char_indices().find(refused) {
                let at = Position {
                    line: number,
                    column: column_after(line.split_at(index).0),
                };
                return Err(
                    ParseError::syntax(at, format!("control character `{}`", character.escape_unicode()))
                        .remedy("remove it, or write it as an escape in double quotes"),
                );
            }
        }
        Ok(())
    }

    /// The position of a mark. The parser puts the end of a text without a final line break on a line that is not
    /// there; it becomes the end of the last line.
    pub(super) fn position(&self, mark: Marker) -> Position {
        if mark.line() > self.lines.len() {
            return self.end();
        }
        let from_zero = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Position {
            line: from_zero(mark.line()),
            column: from_zero(mark.col()).saturating_add(1),
        }
    }

    /// The position behind the last character.
    pub(super) fn end(&self) -> Position {
        let line = u32::try_from(self.lines.len()).unwrap_or(u32::MAX);
        Position {
            line,
            column: column_after(self.line(line)),
        }
    }

    /// Where a template's `{{` starts, if a position is that of its second brace.
    pub(super) fn template_around(&self, at: Position) -> Option<Position> {
        let (before, rest) = self.split(at);
        let starts = before.ends_with('{') && rest.starts_with('{');
        starts.then_some(Position {
            column: at.column.saturating_sub(1),
            ..at
        })
    }

    /// What is written at a position, up to the next blank or bracket.
    pub(super) fn word(&self, at: Position) -> &'t str {
        let (_, rest) = self.split(at);
        let ends = |c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']' | '{' | '}');
        rest.split(ends).next().unwrap_or_default()
    }

    /// The last dash of a list entry before a position on the same line, or the position itself if there is none.
    /// Only dashes, blanks and a comment can stand before it.
    pub(super) fn dash_before(&self, at: Position) -> Position {
        let (before, _) = self.split(at);
        let entries = before.split('#').next().unwrap_or_default();
        entries.rfind('-').map_or(at, |dash| Position {
            column: column_after(entries.split_at(dash).0),
            ..at
        })
    }

    /// The first tab among the blanks that the line of a position starts with.
    pub(super) fn tab_in_indentation(&self, at: Position) -> Option<Position> {
        self.tabs.get(&at.line).map(|&column| Position { column, ..at })
    }

    /// The first tab in the indentation of that line or of any line after it.
    pub(super) fn next_tab_in_indentation(&self, at: Position) -> Option<Position> {
        let (&line, &column) = self.tabs.range(at.line..).next()?;
        Some(Position { line, column })
    }

    fn split(&self, at: Position) -> (&'t str, &'t str) {
        let line = self.line(at.line);
        let before = usize::try_from(at.column.saturating_sub(1)).unwrap_or(usize::MAX);
        let index = line.char_indices().nth(before).map_or(line.len(), |(index, _)| index);
        line.split_at(index)
    }

    fn line(&self, number: u32) -> &'t str {
        let index = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
        self.lines.get(index).copied().unwrap_or_default()
    }
}

fn tab_in_indentation(line: &str) -> Option<u32> {
    let indentation = line.split(|c| c != ' ' && c != '\t').next()?;
    indentation.split_once('\t').map(|(before, _)| column_after(before))
}

fn column_after(before: &str) -> u32 {
    u32::try_from(before.chars().count())
        .unwrap_or(u32::MAX)
        .saturating_add(1)
}
