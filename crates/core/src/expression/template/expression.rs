//! One `{{…}}`: compiled once, evaluated against a scope.
//!
//! An expression that is nothing but a path is read from the scope directly. Any other is given copies of exactly the
//! values it names. The same values give the same result, on every machine.

use std::fmt;
use std::sync::Arc;

use minijinja::ErrorKind;
use minijinja::value::Value;
use serde_json::Value as Json;

use super::analyze::{analyze, is_late};
use super::convert::{self, Unfit};
use super::error::{RenderErrorKind, StringProblem};
use super::filters::CATALOG;
use super::limits::{EXPRESSION_INPUT_BYTES_MAX, Meter, Overrun, Room};
use super::secret::{SecretUse, is_secret, misused, stands_alone};
use super::token::Token;
use crate::expression::scope::{Path, Scope};

/// A compiled expression.
#[derive(Clone)]
pub(super) struct Expression {
    source: Arc<str>,
    paths: Arc<[Path]>,
    /// Whether it does more with a secret than it may.
    misuses_secret: bool,
    /// `None` where the expression is the one path it names.
    program: Option<Arc<minijinja::Expression<'static, 'static>>>,
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.source).finish()
    }
}

/// Why an evaluation yielded nothing.
#[derive(Debug, PartialEq, Eq)]
enum Failure {
    Missing(Option<String>),
    Overrun(Overrun),
    OutOfFuel,
    Other { kind: &'static str, detail: Option<String> },
}

impl Expression {
    /// Compiles the expression that `tokens` were read from.
    pub(super) fn compile(source: &str, tokens: &[Token<'_>]) -> Result<Self, StringProblem> {
        let analysis = analyze(source, tokens)?;
        for (name, offset) in &analysis.filters {
            if !CATALOG.filters.contains(name.as_str()) {
                return Err(unknown("filter", name, *offset, CATALOG.filters.iter()));
            }
        }
        for (name, offset) in &analysis.tests {
            if !CATALOG.tests.contains(name.as_str()) {
                return Err(unknown("test", name, *offset, CATALOG.tests.iter()));
            }
        }
        let program = analysis
            .program
            .map(|program| CATALOG.environment.compile_expression_owned(program));
        let program = program.transpose().map_err(|error| {
            let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
            StringProblem::new(0, format!("`{}` is not an expression: {detail}", source.trim()))
        })?;
        let names_secret = analysis.paths.iter().any(is_secret);
        Ok(Self {
            source: source.trim().into(),
            paths: analysis.paths.into(),
            misuses_secret: names_secret && !stands_alone(tokens),
            program: program.map(Arc::new),
        })
    }

    /// The paths it names, each once.
    pub(super) fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// Whether it names a late-bound value.
    pub(super) fn is_late(&self) -> bool {
        self.paths.iter().any(is_late)
    }

    /// Every secret it names, for the string at `pointer`.
    pub(super) fn secrets(&self, pointer: &str) -> impl Iterator<Item = SecretUse> {
        let paths = self.paths.iter().filter(|path| is_secret(path));
        paths.map(move |path| SecretUse {
            pointer: pointer.to_owned(),
            name: path.segments().get(1).map(ToString::to_string).unwrap_or_default(),
            misuse: self.misuses_secret.then(|| self.source.to_string()),
        })
    }

    /// Refuses an expression that does more with a secret than it may.
    pub(super) fn check_secrets(&self) -> Result<(), RenderErrorKind> {
        if self.misuses_secret {
            return Err(RenderErrorKind::SecretMisused {
                detail: misused(&self.source),
            });
        }
        Ok(())
    }

    /// The value, of the type it has.
    pub(super) fn evaluate(&self, scope: &dyn Scope, meter: &mut Meter) -> Result<Json, RenderErrorKind> {
        let Some(program) = &self.program else {
            return self.read(scope, meter);
        };
        let mut values = self.inputs(scope, meter)?;
        let room = meter.output;
        match run(program, &values, &mut meter.output) {
            Ok(json) => Ok(json),
            Err(failure) => Err(self.explain(program, &mut values, room, failure)),
        }
    }

    /// The text it has inside other text.
    pub(super) fn text(&self, scope: &dyn Scope, meter: &mut Meter) -> Result<String, RenderErrorKind> {
        let mut output = meter.output;
        let json = self.evaluate(scope, meter)?;
        let text = convert::text(json).ok_or_else(|| RenderErrorKind::Null {
            expression: self.source.to_string(),
        })?;
        // Inside a text the text counts, with its escapes, not the value it was made from.
        output.take(text.len())?;
        meter.output = output;
        Ok(text)
    }

    fn read(&self, scope: &dyn Scope, meter: &mut Meter) -> Result<Json, RenderErrorKind> {
        let value = self.paths.first().and_then(|path| scope.lookup(path));
        let value = value.ok_or_else(|| RenderErrorKind::Missing { path: self.name() })?;
        convert::measure(&value, &mut meter.output)?;
        Ok(value.into_owned())
    }

    /// What an error calls this expression: its path where it is one.
    fn name(&self) -> String {
        match (&self.program, self.paths.first()) {
            (None, Some(path)) => path.to_string(),
            _ => self.source.to_string(),
        }
    }

    /// Copies of the values it names, undefined where there is none.
    fn inputs(&self, scope: &dyn Scope, meter: &mut Meter) -> Result<Vec<Value>, RenderErrorKind> {
        let mut room = meter.input.share(EXPRESSION_INPUT_BYTES_MAX);
        let before = room.left();
        let values = self.paths.iter().map(|path| match scope.lookup(path) {
            Some(json) => convert::import(&json, &mut room),
            None => Ok(Value::UNDEFINED),
        });
        let values = values
            .collect::<Result<Vec<_>, _>>()
            .map_err(|overrun| self.input_overrun(overrun))?;
        meter
            .input
            .take(before - room.left())
            .map_err(|overrun| self.input_overrun(overrun))?;
        Ok(values)
    }

    fn input_overrun(&self, overrun: Overrun) -> RenderErrorKind {
        match overrun {
            Overrun::Bytes(limit) => RenderErrorKind::InputTooLarge {
                expression: self.source.to_string(),
                limit,
            },
            Overrun::Depth => overrun.into(),
        }
    }

    /// Says what a failure means to the author. A detail may quote values, so those of late-bound ones are withheld.
    fn explain(
        &self,
        program: &minijinja::Expression<'_, '_>,
        values: &mut [Value],
        room: Room,
        failure: Failure,
    ) -> RenderErrorKind {
        if failure.is_missing() {
            let path = self.culprit(program, values, room, &failure);
            if path.is_some() || matches!(failure, Failure::Missing(_)) {
                return RenderErrorKind::Missing {
                    path: path.map_or_else(|| self.name(), Path::to_string),
                };
            }
        }
        let expression = self.source.to_string();
        match failure {
            Failure::Overrun(overrun) => overrun.into(),
            Failure::OutOfFuel => RenderErrorKind::OutOfFuel { expression },
            Failure::Other {
                detail: Some(detail), ..
            } if !self.is_late() => RenderErrorKind::Failed { expression, detail },
            Failure::Other { kind, .. } => RenderErrorKind::Failed {
                expression,
                detail: kind.to_owned(),
            },
            Failure::Missing(_) => RenderErrorKind::Missing { path: self.name() },
        }
    }

    /// The missing path to blame: the one with whose value, and those of the missing paths before it, the evaluation
    /// would have come to something else. A missing path that has a default is not to blame.
    fn culprit(
        &self,
        program: &minijinja::Expression<'_, '_>,
        values: &mut [Value],
        room: Room,
        failure: &Failure,
    ) -> Option<&Path> {
        for (index, path) in self.paths.iter().enumerate() {
            match values.get_mut(index) {
                Some(value) if value.is_undefined() => *value = Value::from(1),
                _ => continue,
            }
            if run(program, values, &mut { room }).err().as_ref() != Some(failure) {
                return Some(path);
            }
        }
        None
    }
}

fn unknown<'a>(what: &str, name: &str, offset: usize, known: impl Iterator<Item = &'a &'a str>) -> StringProblem {
    let known: Vec<&str> = known
        .copied()
        .filter(|name| name.starts_with(|first: char| first.is_alphabetic()))
        .collect();
    StringProblem::new(
        offset,
        format!("there is no {what} `{name}`; there are `{}`", known.join("`, `")),
    )
}

fn run(program: &minijinja::Expression<'_, '_>, values: &[Value], room: &mut Room) -> Result<Json, Failure> {
    let names = (0..).map(|index: usize| format!("v{index}"));
    let context = Value::from_pairs(
        names
            .zip(values.iter().cloned())
            .filter(|(_, value)| !value.is_undefined()),
    );
    let result = program.eval(context)?;
    Ok(convert::export(&result, room)?)
}

impl Failure {
    /// Whether a missing value may be the reason. The library's arithmetic does not tell missing operands from
    /// unsuitable ones, except in its text.
    fn is_missing(&self) -> bool {
        match self {
            Self::Missing(_) | Self::Other { detail: None, .. } => true,
            Self::Other {
                detail: Some(detail), ..
            } => detail.contains("undefined"),
            Self::Overrun(_) | Self::OutOfFuel => false,
        }
    }
}

impl From<minijinja::Error> for Failure {
    fn from(error: minijinja::Error) -> Self {
        let detail = error.detail().map(str::to_owned);
        match error.kind() {
            ErrorKind::UndefinedError => Self::Missing(detail),
            ErrorKind::OutOfFuel => Self::OutOfFuel,
            ErrorKind::UnknownFilter => Self::Other {
                kind: "unknown filter",
                detail,
            },
            ErrorKind::UnknownTest => Self::Other {
                kind: "unknown test",
                detail,
            },
            ErrorKind::MissingArgument => Self::Other {
                kind: "an argument is missing",
                detail,
            },
            ErrorKind::TooManyArguments => Self::Other {
                kind: "too many arguments",
                detail,
            },
            _ => Self::Other {
                kind: "the operation does not suit the values",
                detail,
            },
        }
    }
}

impl From<Unfit> for Failure {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Missing => Self::Missing(None),
            Unfit::Overrun(overrun) => Self::Overrun(overrun),
            Unfit::Unlike(detail) => Self::Other {
                kind: detail,
                detail: Some(detail.to_owned()),
            },
            Unfit::Failed(error) => error.into(),
        }
    }
}
