//! Filters as text again: parsing what is printed gives the same filter.

use std::fmt;

use super::parse::{Filter, Literal, Operator, Term};

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::And(parts) => joined(f, parts, " AND "),
            Self::Or(parts) => joined(f, parts, " OR "),
            Self::Not(inner) => {
                f.write_str("NOT ")?;
                operand(f, inner)
            }
            Self::Term(term) => term.fmt(f),
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, parts: &[Filter], sign: &str) -> fmt::Result {
    for (position, part) in parts.iter().enumerate() {
        if position > 0 {
            f.write_str(sign)?;
        }
        operand(f, part)?;
    }
    Ok(())
}

/// An operand: an expression with operators of its own goes into parentheses.
fn operand(f: &mut fmt::Formatter<'_>, filter: &Filter) -> fmt::Result {
    match filter {
        Filter::And(_) | Filter::Or(_) => write!(f, "({filter})"),
        Filter::Not(_) | Filter::Term(_) => write!(f, "{filter}"),
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            field,
            operator,
            values,
        } = self;
        write!(f, "{field} {} ", operator.sign())?;
        if *operator == Operator::In {
            f.write_str("(")?;
        }
        for (position, value) in values.iter().enumerate() {
            if position > 0 {
                f.write_str(", ")?;
            }
            value.fmt(f)?;
        }
        if *operator == Operator::In {
            f.write_str(")")?;
        }
        Ok(())
    }
}

impl Operator {
    /// As it is written.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::In => "IN",
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => {
                f.write_str("\"")?;
                for character in text.chars() {
                    match character {
                        '"' | '\\' => write!(f, "\\{character}")?,
                        '\n' => f.write_str("\\n")?,
                        '\r' => f.write_str("\\r")?,
                        '\t' => f.write_str("\\t")?,
                        other if other.is_ascii_control() => write!(f, "\\u{:04x}", u32::from(other))?,
                        other => write!(f, "{other}")?,
                    }
                }
                f.write_str("\"")
            }
            Self::Whole(number) => number.fmt(f),
            // With a point or an exponent always, so that it is read as a fraction again.
            Self::Fraction(number) => write!(f, "{number:?}"),
            Self::Bool(value) => value.fmt(f),
        }
    }
}
