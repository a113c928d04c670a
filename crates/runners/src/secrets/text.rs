//! A text of the configuration that may name secrets: `https://node.example/v2/{{secrets.node_key}}`.
//!
//! It is read once, when the server starts, and gets its values when an attempt needs them. Its `Debug` shows the text
//! as it is written, never a value.

use std::collections::BTreeMap;

use super::{SecretError, Secrets, check_name};

const OPEN: &str = "{{";
const CLOSE: &str = "}}";
const ROOT: &str = "secrets.";

/// A text with the names of secrets in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Plain(String),
    Secret(String),
}

/// Why a text cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// Braces that are not closed.
    #[error("`{{{{` is not closed by `}}}}`")]
    Open,
    /// Something else than a secret.
    #[error("`{0}` is not a secret: only `secrets.NAME` is allowed here")]
    NotSecret(String),
    /// A secret that can have no such name.
    #[error(transparent)]
    Name(#[from] SecretError),
}

/// A text with its secrets filled in, and those secrets, to be masked.
pub(crate) struct Filled {
    pub(crate) text: String,
    pub(crate) secrets: BTreeMap<String, String>,
}

impl Text {
    /// Reads the text.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(OPEN) {
            let (inside, behind) = after.split_once(CLOSE).ok_or(TextError::Open)?;
            let name = inside.trim().strip_prefix(ROOT);
            let name = name.ok_or_else(|| TextError::NotSecret(sprag_core::document::source::shown(inside.trim())))?;
            check_name(name)?;
            if !before.is_empty() {
                parts.push(Part::Plain(before.to_owned()));
            }
            parts.push(Part::Secret(name.to_owned()));
            rest = behind;
        }
        if !rest.is_empty() {
            parts.push(Part::Plain(rest.to_owned()));
        }
        Ok(Self { parts })
    }

    /// The one secret the text consists of, if it does.
    pub fn sole_secret(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Secret(name)] => Some(name),
            _ => None,
        }
    }

    /// The text, if it names no secret.
    pub fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Plain(text)] => Some(text),
            _ => None,
        }
    }

    /// The text with `stand_in` for every secret, to check its form.
    pub(crate) fn with(&self, stand_in: &str) -> String {
        let part = |part: &Part| match part {
            Part::Plain(text) => text.clone(),
            Part::Secret(_) => stand_in.to_owned(),
        };
        self.parts.iter().map(part).collect()
    }

    /// Asks for every secret.
    pub(crate) async fn fill(&self, from: &Secrets) -> Result<Filled, SecretError> {
        let mut filled = Filled {
            text: String::new(),
            secrets: BTreeMap::new(),
        };
        for part in &self.parts {
            match part {
                Part::Plain(text) => filled.text.push_str(text),
                Part::Secret(name) => {
                    let value = from.get(name).await?;
                    filled.text.push_str(&value);
                    filled.secrets.insert(name.clone(), value);
                }
            }
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_knows_its_secrets_and_nothing_else_can_stand_in_braces() {
        let text = Text::parse("https://node/{{ secrets.key }}/x").unwrap();
        assert_eq!(text.with("-"), "https://node/-/x");
        assert_eq!(text.sole_secret(), None);
        assert_eq!(text.plain(), None);
        assert_eq!(Text::parse("{{secrets.key}}").unwrap().sole_secret(), Some("key"));
        assert_eq!(Text::parse("plain").unwrap().plain(), Some("plain"));
        for wrong in ["{{secrets.key", "{{env.HOME}}", "{{secrets.../x}}", "{{}}"] {
            assert!(Text::parse(wrong).is_err(), "{wrong}");
        }
    }
}
