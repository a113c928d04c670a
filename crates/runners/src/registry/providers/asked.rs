//! Credentials of a provider, for as long as one attempt lasts.

use serde_json::json;
use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::{Failure, Outcome};
use sprag_core::text::redact::Redactor;

use crate::secrets::{Filled, SecretError, Secrets, Text};

/// What an attempt asked for. Everything in it is masked in the attempt's outcome.
#[derive(Default)]
pub(crate) struct Asked {
    secrets: Vec<(String, String)>,
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
            self.secrets.push((name.to_owned(), form.to_owned()));
        }
    }

    /// Masks what a service gave for the secrets, such as access tokens.
    pub(crate) fn fetched(&mut self, name: &str, values: Vec<String>) {
        self.secrets
            .extend(values.into_iter().map(|value| (name.to_owned(), value)));
    }

    /// Knows everything that was asked for.
    pub(crate) fn redactor(&self) -> Redactor {
        Redactor::new(self.secrets.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }

    /// Masks everything that was asked for.
    pub(crate) fn masked(&self, outcome: Outcome) -> Outcome {
        outcome.masked(&self.redactor())
    }
}

fn missing(provider: &str, key: &str, error: &SecretError) -> Outcome {
    let (kind, secret) = match error {
        SecretError::Unreadable { name, .. } | SecretError::Unavailable { name, .. } => (kind::TEMPORARY_FAILURE, name),
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
