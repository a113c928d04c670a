//! Inbound webhooks: how a call becomes a message.
//!
//! Nothing here listens or checks a signature: a hook says how its sender is known, and turns a request that was
//! believed into the key, type and payload of a message.

use serde_json::Value;

use crate::expression::template::{RenderError, Template, TemplateLimits};
use crate::text::check_key;

/// The names that a hook's `key`, `type` and `payload` may begin with.
pub(super) const REQUEST_ROOT: &str = "request";
/// What there is of a request.
pub(super) const REQUEST_FIELDS: [&str; 3] = ["body", "headers", "query"];
/// The name that a hook's `secret` may begin with.
pub(super) const SECRETS_ROOT: &str = "secrets";

/// An inbound webhook.
#[derive(Clone, Debug)]
pub struct Hook {
    /// The last segment of its address.
    pub name: String,
    /// How its sender is known.
    pub verify: Verify,
    /// The secrets its signatures are checked with: any of them will do.
    pub secrets: Vec<Template>,
    /// The key of the execution that the message is for.
    pub key: Template,
    /// The message's type.
    pub kind: Template,
    /// What the message carries; the body of the request, where it is not given.
    pub payload: Option<Template>,
}

/// How the sender of a hook is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// By a Standard Webhooks signature.
    StandardWebhooks,
    /// By `DocuSign` Connect's HMAC.
    DocusignHmac,
    /// Not at all.
    Nothing,
}

/// A message that a call became.
#[derive(Clone, Debug, PartialEq)]
pub struct HookMessage {
    /// The key of the execution it is for.
    pub key: String,
    /// Its type.
    pub kind: String,
    /// What it carries.
    pub payload: Value,
}

/// Why a call became no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct HookError {
    /// Where in the machine's definition, as a JSON pointer.
    pub pointer: String,
    /// What happened there.
    pub detail: String,
}

impl Verify {
    /// All of them, with the words for them.
    pub const WORDS: [(&'static str, Self); 3] = [
        ("standard-webhooks", Self::StandardWebhooks),
        ("docusign-hmac", Self::DocusignHmac),
        ("none", Self::Nothing),
    ];

    /// The one that a word stands for.
    pub fn of(word: &str) -> Option<Self> {
        let found = Self::WORDS.iter().find(|(known, _)| *known == word);
        found.map(|(_, verify)| *verify)
    }
}

impl Hook {
    /// The message that a call becomes. `request` is an object with `body`, `headers` and `query`.
    pub fn message(&self, request: &Value) -> Result<HookMessage, HookError> {
        let scope = Value::Object([(REQUEST_ROOT.to_owned(), request.clone())].into_iter().collect());
        let render = |field: &str, template: &Template| {
            template
                .render(&scope, TemplateLimits::default())
                .map_err(|error| self.failed(field, &error))
        };
        Ok(HookMessage {
            key: self.text("key", render("key", &self.key)?)?,
            kind: self.text("type", render("type", &self.kind)?)?,
            payload: match &self.payload {
                Some(payload) => render("payload", payload)?,
                None => request.get("body").cloned().unwrap_or_default(),
            },
        })
    }

    /// A key or a type: a text, or a number as it is written.
    fn text(&self, field: &str, value: Value) -> Result<String, HookError> {
        let text = match value {
            Value::String(text) if !text.is_empty() => text,
            Value::Number(number) => number.to_string(),
            other => {
                let detail = format!("`{field}` is {}, and must be text", described(&other));
                return Err(self.wrong(field, detail));
            }
        };
        match check_key(&text) {
            Ok(()) => Ok(text),
            Err(problem) => Err(self.wrong(field, format!("`{field}` {problem}"))),
        }
    }

    fn wrong(&self, field: &str, detail: String) -> HookError {
        HookError {
            pointer: self.pointer(field),
            detail,
        }
    }

    fn failed(&self, field: &str, error: &RenderError) -> HookError {
        let RenderError { pointer, kind } = error;
        HookError {
            pointer: format!("{}{pointer}", self.pointer(field)),
            detail: kind.to_string(),
        }
    }

    /// Where a field of the hook stands in the machine's definition.
    fn pointer(&self, field: &str) -> String {
        let name = self.name.replace('~', "~0").replace('/', "~1");
        format!("/hooks/{name}/{field}")
    }
}

fn described(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "an empty text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::source::Format;
    use crate::machine::{LoadOptions, load_text};

    fn hook(hook: &str) -> Hook {
        let text = format!("{{id: m, initial: a, states: {{a: {{}}}}, hooks: {{h: {hook}}}}}");
        let loaded = load_text(&text, Format::Yaml, &LoadOptions::default());
        let findings = loaded.findings;
        let mut machine = loaded.machine.unwrap_or_else(|| panic!("{findings:#?}"));
        machine.hooks.remove(0)
    }

    fn request() -> Value {
        json!({
            "body": {"order": 7, "lines": [1, 2], "note": null},
            "headers": {"x-kind": "paid"},
            "query": {"shop": "north"},
        })
    }

    #[test]
    fn a_call_becomes_a_message() {
        let hook = hook(
            r#"{verify: none, key: "{{request.query.shop}}-{{request.body.order}}", type: '{{request.headers["x-kind"] | upper}}', payload: {all: "{{request.body.lines}}"}}"#,
        );
        let message = hook.message(&request()).unwrap();
        assert_eq!(
            message,
            HookMessage {
                key: "north-7".to_owned(),
                kind: "PAID".to_owned(),
                payload: json!({"all": [1, 2]}),
            }
        );
    }

    #[test]
    fn without_a_payload_the_message_carries_the_body_and_a_number_may_be_a_key() {
        let hook = hook(r#"{verify: none, key: "{{request.body.order}}", type: PAID}"#);
        let message = hook.message(&request()).unwrap();
        assert_eq!((message.key.as_str(), &message.payload), ("7", &request()["body"]));
    }

    #[test]
    fn what_cannot_be_rendered_is_named_with_its_place() {
        for (written, pointer, word) in [
            (
                r#"{verify: none, key: "{{request.body.gone}}", type: A}"#,
                "/hooks/h/key",
                "request.body.gone",
            ),
            (
                r#"{verify: none, key: "{{request.body.note}}", type: A}"#,
                "/hooks/h/key",
                "null",
            ),
            (
                r#"{verify: none, key: k, type: "{{request.body.lines}}"}"#,
                "/hooks/h/type",
                "a list",
            ),
            (r#"{verify: none, key: k, type: ""}"#, "/hooks/h/type", "an empty text"),
            (
                r#"{verify: none, key: k, type: A, payload: {a: ["{{request.query.gone}}"]}}"#,
                "/hooks/h/payload/a/0",
                "request.query.gone",
            ),
        ] {
            let error = hook(written).message(&request()).unwrap_err();
            assert_eq!(error.pointer, pointer, "{written}");
            assert!(error.detail.contains(word), "{error}");
        }
    }

    #[test]
    fn every_word_has_its_verification() {
        for (word, verify) in Verify::WORDS {
            assert_eq!(Verify::of(word), Some(verify));
        }
        assert_eq!(Verify::of("nothing"), None);
    }
}
