//! Rendering in two steps where some values are known later: what is known now is rendered, and the rest stays text.
//!
//! A string is rendered whole or kept whole. What was rendered is data from then on: whoever reads the result as a
//! template again reads only the strings that [`Settled::open`] names.

use serde_json::Value as Json;

use super::analyze::analyze;
use super::compile::Template;
use super::error::{RenderError, StringProblem};
use super::limits::{Meter, TemplateLimits};
use super::token::tokenize;
use crate::expression::scope::{Path, Scope};

/// A value whose strings are rendered as far as they could be.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// The value.
    pub value: Json,
    /// JSON pointers to the strings that still are templates.
    pub open: Vec<String>,
}

impl Template {
    /// Renders every string in which no path is open, and keeps the others as they are written.
    pub fn settle(
        &self,
        scope: &dyn Scope,
        is_open: &dyn Fn(&Path) -> bool,
        limits: TemplateLimits,
    ) -> Result<Settled, RenderError> {
        let mut open = Vec::new();
        let value = self.walk(&mut Meter::new(limits), |text, meter, pointer| {
            let is_settled = text.expressions().all(|one| !one.paths().iter().any(is_open));
            if is_settled {
                return text.render(scope, meter);
            }
            open.push(pointer.to_owned());
            meter.output.take(text.source().len())?;
            Ok(text.source().into())
        })?;
        Ok(Settled { value, open })
    }
}

/// The same value, in which every path that `renamed` answers is written as it answers. A string that is no template, or
/// none that can be read, stays as it is.
pub fn rename(value: &Json, renamed: &dyn Fn(&Path) -> Option<String>) -> Json {
    match value {
        Json::String(text) => rename_text(text, renamed).unwrap_or_else(|_| text.clone()).into(),
        Json::Array(items) => items.iter().map(|item| rename(item, renamed)).collect(),
        Json::Object(members) => members
            .iter()
            .map(|(name, member)| (name.clone(), rename(member, renamed)))
            .collect(),
        Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
    }
}

fn rename_text(source: &str, renamed: &dyn Fn(&Path) -> Option<String>) -> Result<String, StringProblem> {
    let mut written = String::with_capacity(source.len());
    let mut rest = source;
    while let Some((before, inside)) = rest.split_once("{{") {
        let (tokens, end) = tokenize(inside)?;
        let (expression, behind) = inside.split_at(end);
        let analysis = analyze(expression, &tokens)?;
        written.push_str(before);
        written.push_str("{{");
        let mut at = 0;
        for (start, length, path) in analysis.places {
            let name = analysis.paths.get(path).and_then(renamed);
            let Some(name) = name else { continue };
            written.push_str(expression.get(at..start).unwrap_or_default());
            written.push_str(&name);
            at = start + length;
        }
        written.push_str(expression.get(at..).unwrap_or_default());
        written.push_str("}}");
        rest = behind.get(2..).unwrap_or_default();
    }
    written.push_str(rest);
    Ok(written)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_string_with_an_open_path_stays_whole_and_the_others_become_data() {
        let template = Template::compile(&json!({
            "known": "{{params.n}}", "mixed": "{{params.n}}-{{steps.a.result}}", "plain": "x", "list": ["{{steps.a.result}}"]
        }))
        .unwrap();
        let scope = json!({"params": {"n": 5}});
        let is_open = |path: &Path| path.root() == Some("steps");
        let settled = template.settle(&scope, &is_open, TemplateLimits::default()).unwrap();
        assert_eq!(settled.open, ["/mixed", "/list/0"]);
        assert_eq!(
            settled.value,
            json!({"known": 5, "mixed": "{{params.n}}-{{steps.a.result}}", "plain": "x", "list": ["{{steps.a.result}}"]})
        );
    }

    #[test]
    fn paths_are_renamed_where_they_stand_and_nothing_else_is() {
        let renamed = |path: &Path| {
            let [root, name, rest @ ..] = path.segments() else {
                return None;
            };
            let rest: String = rest.iter().flat_map(|part| [".", part.as_ref()]).collect();
            (root.as_ref() == "steps").then(|| format!("steps.fix__{name}{rest}"))
        };
        for (written, expected) in [
            ("a {{ steps.x.result.id }} b", "a {{ steps.fix__x.result.id }} b"),
            (
                "{{steps['x'].result ~ \"steps.x\"}}",
                "{{steps.fix__x.result ~ \"steps.x\"}}",
            ),
            (
                "{{params.x}} steps.x {{steps.x.a}}{{steps.y.b | default(steps.z.c)}}",
                "{{params.x}} steps.x {{steps.fix__x.a}}{{steps.fix__y.b | default(steps.fix__z.c)}}",
            ),
            ("{{ broken", "{{ broken"),
            ("none", "none"),
        ] {
            assert_eq!(rename(&json!([written]), &renamed), json!([expected]));
        }
    }
}
