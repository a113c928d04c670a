//! From a filter to a condition: fields must exist, values must have their types, words must be known.

use super::condition::{Comparison, Condition, Constant};
use super::lexer::cut;
use super::parse::{Filter, Literal, Operator, Parsed, Term};
use super::resource::{Id, Resource, ValueKind};
use crate::document::source::nearest;
use crate::ids::{ActionId, ExecutionId, JobId};
use crate::time::Timestamp;

/// What is wrong with one comparison of a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {detail}")]
pub struct CheckError {
    /// Where the comparison begins, in characters from 1.
    pub column: usize,
    /// What is wrong, with the value and what would be right.
    pub detail: String,
}

impl Parsed {
    /// The condition that the filter puts on `resource`.
    pub fn check(&self, resource: Resource) -> Result<Condition, CheckError> {
        check(&self.filter, resource, &mut self.columns.iter().copied())
    }
}

fn check(
    filter: &Filter,
    resource: Resource,
    columns: &mut dyn Iterator<Item = usize>,
) -> Result<Condition, CheckError> {
    Ok(match filter {
        Filter::And(parts) => Condition::All(check_all(parts, resource, columns)?),
        Filter::Or(parts) => Condition::Any(check_all(parts, resource, columns)?),
        Filter::Not(inner) => Condition::Not(Box::new(check(inner, resource, columns)?)),
        Filter::Term(term) => {
            let column = columns.next().unwrap_or(1);
            Condition::Is(test(term, resource).map_err(|detail| CheckError { column, detail })?)
        }
    })
}

fn check_all(
    parts: &[Filter],
    resource: Resource,
    columns: &mut dyn Iterator<Item = usize>,
) -> Result<Vec<Condition>, CheckError> {
    parts.iter().map(|part| check(part, resource, columns)).collect()
}

fn test(term: &Term, resource: Resource) -> Result<Comparison, String> {
    let Term {
        field: name,
        operator,
        values,
    } = term;
    let known = resource.kinds().iter().find(|(field, _)| field.name() == name);
    let Some(&(field, kind)) = known else {
        return Err(unknown_field(name, resource));
    };
    let is_ordered = !matches!(operator, Operator::Equal | Operator::NotEqual | Operator::In);
    if is_ordered && matches!(kind, ValueKind::Texts | ValueKind::Word(_)) {
        return Err(format!("`{name}` takes `=`, `!=` and `IN`, not `{}`", operator.sign()));
    }
    let constants = values.iter().map(|value| constant(name, kind, value));
    Ok(Comparison {
        field,
        relation: *operator,
        constants: constants.collect::<Result<_, _>>()?,
    })
}

fn unknown_field(name: &str, resource: Resource) -> String {
    let names = || resource.fields().map(super::Field::name);
    let shown = cut(name);
    let noun = resource.noun();
    match nearest(name, names()) {
        Some(nearest) => format!("{noun} have no field `{shown}`; did you mean `{nearest}`?"),
        None => format!("{noun} have no field `{shown}`; they have {}", quoted(names())),
    }
}

fn constant(name: &str, kind: ValueKind, value: &Literal) -> Result<Constant, String> {
    let needs = |what: &str| format!("`{name}` takes {what}, not {}", shown(value));
    match (kind, value) {
        (ValueKind::Text | ValueKind::Texts, Literal::Text(text)) => Ok(Constant::Text(text.clone())),
        (ValueKind::Text | ValueKind::Texts, _) => Err(needs("a text in double quotes")),
        (ValueKind::Number, Literal::Whole(number)) => Ok(Constant::Number(*number)),
        (ValueKind::Number, _) => Err(needs("a whole number")),
        (ValueKind::Word(words), Literal::Text(text)) => word(name, words, text),
        (ValueKind::Word(words), _) => Err(needs(&format!(
            "one of {}",
            quoted(words.iter().map(|(word, _)| *word))
        ))),
        (ValueKind::Time, Literal::Text(text)) => {
            let instant = instant(text).ok_or_else(|| needs(TIME))?;
            Ok(Constant::Number(instant.as_millis()))
        }
        (ValueKind::Time, _) => Err(needs(TIME)),
        (ValueKind::Id(id), Literal::Text(text)) => match id.bytes(text) {
            Ok(bytes) => Ok(Constant::Id(bytes)),
            Err(problem) => Err(format!("`{name}`: {problem}")),
        },
        (ValueKind::Id(_), _) => Err(needs("an id in double quotes")),
    }
}

const TIME: &str = "an instant such as \"2026-01-31T12:00:00Z\" or a day such as \"2026-01-31\"";

/// An instant, or the first one of a day in UTC.
fn instant(text: &str) -> Option<Timestamp> {
    let is_day = text.len() == "2026-01-31".len();
    let whole = if is_day {
        format!("{text}T00:00:00Z")
    } else {
        text.to_owned()
    };
    whole.parse().ok()
}

impl Id {
    fn bytes(self, text: &str) -> Result<[u8; 16], crate::ids::ParseIdError> {
        match self {
            Self::Execution => text.parse().map(ExecutionId::to_bytes),
            Self::Action => text.parse().map(ActionId::to_bytes),
            Self::Job => text.parse().map(JobId::to_bytes),
        }
    }
}

fn word(name: &str, words: &[(&'static str, u8)], text: &str) -> Result<Constant, String> {
    if let Some((_, number)) = words.iter().find(|(word, _)| *word == text) {
        return Ok(Constant::Number(i64::from(*number)));
    }
    let all = || words.iter().map(|(word, _)| *word);
    let shown = cut(text);
    Err(match nearest(text, all()) {
        Some(nearest) => format!("`{name}` is never \"{shown}\"; did you mean \"{nearest}\"?"),
        None => format!("`{name}` is never \"{shown}\"; it is one of {}", quoted(all())),
    })
}

fn shown(value: &Literal) -> String {
    match value {
        Literal::Text(text) => format!("the text \"{}\"", cut(text)),
        Literal::Whole(_) | Literal::Fraction(_) => format!("the number {value}"),
        Literal::Bool(_) => format!("`{value}`"),
    }
}

fn quoted<'w>(words: impl Iterator<Item = &'w str>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
