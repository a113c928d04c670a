//! How an expression may use a secret: alone, or through one of the encodings that masking recognises.
//!
//! Masking finds a secret as it is, percent-encoded, escaped as JSON and in base64. Any other operation on it, be it a
//! filter, a slice, a comparison or a condition, could print the value in a form that masking does not recognise, or
//! answer questions about it one by one. So an expression that names a secret is the path `secrets.<name>` with at most
//! one of the [`ENCODINGS`], and nothing else. The text around the braces is free.

use super::token::{Token, TokenKind};
use crate::expression::scope::Path;

/// The root of secrets.
pub const SECRETS_ROOT: &str = "secrets";

/// The filters that a secret may pass: masking recognises what they yield.
pub const ENCODINGS: [&str; 3] = ["base64", "tojson", "urlencode"];

/// One place where a template names a secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretUse {
    /// Where in the template's value, as a JSON pointer.
    pub pointer: String,
    /// The secret.
    pub name: String,
    /// The expression as written, if it does more with the secret than it may.
    pub misuse: Option<String>,
}

impl SecretUse {
    /// What is wrong with the expression, if anything is.
    pub fn problem(&self) -> Option<String> {
        self.misuse.as_deref().map(misused)
    }

    /// What to write instead.
    pub fn remedy(&self) -> String {
        let filters = ENCODINGS.map(|filter| format!("`| {filter}`")).join(", ");
        format!("write `{{{{secrets.{}}}}}`, with one of {filters} if needed", self.name)
    }
}

/// What is wrong with an expression that does more with a secret than it may.
pub(super) fn misused(expression: &str) -> String {
    format!("`{expression}` computes with the value of a secret, which must be used unchanged")
}

/// Whether `path` leads to a secret.
pub(super) fn is_secret(path: &Path) -> bool {
    path.root() == Some(SECRETS_ROOT)
}

/// Whether these tokens are one secret with at most one of the encodings, and nothing else.
pub(super) fn stands_alone(tokens: &[Token<'_>]) -> bool {
    let [root, rest @ ..] = tokens else { return false };
    let rest = match rest {
        [dot, name, rest @ ..] if dot.is_symbol(".") && name.kind == TokenKind::Name => rest,
        [open, name, close, rest @ ..]
            if open.is_symbol("[") && name.kind == TokenKind::Text && close.is_symbol("]") =>
        {
            rest
        }
        _ => return false,
    };
    let is_encoded = match rest {
        [] => true,
        [bar, filter] => bar.is_symbol("|") && ENCODINGS.iter().any(|encoding| filter.is_name(encoding)),
        _ => false,
    };
    root.is_name(SECRETS_ROOT) && is_encoded
}
