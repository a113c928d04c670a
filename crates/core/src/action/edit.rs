//! What a person changed about one action: over its definition, for the rest of its life.
//!
//! A dead letter is edited as one document, `{timeout, retryPolicy, config}`, by a JSON Patch. The first two become
//! [`Overrides`]; the configuration is frozen anew.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::retry::Policy;
use crate::document::patch::{self, Operation};

/// The longest an attempt may be allowed by an edit, in milliseconds: thirty days.
const TIMEOUT_MAX: u64 = 30 * 24 * 60 * 60 * 1_000;
/// The most error types in a list.
const ERRORS_MAX: usize = 100;

/// What holds instead of the definition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Overrides {
    /// Milliseconds per attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// How often and after which errors to try again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_policy: Option<RetryLists>,
}

/// The part of a retry policy that an edit may change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetryLists {
    /// The total number of attempts.
    #[schemars(range(min = 1))]
    pub max_attempts: u32,
    /// If set, Sprag retries only these types.
    #[serde(default)]
    pub retryable_errors: Vec<String>,
    /// Sprag never retries these types.
    #[serde(default)]
    pub non_retryable_errors: Vec<String>,
}

impl RetryLists {
    /// Those of a policy.
    pub fn of(policy: &Policy) -> Self {
        Self {
            max_attempts: policy.max_attempts,
            retryable_errors: policy.retryable_errors.clone().unwrap_or_default(),
            non_retryable_errors: policy.non_retryable_errors.clone(),
        }
    }
}

impl Overrides {
    /// Whether the definition holds as it is.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The policy in force.
    pub fn policy(&self, defined: &Policy) -> Policy {
        let mut policy = defined.clone();
        if let Some(lists) = self.retry_policy.clone() {
            policy.max_attempts = lists.max_attempts;
            policy.retryable_errors = Some(lists.retryable_errors);
            policy.non_retryable_errors = lists.non_retryable_errors;
        }
        policy
    }
}

/// An action as one document, to be edited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Editable {
    /// Milliseconds per attempt.
    pub timeout: u64,
    /// How often and after which errors to try again.
    pub retry_policy: RetryLists,
    /// What the runner is given; strings that name secrets are still templates.
    pub config: Value,
}

/// Why an edit cannot be made: where, as a JSON pointer into the document, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct EditError {
    /// Where.
    pub pointer: String,
    /// What is wrong.
    pub detail: String,
}

impl Editable {
    /// The document with a patch applied, if what comes out can be used.
    pub fn patched(&self, operations: &[Operation]) -> Result<Self, EditError> {
        let wrong = |pointer: &str, detail: String| EditError {
            pointer: pointer.to_owned(),
            detail,
        };
        let document = serde_json::to_value(self).map_err(|error| wrong("", error.to_string()))?;
        let edited = patch::apply(&document, operations).map_err(|error| wrong("", error.to_string()))?;
        let edited: Self = serde_json::from_value(edited)
            .map_err(|error| wrong("", format!("the patched document is not valid: {error}")))?;
        edited.check()?;
        Ok(edited)
    }

    fn check(&self) -> Result<(), EditError> {
        let wrong = |pointer: &str, detail: String| {
            Err(EditError {
                pointer: pointer.to_owned(),
                detail,
            })
        };
        if !(1..=TIMEOUT_MAX).contains(&self.timeout) {
            return wrong(
                "/timeout",
                format!("`{}` is not from 1 to {TIMEOUT_MAX} ms", self.timeout),
            );
        }
        let lists = &self.retry_policy;
        if lists.max_attempts == 0 {
            return wrong(
                "/retryPolicy/maxAttempts",
                "`0` attempts are not possible; write at least `1`".to_owned(),
            );
        }
        if lists.retryable_errors.len().max(lists.non_retryable_errors.len()) > ERRORS_MAX {
            return wrong("/retryPolicy", format!("a list has at most {ERRORS_MAX} error types"));
        }
        if !self.config.is_object() {
            return wrong("/config", "a configuration must be an object".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn editable() -> Editable {
        Editable {
            timeout: 1_000,
            retry_policy: RetryLists::of(&Policy {
                retryable_errors: Some(vec!["timeout".to_owned()]),
                ..Policy::default()
            }),
            config: json!({"url": "http://x"}),
        }
    }

    fn operations(patch: Value) -> Vec<Operation> {
        serde_json::from_value(patch).unwrap()
    }

    #[test]
    fn a_patch_raises_the_timeout_and_adds_to_the_list() {
        let patch = operations(json!([
            {"op": "replace", "path": "/timeout", "value": 2_000},
            {"op": "add", "path": "/retryPolicy/retryableErrors/-", "value": "network_error"},
        ]));
        let edited = editable().patched(&patch).unwrap();
        assert_eq!(edited.timeout, 2_000);
        let overrides = Overrides {
            timeout: None,
            retry_policy: Some(edited.retry_policy),
        };
        let policy = overrides.policy(&Policy::default());
        assert!(policy.retries("network_error") && policy.retries("timeout") && !policy.retries("panic"));
    }

    #[test]
    fn what_a_patch_must_not_make_is_refused_with_its_place() {
        let wrong = [
            (json!({"op": "replace", "path": "/timeout", "value": 0}), "/timeout"),
            (
                json!({"op": "replace", "path": "/retryPolicy/maxAttempts", "value": 0}),
                "/retryPolicy/maxAttempts",
            ),
            (json!({"op": "replace", "path": "/config", "value": []}), "/config"),
            (json!({"op": "add", "path": "/retryPolicy/jitter", "value": true}), ""),
            (json!({"op": "replace", "path": "/timeout", "value": "long"}), ""),
        ];
        for (operation, pointer) in wrong {
            let error = editable().patched(&operations(json!([operation]))).unwrap_err();
            assert_eq!(error.pointer, pointer, "{error}");
        }
    }
}
