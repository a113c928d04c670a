//! The secrets of a test, and which of them were handed out: those are masked in whatever is shown.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use sprag_core::action::BoxFuture;
use sprag_core::text::redact::Redactor;
use sprag_runners::secrets::{Provider, SecretError, Secrets};

/// What was handed out, by name.
#[derive(Clone, Default)]
pub(super) struct Handed(Arc<Mutex<BTreeMap<String, String>>>);

impl Handed {
    fn note(&self, name: &str, value: &str) {
        let mut handed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        handed.insert(name.to_owned(), value.to_owned());
    }

    /// Masks everything that was handed out.
    pub(super) fn redactor(&self) -> Redactor {
        let handed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Redactor::new(handed.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }
}

/// Where the secrets of a test come from.
pub(super) enum SecretSource {
    /// A test names them all.
    Listed(BTreeMap<String, String>),
    /// Whatever is asked for gets a stand-in.
    StandIns,
    /// The providers of a configuration.
    Configured(Secrets),
}

impl SecretSource {
    /// The same as the runners ask it, noting what it hands out.
    pub(super) fn watched(self, handed: &Handed) -> Secrets {
        Secrets::new(vec![Box::new(Watched {
            source: self,
            handed: handed.clone(),
        })])
    }
}

struct Watched {
    source: SecretSource,
    handed: Handed,
}

impl Provider for Watched {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, SecretError>> {
        Box::pin(async move {
            let value = match &self.source {
                SecretSource::Listed(secrets) => secrets.get(name).cloned(),
                SecretSource::StandIns => Some(stand_in(name)),
                SecretSource::Configured(secrets) => match secrets.get(name).await {
                    Err(SecretError::Missing { .. }) => None,
                    other => Some(other?),
                },
            };
            if let Some(value) = &value {
                self.handed.note(name, value);
            }
            Ok(value)
        })
    }

    fn place(&self, name: &str) -> String {
        match self.source {
            SecretSource::Listed(_) | SecretSource::StandIns => format!("`secrets.{name}` of the test"),
            SecretSource::Configured(_) => format!("the providers of the sandbox, as `{name}`"),
        }
    }
}

/// A text that passes for a password, a token and a signing secret: base64 of a sentence that no other program sends.
fn stand_in(name: &str) -> String {
    use std::fmt::Write as _;
    let sentence = format!("a stand-in for the secret {name}");
    let mut text = String::from("whsec_");
    for byte in sentence.bytes() {
        // Two letters a byte are base64 whatever their number is a multiple of four.
        let _ = write!(text, "{byte:02x}");
    }
    text.push_str(match (text.len() - "whsec_".len()) % 4 {
        2 => "00",
        _ => "",
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stand_in_is_a_signing_secret_whatever_the_name() {
        for name in ["a", "ab", "abc", "crm_token"] {
            assert!(
                sprag_core::integrity::signature::Secret::parse(&stand_in(name)).is_ok(),
                "{name}"
            );
        }
        assert_ne!(stand_in("a"), stand_in("b"));
    }

    #[tokio::test]
    async fn what_was_handed_out_is_masked_and_nothing_else_is_there() {
        let handed = Handed::default();
        let listed = BTreeMap::from([("token".to_owned(), "hunter2hunter2".to_owned())]);
        let secrets = SecretSource::Listed(listed).watched(&handed);
        assert_eq!(handed.redactor().text("hunter2hunter2"), "hunter2hunter2");
        assert_eq!(secrets.get("token").await.unwrap(), "hunter2hunter2");
        assert_eq!(handed.redactor().text("Bearer hunter2hunter2"), "Bearer [secret token]");
        assert!(secrets.get("other").await.is_err());
    }
}
