//! Credentials of a provider, for as long as one attempt lasts.

use std::collections::BTreeMap;

use serde_json::json;
use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::{Failure, Outcome};
use sprag_core::redact::Redactor;

use crate::secrets::{Filled, SecretError, Secrets, Text};

/// What an attempt asked for. Everything in it is masked in the attempt's outcome.
#[derive(Default)]
pub(crate) struct Asked {
    secrets: BTreeMap<String, String>,
}

impl Asked {
    /// The value of a text of `[providers.<provider>]`. The error is the attempt's outcome: nothing left.
    pub(crate) async fn fill(
        &mut self,
        from: &Secrets,
        (provider, key): (&str, &str),
        text: &Text,
    ) -> Result<String, Box<Outcome>> {
        match text.fill(from).await {
            Ok(Filled { text, secrets }) => {
                self.secrets.extend(secrets);
                Ok(text)
            }
            Err(error) => Err(Box::new(missing(provider, key, &error))),
        }
    }

    /// Masks one more form of the secrets, such as the one that a header carries. A text that holds none of them is
    /// the configuration's own, and not masked.
    pub(crate) fn also(&mut self, name: &str, form: &str) {
        if !self.secrets.is_empty() {
            self.secrets.insert(name.to_owned(), form.to_owned());
        }
    }

    /// Masks everything that was asked for.
    pub(crate) fn masked(&self, outcome: Outcome) -> Outcome {
        let pairs = self.secrets.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        outcome.masked(&Redactor::new(pairs))
    }
}

fn missing(provider: &str, key: &str, error: &SecretError) -> Outcome {
    let (kind, secret) = match error {
        SecretError::Unreadable { name, .. } => (kind::TEMPORARY_FAILURE, name),
        SecretError::Name { name }
        | SecretError::Missing { name, .. }
        | SecretError::NotText { name, .. }
        | SecretError::TooLarge { name, .. } => (kind::INVALID_CONFIGURATION, name),
    };
    let error = ActionError::new(kind, format!("`[providers.{provider}] {key}`: {error}"))
        .with_details(json!({"provider": provider, "field": key, "secret": secret}))
        .with_fix(format!(
            "set the secret `{secret}`, which `[providers.{provider}] {key}` names"
        ));
    Outcome::NotDone(Failure::new(error))
}
