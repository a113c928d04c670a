//! Values with the texts in them that are known only later.

use serde_json::{Map, Value};

use crate::expression::scope::Path;
use crate::expression::template::{Template, TemplateLimits};

/// Parameters as a step is given them: data, except for the texts at `open`, which are templates over results of steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Given {
    /// The values.
    pub(super) values: Map<String, Value>,
    /// JSON pointers to the texts that are known only when the step runs.
    pub(super) open: Vec<String>,
}

/// Why a value cannot be handed on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Refused {
    /// Where, as a JSON pointer into the values.
    pub(super) pointer: String,
    /// What is wrong.
    pub(super) detail: String,
    /// What to do.
    pub(super) remedy: String,
}

impl Given {
    /// Plain data.
    pub(super) fn data(values: Map<String, Value>) -> Self {
        Self {
            values,
            open: Vec::new(),
        }
    }

    /// Values whose texts may name results of steps.
    pub(super) fn of_steps(values: &Map<String, Value>) -> Result<Self, Vec<Refused>> {
        Self::default().hand_on(values, "")
    }

    /// Whether something of that value is known only later.
    pub(super) fn is_open(&self, name: &str) -> bool {
        let pointer = format!("/{name}");
        let inside = format!("/{name}/");
        self.open
            .iter()
            .any(|open| *open == pointer || open.starts_with(&inside))
    }

    /// What `written` comes to with these values as `params`. A text that is nothing but `{{params.NAME}}` takes the whole
    /// value, open or not; any other may use only what is known.
    pub(super) fn hand_on(&self, written: &Map<String, Value>, now: &str) -> Result<Self, Vec<Refused>> {
        let mut inside = Self::default();
        let mut refused = Vec::new();
        for (name, value) in written {
            let value = self.one(value, &format!("/{name}"), now, &mut inside.open, &mut refused);
            inside.values.insert(name.clone(), value);
        }
        if refused.is_empty() { Ok(inside) } else { Err(refused) }
    }

    fn one(
        &self,
        value: &Value,
        pointer: &str,
        now: &str,
        open: &mut Vec<String>,
        refused: &mut Vec<Refused>,
    ) -> Value {
        match value {
            Value::String(text) => self.text(text, pointer, now, open).unwrap_or_else(|wrong| {
                refused.push(wrong);
                Value::Null
            }),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items
                    .map(|(at, item)| self.one(item, &format!("{pointer}/{at}"), now, open, refused))
                    .collect()
            }
            Value::Object(members) => members
                .iter()
                .map(|(name, member)| {
                    let token = name.replace('~', "~0").replace('/', "~1");
                    let value = self.one(member, &format!("{pointer}/{token}"), now, open, refused);
                    (name.clone(), value)
                })
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn text(&self, text: &str, pointer: &str, now: &str, open: &mut Vec<String>) -> Result<Value, Refused> {
        let wrong = |detail: String, remedy: &str| Refused {
            pointer: pointer.to_owned(),
            detail,
            remedy: remedy.to_owned(),
        };
        if let Some(whole) = whole_parameter(text).filter(|name| self.is_open(name)) {
            let from = format!("/{whole}");
            let handed = self.open.iter().filter_map(|one| one.strip_prefix(&from));
            open.extend(
                handed
                    .filter(|rest| rest.is_empty() || rest.starts_with('/'))
                    .map(|rest| format!("{pointer}{rest}")),
            );
            return Ok(self.values.get(&whole).cloned().unwrap_or_default());
        }
        let template = Template::compile(&text.into()).map_err(|errors| {
            wrong(
                errors.into_iter().map(|error| error.detail).collect(),
                "fix the expression",
            )
        })?;
        let is_open_parameter = |path: &Path| match path.segments() {
            [root, name, ..] => root.as_ref() == "params" && self.is_open(name),
            _ => false,
        };
        if let Some(path) = template.paths().find(|path| is_open_parameter(path)) {
            let detail = format!("`{path}` is known only when the step runs");
            return Err(wrong(detail, "hand it on whole, as the only thing in the text"));
        }
        let scope = serde_json::json!({ "params": self.values, "now": now });
        let names_steps = |path: &Path| path.root() == Some("steps");
        let settled = template
            .settle(&scope, &names_steps, TemplateLimits::default())
            .map_err(|error| wrong(error.kind.to_string(), "give the value, or a default"))?;
        if !settled.open.is_empty() && template.paths().any(|path| !names_steps(path)) {
            let detail = "a text that names a result of a step names other values too".to_owned();
            return Err(wrong(detail, "put the result into a parameter of its own"));
        }
        if !settled.open.is_empty() {
            open.push(pointer.to_owned());
        }
        Ok(settled.value)
    }
}

/// The parameter that a text hands on, if it does nothing else.
fn whole_parameter(text: &str) -> Option<String> {
    let inside = text.strip_prefix("{{")?.strip_suffix("}}")?.trim();
    let name = inside.strip_prefix("params.")?;
    let is_name = name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
    is_name.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_that_names_a_secret_is_neither_rendered_nor_kept_for_later() {
        for value in [json!("{{secrets.key}}"), json!({ "deep": ["{{secrets.key}}"] })] {
            let written: Map<String, Value> = [("a".to_owned(), value.clone())].into_iter().collect();
            assert!(Given::of_steps(&written).is_err(), "{value}");
            assert!(
                Given::default().hand_on(&written, "2026-01-01T00:00:00Z").is_err(),
                "{value}"
            );
        }
    }
}
