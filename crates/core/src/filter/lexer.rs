//! The words of a filter: names, keywords, texts, numbers and signs, each with the column it begins in.

use super::parse::FilterError;
use crate::text::is_storable;

/// Characters of a name or a text that an error shows.
const SHOWN_MAX: usize = 40;

/// One word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FilterToken {
    /// A field, or a word that is none.
    Name(String),
    And,
    Or,
    Not,
    In,
    True,
    False,
    Text(String),
    Whole(i64),
    Fraction(f64),
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Open,
    Close,
    Comma,
    End,
}

impl FilterToken {
    /// The word as an error names it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Name(name) => format!("`{}`", cut(name)),
            Self::Text(text) => format!("the text \"{}\"", cut(text)),
            Self::Whole(number) => format!("the number {number}"),
            Self::Fraction(number) => format!("the number {number:?}"),
            Self::End => "the end".to_owned(),
            other => format!("`{}`", other.sign()),
        }
    }

    fn sign(&self) -> &'static str {
        match self {
            Self::And => "AND",
            Self::Or => "OR",
            Self::Not => "NOT",
            Self::In => "IN",
            Self::True => "true",
            Self::False => "false",
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Open => "(",
            Self::Close => ")",
            Self::Comma => ",",
            Self::Name(_) | Self::Text(_) | Self::Whole(_) | Self::Fraction(_) | Self::End => "",
        }
    }
}

/// The beginning of a word that may be long, without what a terminal might obey.
pub(super) fn cut(text: &str) -> String {
    let plain = |character: char| if character.is_control() { '\u{fffd}' } else { character };
    let mut shown: String = text.chars().take(SHOWN_MAX).map(plain).collect();
    if text.chars().nth(SHOWN_MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// The words of a text, in order, the last of them [`FilterToken::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, FilterToken)>, FilterError> {
    let mut lexer = Lexer {
        characters: text.chars().collect(),
        at: 0,
    };
    let mut tokens = Vec::new();
    loop {
        lexer.skip(char::is_whitespace);
        let column = lexer.at + 1;
        let token = lexer.token()?;
        let is_end = token == FilterToken::End;
        tokens.push((column, token));
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer {
    characters: Vec<char>,
    at: usize,
}

impl Lexer {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&is_skipped) {
            self.at += 1;
        }
    }

    /// Takes `character` if it is the next one.
    fn takes(&mut self, character: char) -> bool {
        let is_next = self.peek() == Some(character);
        self.at += usize::from(is_next);
        is_next
    }

    /// The characters from `start` to here.
    fn since(&self, start: usize) -> String {
        self.characters.get(start..self.at).unwrap_or_default().iter().collect()
    }

    fn unexpected(&self, at: usize, expected: &str) -> FilterError {
        let found = match self.characters.get(at) {
            Some(character) => format!("`{}`", cut(&character.to_string())),
            None => "the end".to_owned(),
        };
        FilterError::Unexpected {
            column: at + 1,
            found,
            expected: expected.to_owned(),
        }
    }

    fn token(&mut self) -> Result<FilterToken, FilterError> {
        let Some(first) = self.peek() else {
            return Ok(FilterToken::End);
        };
        if first.is_ascii_alphabetic() || first == '_' {
            return Ok(self.word());
        }
        if first.is_ascii_digit() || first == '-' {
            return self.number();
        }
        let start = self.at;
        self.at += 1;
        match first {
            '"' => self.text(),
            '(' => Ok(FilterToken::Open),
            ')' => Ok(FilterToken::Close),
            ',' => Ok(FilterToken::Comma),
            '=' => Ok(FilterToken::Equal),
            '<' if self.takes('=') => Ok(FilterToken::LessOrEqual),
            '<' => Ok(FilterToken::Less),
            '>' if self.takes('=') => Ok(FilterToken::GreaterOrEqual),
            '>' => Ok(FilterToken::Greater),
            '!' if self.takes('=') => Ok(FilterToken::NotEqual),
            '!' => Err(self.unexpected(self.at, "`=` after `!`")),
            '\'' | '“' | '”' => Err(self.unexpected(start, "a text in double quotes, as in \"running\"")),
            _ => Err(self.unexpected(start, "a field, a value, a sign or a parenthesis")),
        }
    }

    fn word(&mut self) -> FilterToken {
        let start = self.at;
        self.skip(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '.'));
        let word = self.since(start);
        match word.to_ascii_lowercase().as_str() {
            "and" => FilterToken::And,
            "or" => FilterToken::Or,
            "not" => FilterToken::Not,
            "in" => FilterToken::In,
            "true" => FilterToken::True,
            "false" => FilterToken::False,
            _ => FilterToken::Name(word),
        }
    }

    /// `-12`, `1.5`, `1e300`. What is no number of 64 bits is refused, not rounded away.
    fn number(&mut self) -> Result<FilterToken, FilterError> {
        let start = self.at;
        self.takes('-');
        self.skip(|character| character.is_ascii_digit());
        let is_whole = !matches!(self.peek(), Some('.' | 'e' | 'E'));
        if !is_whole {
            self.skip(|character| character.is_ascii_alphanumeric() || matches!(character, '.' | '+' | '-'));
        }
        let text = self.since(start);
        let wrong = || FilterError::Unexpected {
            column: start + 1,
            found: format!("`{}`", cut(&text)),
            expected: "a number of 64 bits".to_owned(),
        };
        if is_whole {
            return text.parse().map(FilterToken::Whole).map_err(|_| wrong());
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(FilterToken::Fraction(number)),
            _ => Err(wrong()),
        }
    }

    /// The rest of a text, after its opening quote.
    fn text(&mut self) -> Result<FilterToken, FilterError> {
        let start = self.at;
        let mut text = String::new();
        loop {
            let Some(character) = self.peek() else {
                return Err(self.unexpected(self.at, "the closing `\"` of the text"));
            };
            self.at += 1;
            match character {
                '"' if is_storable(&text) => return Ok(FilterToken::Text(text)),
                '"' => return Err(FilterError::Nul { column: start }),
                '\\' => text.push(self.escaped()?),
                other => text.push(other),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, FilterError> {
        let at = self.at;
        let Some(character) = self.peek() else {
            return Err(self.unexpected(at, "the closing `\"` of the text"));
        };
        self.at += 1;
        match character {
            '"' | '\\' | '/' => Ok(character),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'u' => self.code_point(),
            _ => Err(self.unexpected(at, "one of `\"`, `\\`, `/`, `n`, `r`, `t`, `u` after `\\`")),
        }
    }

    /// Four digits of a code point that is a character by itself.
    fn code_point(&mut self) -> Result<char, FilterError> {
        let start = self.at;
        self.at = self.at.saturating_add(4).min(self.characters.len());
        let digits = self.since(start);
        let is_hex = digits.len() == 4 && digits.chars().all(|digit| digit.is_ascii_hexdigit());
        u32::from_str_radix(&digits, 16)
            .ok()
            .filter(|_| is_hex)
            .and_then(char::from_u32)
            .ok_or_else(|| self.unexpected(start, "four hexadecimal digits of a character after `\\u`"))
    }
}
