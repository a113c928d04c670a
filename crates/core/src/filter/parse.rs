//! The grammar: `OR` binds weakest, then `AND`, then `NOT`; parentheses as one likes, within bounds.

use super::lexer::{FilterToken, tokens};
use super::{BYTES_MAX, DEPTH_MAX, TERMS_MAX};

/// A filter as it was written, before anybody asked whether its fields exist.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// All of these; at least two.
    And(Vec<Self>),
    /// One of these; at least two.
    Or(Vec<Self>),
    /// Not this.
    Not(Box<Self>),
    /// One comparison.
    Term(Term),
}

/// A field compared with values.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The field's name, as it was written.
    pub field: String,
    /// How it is compared.
    pub operator: Operator,
    /// With what: one value, or at least one for `IN`.
    pub values: Vec<Literal>,
}

/// How a field is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `IN (…)`
    In,
}

/// A value as it was written.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `"text"`, also for instants and ids.
    Text(String),
    /// `-12`
    Whole(i64),
    /// `1.5`, always finite.
    Fraction(f64),
    /// `true` or `false`
    Bool(bool),
}

/// A filter with the columns of its terms, so that what is wrong with one can be pointed at.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The filter.
    pub filter: Filter,
    /// Where each term begins, in the order of the text.
    pub(super) columns: Vec<usize>,
}

/// Why a text is not a filter. Columns count characters from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// Something else should stand there.
    #[error("column {column}: found {found}, expected {expected}")]
    Unexpected {
        /// Where.
        column: usize,
        /// The text there.
        found: String,
        /// What the parser expects instead.
        expected: String,
    },
    /// A text with a NUL, which nothing that is stored holds.
    #[error("column {column}: the text holds a NUL character; remove it")]
    Nul {
        /// Where the text begins.
        column: usize,
    },
    /// Too many bytes.
    #[error("the filter has {bytes} bytes; at most {BYTES_MAX} are allowed")]
    TooLong {
        /// How many.
        bytes: usize,
    },
    /// Too many parentheses or `NOT`s within each other.
    #[error("column {column}: the filter is nested deeper than {DEPTH_MAX} levels")]
    TooDeep {
        /// Where the bound is crossed.
        column: usize,
    },
    /// Too many comparisons.
    #[error("column {column}: the filter has more than {TERMS_MAX} comparisons, each value of an `IN` counted as one")]
    TooManyTerms {
        /// Where the bound is crossed.
        column: usize,
    },
}

impl Parsed {
    /// Reads a filter.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        if text.len() > BYTES_MAX {
            return Err(FilterError::TooLong { bytes: text.len() });
        }
        let mut parser = Parser {
            tokens: tokens(text)?.into_iter().peekable(),
            columns: Vec::new(),
            values: 0,
        };
        let filter = parser.any(0)?;
        parser.expect(&FilterToken::End, "`AND`, `OR` or the end")?;
        Ok(Self {
            filter,
            columns: parser.columns,
        })
    }
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<(usize, FilterToken)>>,
    columns: Vec<usize>,
    values: usize,
}

impl Parser {
    /// The next word; the end again and again once it is reached.
    fn next(&mut self) -> (usize, FilterToken) {
        if let Some((column, FilterToken::End)) = self.tokens.peek() {
            return (*column, FilterToken::End);
        }
        self.tokens.next().unwrap_or((1, FilterToken::End))
    }

    /// Takes the next word if it is `token`.
    fn takes(&mut self, token: &FilterToken) -> bool {
        self.tokens.next_if(|(_, next)| next == token).is_some()
    }

    fn expect(&mut self, token: &FilterToken, expected: &str) -> Result<(), FilterError> {
        let (column, found) = self.next();
        if found == *token {
            Ok(())
        } else {
            Err(unexpected(column, &found, expected))
        }
    }

    fn any(&mut self, depth: usize) -> Result<Filter, FilterError> {
        let first = self.all(depth)?;
        let mut parts = vec![first];
        while self.takes(&FilterToken::Or) {
            parts.push(self.all(depth)?);
        }
        Ok(one_or(parts, Filter::Or))
    }

    fn all(&mut self, depth: usize) -> Result<Filter, FilterError> {
        let first = self.not(depth)?;
        let mut parts = vec![first];
        while self.takes(&FilterToken::And) {
            parts.push(self.not(depth)?);
        }
        Ok(one_or(parts, Filter::And))
    }

    fn not(&mut self, depth: usize) -> Result<Filter, FilterError> {
        let (column, token) = self.next();
        if matches!(token, FilterToken::Not | FilterToken::Open) && depth >= DEPTH_MAX {
            return Err(FilterError::TooDeep { column });
        }
        match token {
            FilterToken::Not => Ok(Filter::Not(Box::new(self.not(depth + 1)?))),
            FilterToken::Open => {
                let inner = self.any(depth + 1)?;
                self.expect(&FilterToken::Close, "`AND`, `OR` or `)`")?;
                Ok(inner)
            }
            FilterToken::Name(field) => {
                self.columns.push(column);
                self.term(field).map(Filter::Term)
            }
            other => Err(unexpected(column, &other, "a field, `NOT` or `(`")),
        }
    }

    fn term(&mut self, field: String) -> Result<Term, FilterError> {
        let (column, token) = self.next();
        let operator = match token {
            FilterToken::Equal => Operator::Equal,
            FilterToken::NotEqual => Operator::NotEqual,
            FilterToken::Less => Operator::Less,
            FilterToken::LessOrEqual => Operator::LessOrEqual,
            FilterToken::Greater => Operator::Greater,
            FilterToken::GreaterOrEqual => Operator::GreaterOrEqual,
            FilterToken::In => Operator::In,
            other => {
                let expected = "`=`, `!=`, `<`, `<=`, `>`, `>=` or `IN`";
                return Err(unexpected(column, &other, expected));
            }
        };
        let values = if operator == Operator::In {
            self.list()?
        } else {
            vec![self.value()?]
        };
        Ok(Term {
            field,
            operator,
            values,
        })
    }

    fn list(&mut self) -> Result<Vec<Literal>, FilterError> {
        self.expect(&FilterToken::Open, "`(` after `IN`")?;
        let mut values = vec![self.value()?];
        while self.takes(&FilterToken::Comma) {
            values.push(self.value()?);
        }
        self.expect(&FilterToken::Close, "`,` or `)`")?;
        Ok(values)
    }

    fn value(&mut self) -> Result<Literal, FilterError> {
        let (column, token) = self.next();
        self.values += 1;
        if self.values > TERMS_MAX {
            return Err(FilterError::TooManyTerms { column });
        }
        match token {
            FilterToken::Text(text) => Ok(Literal::Text(text)),
            FilterToken::Whole(number) => Ok(Literal::Whole(number)),
            FilterToken::Fraction(number) => Ok(Literal::Fraction(number)),
            FilterToken::True => Ok(Literal::Bool(true)),
            FilterToken::False => Ok(Literal::Bool(false)),
            other => Err(unexpected(
                column,
                &other,
                "a value: a text in double quotes, a number, `true` or `false`",
            )),
        }
    }
}

fn one_or(mut parts: Vec<Filter>, several: impl FnOnce(Vec<Filter>) -> Filter) -> Filter {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            several(parts)
        }
    }
}

fn unexpected(column: usize, found: &FilterToken, expected: &str) -> FilterError {
    FilterError::Unexpected {
        column,
        found: found.shown(),
        expected: expected.to_owned(),
    }
}
