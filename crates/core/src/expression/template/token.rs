//! Where an expression ends, and what it is made of.
//!
//! The template library evaluates expressions, but it does not say which paths they name without copying whole roots,
//! and it cannot be told to leave `*` away from texts. Both are decided on tokens. The tokens here are those of the
//! library, less what templates do not offer (other number bases, digit separators).

use super::error::StringProblem;
use super::limits::{BRACKETS_MAX, EXPRESSION_BYTES_MAX};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name or a keyword.
    Name,
    /// A number without sign.
    Number,
    /// A quoted string, quotes included.
    Text,
    /// Anything else.
    Symbol,
}

/// One token and where it begins in its source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'s> {
    pub(super) kind: TokenKind,
    pub(super) text: &'s str,
    pub(super) start: usize,
}

impl Token<'_> {
    /// The offset after its last byte.
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        self.kind == TokenKind::Symbol && self.text == symbol
    }

    pub(super) fn is_name(&self, name: &str) -> bool {
        self.kind == TokenKind::Name && self.text == name
    }

    pub(super) fn opens(&self) -> bool {
        self.kind == TokenKind::Symbol && matches!(self.text, "(" | "[" | "{")
    }

    pub(super) fn closes(&self) -> bool {
        self.kind == TokenKind::Symbol && matches!(self.text, ")" | "]" | "}")
    }
}

/// Longer symbols come first, so that `==` is not read as `=` twice.
const SYMBOLS: [&str; 25] = [
    "==", "!=", "<=", ">=", "//", "**", ".", "[", "]", "(", ")", "{", "}", ",", ":", "|", "=", "<", ">", "+", "-", "*",
    "/", "%", "~",
];

/// Reads the expression that `source` begins with, up to the `}}` that ends it. Yields its tokens and the offset of
/// that `}}`.
pub(super) fn tokenize(source: &str) -> Result<(Vec<Token<'_>>, usize), StringProblem> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let mut at = 0;
    loop {
        at += leading(&source[at..], |byte| byte.is_ascii_whitespace());
        let rest = &source[at..];
        if at > EXPRESSION_BYTES_MAX {
            return Err(StringProblem::new(
                0,
                format!("an expression has at most `{EXPRESSION_BYTES_MAX}` bytes"),
            ));
        }
        if rest.is_empty() {
            return Err(StringProblem::new(
                0,
                "`{{` is not closed by `}}`; for braces as text write `{{ \"{{\" }}`",
            ));
        }
        if open.is_empty() && rest.starts_with("}}") {
            return Ok((tokens, at));
        }
        let after_dot = tokens.last().is_some_and(|token| token.is_symbol("."));
        let (kind, length) = measure(rest, after_dot).map_err(|detail| StringProblem::new(at, detail))?;
        let token = Token {
            kind,
            text: &rest[..length],
            start: at,
        };
        track(&mut open, &token)?;
        tokens.push(token);
        at += length;
    }
}

/// Keeps the stack of open brackets.
fn track<'s>(open: &mut Vec<&'s str>, token: &Token<'s>) -> Result<(), StringProblem> {
    if token.opens() {
        open.push(token.text);
        if open.len() > BRACKETS_MAX {
            return Err(StringProblem::new(
                token.start,
                format!("brackets nest at most `{BRACKETS_MAX}` deep"),
            ));
        }
    } else if token.closes() {
        let fits = matches!(
            (open.pop(), token.text),
            (Some("("), ")") | (Some("["), "]") | (Some("{"), "}")
        );
        if !fits {
            return Err(StringProblem::new(
                token.start,
                format!("`{}` closes nothing", token.text),
            ));
        }
    }
    Ok(())
}

/// The kind and length of the token that `rest` begins with.
fn measure(rest: &str, after_dot: bool) -> Result<(TokenKind, usize), String> {
    match rest.as_bytes().first() {
        Some(quote @ (b'"' | b'\'')) => Ok((TokenKind::Text, quoted(rest, *quote)?)),
        Some(byte) if byte.is_ascii_digit() => Ok((TokenKind::Number, number(rest, after_dot)?)),
        Some(byte) if is_name_byte(*byte) => Ok((TokenKind::Name, leading(rest, is_name_byte))),
        _ => SYMBOLS
            .iter()
            .find(|symbol| rest.starts_with(**symbol))
            .map(|symbol| (TokenKind::Symbol, symbol.len()))
            .ok_or_else(|| {
                format!(
                    "`{}` has no meaning in an expression",
                    rest.chars().next().unwrap_or_default()
                )
            }),
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

/// How many bytes at the beginning of `text` are of this kind; only ever asked about ASCII.
fn leading(text: &str, kind: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| kind(*byte)).count()
}

fn quoted(rest: &str, quote: u8) -> Result<usize, String> {
    let mut escaped = false;
    for (index, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            _ if byte == quote => return Ok(index + 1),
            _ => {}
        }
    }
    Err("a quoted text is not closed".into())
}

/// After a dot a number is a position in a list, so `items.0.1` holds no fraction.
fn number(rest: &str, after_dot: bool) -> Result<usize, String> {
    let digits = |from: usize| leading(&rest[from..], |byte| byte.is_ascii_digit());
    let mut length = digits(0);
    if !after_dot {
        if rest[length..].starts_with('.') && digits(length + 1) > 0 {
            length += 1 + digits(length + 1);
        }
        if rest[length..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[length + 1..].starts_with(['+', '-']));
            let exponent = digits(length + 1 + sign);
            length += if exponent > 0 { 1 + sign + exponent } else { 0 };
        }
    }
    if rest[length..].bytes().next().is_some_and(is_name_byte) {
        return Err("a number is followed by a letter; numbers are written in decimal".into());
    }
    Ok(length)
}
