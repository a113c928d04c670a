//! One string of a template: its literal text and its expressions.
//!
//! Only `{{…}}` is syntax. What Jinja would read otherwise (`{% … %}`, `{# … #}`, `{{-`) is refused rather than sent to
//! someone as it stands; `}}` without a beginning is text.

use serde_json::Value as Json;

use super::error::{RenderErrorKind, StringProblem};
use super::expression::Expression;
use super::limits::{EXPRESSIONS_PER_STRING_MAX, Meter};
use super::secret::SecretUse;
use super::token::tokenize;
use crate::expression::scope::Scope;

/// A string that holds at least one expression.
#[derive(Clone, Debug)]
pub(super) struct Text {
    source: Box<str>,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Literal(Box<str>),
    Expression(Expression),
}

impl Text {
    /// Compiles `source`; `None` where it is literal throughout.
    pub(super) fn compile(source: &str) -> Result<Option<Self>, Vec<StringProblem>> {
        let mut parts = Vec::new();
        let mut problems = Vec::new();
        let mut at = 0;
        while let Some(start) = source[at..].find("{{").map(|found| at + found) {
            literal(source, at, start, &mut parts, &mut problems);
            match expression(&source[start + 2..], &mut problems, start + 2) {
                Some((part, length)) => {
                    parts.extend(part.map(Part::Expression));
                    at = start + 2 + length;
                }
                // Where an expression does not end, nothing after it can be read.
                None => return Err(problems),
            }
        }
        literal(source, at, source.len(), &mut parts, &mut problems);
        let text = Self {
            source: source.into(),
            parts,
        };
        let count = text.expressions().count();
        if count > EXPRESSIONS_PER_STRING_MAX {
            let detail = format!("a string has at most `{EXPRESSIONS_PER_STRING_MAX}` expressions, this one `{count}`");
            problems.push(StringProblem::new(0, detail));
        }
        if problems.is_empty() {
            Ok((count > 0).then_some(text))
        } else {
            Err(problems)
        }
    }

    /// The string as written.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.parts.iter().filter_map(|part| match part {
            Part::Expression(expression) => Some(expression),
            Part::Literal(_) => None,
        })
    }

    /// Whether one of its expressions names a late-bound value.
    pub(super) fn is_late(&self) -> bool {
        self.expressions().any(Expression::is_late)
    }

    /// Every secret that its expressions name; the string stands at `pointer`.
    pub(super) fn secrets(&self, pointer: &str) -> impl Iterator<Item = SecretUse> {
        self.expressions()
            .flat_map(move |expression| expression.secrets(pointer))
    }

    /// Refuses an expression that does more with a secret than it may.
    pub(super) fn check_secrets(&self) -> Result<(), RenderErrorKind> {
        self.expressions().try_for_each(Expression::check_secrets)
    }

    /// The value of the one expression it is, else text.
    pub(super) fn render(&self, scope: &dyn Scope, meter: &mut Meter) -> Result<Json, RenderErrorKind> {
        if let [Part::Expression(only)] = self.parts.as_slice() {
            return only.evaluate(scope, meter);
        }
        self.render_text(scope, meter, str::to_owned).map(Json::String)
    }

    /// Its text, also where it is one expression; each value goes through `escape`.
    pub(super) fn render_text(
        &self,
        scope: &dyn Scope,
        meter: &mut Meter,
        escape: fn(&str) -> String,
    ) -> Result<String, RenderErrorKind> {
        let mut rendered = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(literal) => {
                    meter.output.take(literal.len())?;
                    rendered.push_str(literal);
                }
                Part::Expression(expression) => rendered.push_str(&escape(&expression.text(scope, meter)?)),
            }
        }
        Ok(rendered)
    }
}

/// Takes `source[start..end]` as literal text.
fn literal(source: &str, start: usize, end: usize, parts: &mut Vec<Part>, problems: &mut Vec<StringProblem>) {
    let literal = &source[start..end];
    if literal.is_empty() {
        return;
    }
    if let Some(found) = literal.find("{%") {
        let detail = "`{%` is not available: templates hold expressions only, as in `{{ a if condition else b }}`; for \
                      `{%` as text write `{{ \"{%\" }}`";
        problems.push(StringProblem::new(start + found, detail));
    }
    if let Some(found) = literal.find("{#").filter(|found| literal[*found..].contains("#}")) {
        let detail = "`{# … #}` is not a comment here; put it into the file's own comments, or for `{#` as text write \
                      `{{ \"{#\" }}`";
        problems.push(StringProblem::new(start + found, detail));
    }
    parts.push(Part::Literal(literal.into()));
}

/// Compiles the expression that `rest` begins with. Yields how far it goes, its braces included, or `None` where that
/// cannot be told.
fn expression(rest: &str, problems: &mut Vec<StringProblem>, offset: usize) -> Option<(Option<Expression>, usize)> {
    let mut note = |problem: StringProblem| problems.push(StringProblem::new(offset + problem.offset, problem.detail));
    let (tokens, end) = tokenize(rest).map_err(&mut note).ok()?;
    let source = &rest[..end];
    let compiled = if source.starts_with(['-', '+']) || source.ends_with(['-', '+']) {
        let detail = "`{{-` and `-}}` do not remove blanks here; for a negative number write `{{ -1 }}`";
        Err(StringProblem::new(0, detail))
    } else {
        Expression::compile(source, &tokens)
    };
    Some((compiled.map_err(note).ok(), end + 2))
}
