//! JSON as RFC 8259 defines it, read strictly: no comments, no trailing commas, no byte order mark, no key twice.
//!
//! The reader recurses once per list or map; the budget's depth bounds that.

use serde_json::Number;

use super::error::{ParseError, shown};
use super::limits::{Budget, Limits};
use super::node::{Content, Entry, Node, Position, refuse_duplicates};
use super::number::{self, Parts, is_digits};

pub(super) fn parse(text: &str, limits: &Limits) -> Result<Node, ParseError> {
    if text.starts_with('\u{feff}') {
        return Err(
            ParseError::syntax(Position::START, "the document starts with a byte order mark")
                .remedy("save it as UTF-8 without a byte order mark"),
        );
    }
    let mut reader = JsonReader {
        cursor: Cursor {
            rest: text,
            at: Position::START,
        },
        budget: Budget::new(limits),
    };
    reader.cursor.skip_blank();
    let node = reader.value()?;
    reader.cursor.skip_blank();
    match reader.cursor.peek() {
        None => Ok(node),
        Some(_) => Err(reader.expected("the end of the document")),
    }
}

struct JsonReader<'t> {
    cursor: Cursor<'t>,
    budget: Budget,
}

impl JsonReader<'_> {
    fn value(&mut self) -> Result<Node, ParseError> {
        let at = self.cursor.at;
        self.budget.spend(at, 1)?;
        let content = match self.cursor.peek() {
            Some('{') => self.map(at)?,
            Some('[') => self.list(at)?,
            Some('"') => Content::Text(self.text()?),
            Some('-' | '0'..='9') => Content::Number(self.number()?),
            Some('a'..='z' | 'A'..='Z') => self.word()?,
            _ => return Err(self.expected("a value")),
        };
        Ok(Node { at, content })
    }

    fn list(&mut self, at: Position) -> Result<Content, ParseError> {
        self.budget.enter(at)?;
        let mut items = Vec::new();
        let mut more = self.opens(']');
        while more {
            items.push(self.value()?);
            more = self.continues(']')?;
        }
        self.budget.leave();
        Ok(Content::List(items))
    }

    fn map(&mut self, at: Position) -> Result<Content, ParseError> {
        self.budget.enter(at)?;
        let mut entries = Vec::new();
        let mut more = self.opens('}');
        while more {
            entries.push(self.entry()?);
            more = self.continues('}')?;
        }
        self.budget.leave();
        refuse_duplicates(&entries)?;
        Ok(Content::Map(entries))
    }

    fn entry(&mut self) -> Result<Entry, ParseError> {
        let key_at = self.cursor.at;
        if self.cursor.peek() != Some('"') {
            return Err(self.expected("a key in double quotes"));
        }
        let key = self.text()?;
        self.cursor.skip_blank();
        if !self.cursor.take(':') {
            return Err(self.expected("`:`"));
        }
        self.cursor.skip_blank();
        Ok(Entry {
            key,
            key_at,
            value: self.value()?,
        })
    }

    /// Passes the opening bracket; whether something stands before the closing one.
    fn opens(&mut self, close: char) -> bool {
        self.cursor.bump();
        self.cursor.skip_blank();
        !self.cursor.take(close)
    }

    /// Passes what follows an item; whether another item follows.
    fn continues(&mut self, close: char) -> Result<bool, ParseError> {
        self.cursor.skip_blank();
        if self.cursor.take(close) {
            return Ok(false);
        }
        let comma_at = self.cursor.at;
        if !self.cursor.take(',') {
            return Err(self.expected(if close == ']' { "`,` or `]`" } else { "`,` or `}`" }));
        }
        self.cursor.skip_blank();
        if self.cursor.peek() == Some(close) {
            return Err(
                ParseError::syntax(comma_at, format!("nothing follows the `,` before `{close}`"))
                    .remedy("remove the last comma"),
            );
        }
        Ok(true)
    }

    fn text(&mut self) -> Result<String, ParseError> {
        let at = self.cursor.at;
        self.cursor.bump();
        let mut text = String::new();
        loop {
            text.push_str(self.cursor.take_while(|c| c >= ' ' && c != '"' && c != '\\'));
            match self.cursor.peek() {
                Some('"') => {
                    self.cursor.bump();
                    return Ok(text);
                }
                Some('\\') => text.push(self.escape()?),
                Some(control) => {
                    let detail = format!("control character `{}` inside text", control.escape_unicode());
                    return Err(ParseError::syntax(self.cursor.at, detail)
                        .remedy("write it as an escape, such as `\\n` or `\\t`"));
                }
                None => return Err(ParseError::syntax(at, "text without a closing quote")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, ParseError> {
        let at = self.cursor.at;
        self.cursor.bump();
        let escaped = match self.cursor.peek() {
            Some(same @ ('"' | '\\' | '/')) => same,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => return self.unicode_escape(at),
            _ => return Err(ParseError::syntax(at, "`\\` starts no escape that JSON knows").remedy("write `\\\\`")),
        };
        self.cursor.bump();
        Ok(escaped)
    }

    /// `\uXXXX`, the backslash already passed; characters beyond 16 bits are written as a pair of these.
    fn unicode_escape(&mut self, at: Position) -> Result<char, ParseError> {
        let first = self.code_unit(at)?;
        let opens_pair = (0xd800..0xdc00).contains(&first);
        let second = if opens_pair && self.cursor.take('\\') {
            Some(self.code_unit(at)?)
        } else {
            None
        };
        let mut decoded = char::decode_utf16(std::iter::once(first).chain(second));
        match decoded.next() {
            Some(Ok(character)) => Ok(character),
            _ => Err(ParseError::syntax(at, "escape is half of a surrogate pair").remedy("write both halves")),
        }
    }

    /// `uXXXX`
    fn code_unit(&mut self, at: Position) -> Result<u16, ParseError> {
        let digits = self.cursor.rest.strip_prefix('u').and_then(|rest| rest.get(..4));
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let unit = unit.ok_or_else(|| ParseError::syntax(at, "escape is not `\\u` and four hexadecimal digits"))?;
        for _ in "uXXXX".chars() {
            self.cursor.bump();
        }
        Ok(unit)
    }

    fn number(&mut self) -> Result<Number, ParseError> {
        let at = self.cursor.at;
        let text = self
            .cursor
            .take_while(|c| matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
        let parts = Parts::of(text.strip_prefix('-').unwrap_or(text));
        let padded = parts.whole.len() > 1 && parts.whole.starts_with('0');
        let whole = is_digits(parts.whole) && !padded;
        if !whole || !parts.fraction.is_none_or(is_digits) || !parts.has_valid_exponent() {
            return Err(ParseError::syntax(
                at,
                format!("`{}` is not a JSON number", shown(text)),
            ));
        }
        if parts.is_integer() {
            number::integer(text, at)
        } else {
            number::fraction(text, at)
        }
    }

    fn word(&mut self) -> Result<Content, ParseError> {
        let at = self.cursor.at;
        match self.cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '_') {
            "null" => Ok(Content::Null),
            "true" => Ok(Content::Bool(true)),
            "false" => Ok(Content::Bool(false)),
            other => Err(
                ParseError::syntax(at, format!("`{}` is not a JSON value", shown(other)))
                    .remedy("put text in double quotes"),
            ),
        }
    }

    fn expected(&self, what: &str) -> ParseError {
        let at = self.cursor.at;
        match self.cursor.peek() {
            None => ParseError::syntax(at, format!("the document ends where {what} is expected")),
            Some(found) => {
                let error = ParseError::syntax(at, format!("`{}` where {what} is expected", shown(&found.to_string())));
                match found {
                    '\'' => error.remedy("use double quotes"),
                    '/' | '#' => error.remedy("remove it: JSON has no comments"),
                    _ => error,
                }
            }
        }
    }
}

/// The rest of the text and the position of its first character.
struct Cursor<'t> {
    rest: &'t str,
    at: Position,
}

impl<'t> Cursor<'t> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn bump(&mut self) {
        let mut characters = self.rest.chars();
        let Some(passed) = characters.next() else { return };
        self.rest = characters.as_str();
        // A carriage return before a line feed ends no line of its own.
        if passed == '\n' || (passed == '\r' && !self.rest.starts_with('\n')) {
            self.at = Position {
                line: self.at.line.saturating_add(1),
                column: 1,
            };
        } else {
            self.at.column = self.at.column.saturating_add(1);
        }
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.bump();
        }
        found
    }

    fn skip_blank(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t' | '\n' | '\r')) {
            self.bump();
        }
    }

    /// Passes the characters that `belongs` holds for. It must hold for no line break.
    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        let characters = u32::try_from(taken.chars().count()).unwrap_or(u32::MAX);
        self.rest = rest;
        self.at.column = self.at.column.saturating_add(characters);
        taken
    }
}
