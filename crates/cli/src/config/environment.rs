//! The environment's say: one variable for each key, and nothing else of it.

use std::ffi::OsString;

use serde_json::{Value, json};
use sprag_core::document::Shape;
use sprag_core::document::source::nearest;

use super::keys::{self, Key};
use super::layers::{Layers, Place, Problem, check};

/// Variables that are no keys and still ours.
const OTHERS: [&str; 9] = [
    "SPRAG_CONFIG",
    "SPRAG_SERVER",
    "SPRAG_TOKEN",
    "SPRAG_CA",
    "SPRAG_CLIENT_CERT",
    "SPRAG_CLIENT_KEY",
    "SPRAG_LOG",
    "SPRAG_FAILPOINT",
    "SPRAG_ATTEMPT",
];
const SECRETS: &str = "SPRAG_SECRET_";

/// The variables of a process whose names begin with `SPRAG_`; a value that is not UTF-8 is none.
#[derive(Debug, Default)]
pub(crate) struct Environment(Vec<(String, Option<String>)>);

impl Environment {
    /// Those of this process.
    pub(crate) fn process() -> Self {
        Self::from_pairs(std::env::vars_os())
    }

    fn from_pairs(pairs: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()));
        let mut pairs: Vec<(String, Option<String>)> = pairs
            .into_iter()
            .filter_map(text)
            .filter(|(name, _)| name.starts_with("SPRAG_"))
            .collect();
        pairs.sort_unstable();
        Self(pairs)
    }

    #[cfg(test)]
    pub(super) fn of(pairs: &[(&str, &str)]) -> Self {
        Self::from_pairs(pairs.iter().map(|(name, value)| (name.into(), value.into())))
    }

    /// Reads every variable that names a key into `layers`; says everything that is wrong.
    pub(super) fn read(&self, layers: &mut Layers) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (name, text) in &self.0 {
            let Some(key) = keys::KEYS.iter().find(|key| key.variable == name) else {
                continue;
            };
            let place = Place::Variable(name.clone());
            let unreadable = || ("its value is not UTF-8".to_owned(), "write it in UTF-8".to_owned());
            let text = text.as_deref().ok_or_else(unreadable);
            let parsed = text.and_then(|text| parse(key, text));
            let checked = parsed.and_then(|value| check(&key.shape, &value).map(|()| value));
            match checked {
                Ok(value) => layers.set(key, value, place),
                Err((detail, remedy)) => problems.push(Problem {
                    place,
                    code: "wrong-value",
                    detail,
                    remedy,
                }),
            }
        }
        problems
    }

    /// Variables that look like a slip of the pen, with what was most likely meant. They are not refused: platforms
    /// set variables of their own under any prefix.
    pub(crate) fn doubtful(&self) -> Vec<(&str, &'static str)> {
        let known = || keys::KEYS.iter().map(|key| key.variable).chain(OTHERS);
        let unknown = self.0.iter().map(|(name, _)| name.as_str());
        let unknown = unknown.filter(|name| !name.starts_with(SECRETS) && !known().any(|known| known == *name));
        unknown
            .filter_map(|name| Some((name, nearest(name, known())?)))
            .collect()
    }
}

fn parse(key: &Key, text: &str) -> Result<Value, (String, String)> {
    match key.shape {
        Shape::List(_) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Ok(items.map(Value::from).collect())
        }
        Shape::Open => serde_json::from_str(text).map_err(|error| {
            (
                format!("its value is not JSON: {error}"),
                "write a JSON object, or write the table into the configuration file".to_owned(),
            )
        }),
        Shape::Whole { least, most } => text.trim().parse::<u64>().map(|number| json!(number)).map_err(|_| {
            (
                format!("`{text}` is not a whole number"),
                format!("write a number from {least} to {most}"),
            )
        }),
        Shape::Flag => text.trim().parse::<bool>().map(Value::from).map_err(|_| {
            (
                format!("`{text}` is neither true nor false"),
                "write `true` or `false`".to_owned(),
            )
        }),
        _ => Ok(Value::from(text)),
    }
}
