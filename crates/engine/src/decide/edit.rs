//! What a person changes about a dead letter before it is retried.
//!
//! A string that the person does not change keeps its captured value: a fact, or a template of something late-bound. A new one may name secrets and the attempt, which are bound when it is tried; facts of the
//! execution are not known any more, so naming them is refused. The runner of the action's type judges the result as it
//! judges a definition that is applied.

use serde_json::{Map, Value};
use sprag_core::action::edit::{EditError, Editable, RetryLists};
use sprag_core::action::secret::Owner;
use sprag_core::action::{Action, Definition};
use sprag_core::document::json;
use sprag_core::expression::template::{Frozen, Template};

use super::{Decider, Edited, policy_of, timeout_of};
use crate::requests::{Code, Refusal, RetryDead};

/// What can be named in a configuration that an operator edits.
const LATE: [&str; 2] = ["secrets", "attempt"];

/// Changes the action as a retry asks.
pub(crate) fn edit(decider: &Decider<'_>, action: &mut Action, retry: &RetryDead) -> Result<(), Refusal> {
    if let Some(config) = &retry.config {
        let sent = decider.config_sent(action);
        let frozen = edited(decider, action, sent.as_ref(), config).map_err(|errors| refused("/config", &errors))?;
        action.body.frozen = Some(frozen);
    }
    if retry.patch.is_empty() {
        return Ok(());
    }
    patch(decider, action, retry)
}

fn patch(decider: &Decider<'_>, action: &mut Action, retry: &RetryDead) -> Result<(), Refusal> {
    let sent = decider.config_sent(action);
    let machine = decider.machine(&action.origin.machine, action.origin.version);
    let definition = machine.as_ref().and_then(|machine| machine.action(&action.action_id));
    let before = editable(action, definition.map(|(_, definition)| definition), sent.as_ref());
    let after = before
        .patched(&retry.patch)
        .map_err(|error| refused("/patch", &[error]))?;
    if after.config != before.config {
        let frozen = edited(decider, action, sent.as_ref(), &after.config);
        action.body.frozen = Some(frozen.map_err(|errors| refused("/patch", &errors))?);
    }
    let overrides = &mut action.body.overrides;
    if after.timeout != before.timeout {
        overrides.timeout = Some(after.timeout);
    }
    if after.retry_policy != before.retry_policy {
        overrides.retry_policy = Some(after.retry_policy);
    }
    Ok(())
}

/// An edited configuration in the form that is stored, if the action's runner can use it.
fn edited(
    decider: &Decider<'_>,
    action: &Action,
    sent: Option<&Frozen>,
    config: &Value,
) -> Result<Frozen, Vec<EditError>> {
    let wrong = |pointer: &str, detail: String| EditError {
        pointer: format!("/config{pointer}"),
        detail,
    };
    if !config.is_object() {
        return Err(vec![wrong("", "a configuration must be an object".to_owned())]);
    }
    let frozen = refrozen(sent, config).map_err(|error| vec![error])?;
    let problems = decider.rules.types.problems(Edited {
        owner: Owner {
            machine: &action.origin.machine,
            kind: &action.kind,
        },
        runner: action.body.runner.as_deref(),
        config: &frozen,
    });
    if problems.is_empty() {
        return Ok(frozen);
    }
    let errors = problems
        .iter()
        .map(|problem| wrong(&problem.pointer, format!("{}; {}", problem.detail, problem.remedy)));
    Err(errors.collect())
}

/// An action as one document.
pub(crate) fn editable(action: &Action, definition: Option<&Definition>, sent: Option<&Frozen>) -> Editable {
    Editable {
        timeout: timeout_of(action, definition),
        retry_policy: RetryLists::of(&policy_of(action, definition)),
        config: sent.map_or_else(|| Value::Object(Map::new()), |sent| sent.config.clone()),
    }
}

/// An edited configuration in the form that is stored.
fn refrozen(before: Option<&Frozen>, config: &Value) -> Result<Frozen, EditError> {
    let mut late = Vec::new();
    json::each_text(config, &mut |pointer, text| {
        let known = before.filter(|before| before.config.pointer(pointer).and_then(Value::as_str) == Some(text));
        let is_late = match known {
            Some(before) => before.late.iter().any(|place| place == pointer),
            None => names_late(pointer, text)?,
        };
        if is_late {
            late.push(pointer.to_owned());
        }
        Ok(())
    })?;
    let bindings = before
        .filter(|_| !late.is_empty())
        .map(|before| before.bindings.clone());
    Ok(Frozen {
        config: config.clone(),
        late,
        bindings: bindings.unwrap_or_default(),
    })
}

/// Whether a new string names something late-bound; an error if it names anything else.
fn names_late(pointer: &str, text: &str) -> Result<bool, EditError> {
    let wrong = |detail: String| EditError {
        pointer: format!("/config{pointer}"),
        detail,
    };
    let template = Template::compile(&Value::String(text.to_owned())).map_err(|errors| {
        let details: Vec<String> = errors.into_iter().map(|error| error.detail).collect();
        wrong(details.join("; "))
    })?;
    if let Some(other) = template
        .paths()
        .find(|path| !path.root().is_some_and(|root| LATE.contains(&root)))
    {
        let detail = format!(
            "`{other}` is known only at the trigger: write its value instead; only `secrets.*` and `attempt.*` are \
             allowed"
        );
        return Err(wrong(detail));
    }
    Ok(template.paths().next().is_some())
}

fn refused(field: &str, errors: &[EditError]) -> Refusal {
    let at = |error: &EditError| match field {
        "/config" => error.pointer.clone(),
        _ => format!("{field}{}", error.pointer),
    };
    let first = errors.first().map(ToString::to_string).unwrap_or_default();
    Refusal {
        errors: errors.iter().map(|error| (at(error), error.detail.clone())).collect(),
        ..Refusal::new(Code::EditInvalid, format!("the edit is not valid: {first}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn frozen() -> Frozen {
        Frozen {
            config: json!({"url": "http://{{secrets.host}}/{{variables.id}}", "note": "{{not a template", "to": "x"}),
            late: vec!["/url".to_owned()],
            bindings: Map::from_iter([("variables.id".to_owned(), json!(7))]),
        }
    }

    #[test]
    fn what_stands_where_it_stood_is_what_it_was_and_new_strings_may_name_secrets() {
        let mut config = frozen().config;
        config["to"] = json!("y");
        config["key"] = json!("Bearer {{secrets.token}}");
        let edited = refrozen(Some(&frozen()), &config).unwrap();
        assert_eq!(edited.late, ["/url", "/key"]);
        assert_eq!(edited.bindings, frozen().bindings);
        let plain = refrozen(None, &json!({"a": ["b"]})).unwrap();
        assert_eq!((plain.late.len(), plain.bindings.len()), (0, 0));
    }

    #[test]
    fn facts_of_the_execution_and_broken_templates_are_refused_with_their_place() {
        for text in ["{{variables.id}}", "{{secrets.", "{{ now }}"] {
            let error = refrozen(Some(&frozen()), &json!({"list": [text]})).unwrap_err();
            assert_eq!(error.pointer, "/config/list/0", "{error}");
        }
    }
}
