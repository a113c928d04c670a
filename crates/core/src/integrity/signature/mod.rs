//! Signatures of webhooks: Standard Webhooks (symmetric, `v1`), made and checked, and `DocuSign` Connect's HMAC, checked.
//!
//! With Standard Webhooks the id and the time are signed with the body, so a receiver can refuse a replay. Several
//! secrets give several signatures, so that a secret can be changed without missing a call. Signatures are compared in
//! constant time, and no error shows a secret or the signature that would have been right.

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Secrets written without padding are common enough.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
const PREFIX: &str = "whsec_";
const PREFIX_ASYMMETRIC: &str = "whsk_";
/// The specification asks for keys of 24 to 64 bytes; shorter ones exist and are the receiver's choice, empty ones
/// sign nothing.
const KEY_BYTES_MIN: usize = 1;
const KEY_BYTES_MAX: usize = 1_024;
/// How far the time of a call may be from the receiver's, in seconds.
pub const TOLERANCE_SECONDS: u64 = 5 * 60;
/// More signatures than any rotation needs: the rest of a call's is not looked at.
pub const SIGNATURES_MAX: usize = 16;

/// A signing key. It has no `Debug`, so it cannot end in a log.
#[derive(Clone)]
pub struct Secret(Vec<u8>);

/// Why a text is not a signing secret. The text itself is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// It cannot be decoded.
    #[error("the secret is not base64 after `{PREFIX}`")]
    Base64,
    /// It is empty, or far too long.
    #[error("the secret holds {0} bytes, not {KEY_BYTES_MIN} to {KEY_BYTES_MAX}")]
    Length(usize),
    /// It belongs to another scheme.
    #[error("the secret is the private key of an asymmetric scheme, which is not supported")]
    Asymmetric,
}

/// Why a call is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no signature of the scheme.
    #[error("the call has no signature of the kind that `verify` names")]
    Unsigned,
    /// The time is no number of seconds.
    #[error("the time of the call is not a number of seconds")]
    Time,
    /// The call is too old, or from the future.
    #[error("the time of the call is more than {TOLERANCE_SECONDS} s away from the receiver's; check both clocks")]
    Stale,
    /// No signature is that of a known secret.
    #[error("no signature of the call matches a secret of the hook; use the same secret on both sides")]
    Mismatch,
}

impl Secret {
    /// Reads `whsec_` and base64; the prefix may be missing.
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        if text.starts_with(PREFIX_ASYMMETRIC) {
            return Err(SecretError::Asymmetric);
        }
        let key = LENIENT
            .decode(text.strip_prefix(PREFIX).unwrap_or(text))
            .map_err(|_| SecretError::Base64)?;
        Self::of_bytes(key)
    }

    /// Takes the text itself as the key, as `DocuSign` does.
    pub fn verbatim(text: &str) -> Result<Self, SecretError> {
        Self::of_bytes(text.as_bytes().to_vec())
    }

    fn of_bytes(key: Vec<u8>) -> Result<Self, SecretError> {
        if !(KEY_BYTES_MIN..=KEY_BYTES_MAX).contains(&key.len()) {
            return Err(SecretError::Length(key.len()));
        }
        Ok(Self(key))
    }

    // A key of any length is taken, so there always is one.
    fn mac(&self) -> Option<Hmac<Sha256>> {
        Hmac::<Sha256>::new_from_slice(&self.0).ok()
    }

    /// Whether `signature` is this key's over the parts, one after the other.
    fn signed(&self, parts: &[&[u8]], signature: &[u8]) -> bool {
        let mac = self.mac().map(|mac| parts.iter().fold(mac, hmac::Mac::chain_update));
        mac.is_some_and(|mac| mac.verify_slice(signature).is_ok())
    }
}

/// What is signed.
#[derive(Clone, Copy, Debug)]
pub struct SignedMessage<'a> {
    /// The same for every attempt.
    pub id: &'a str,
    /// When the attempt was made, in seconds since 1970.
    pub seconds: i64,
    /// The body exactly as it is sent.
    pub body: &'a [u8],
}

impl SignedMessage<'_> {
    /// The three headers of the specification.
    pub fn headers(&self, secrets: &[Secret]) -> [(&'static str, String); 3] {
        let signatures: Vec<String> = secrets.iter().filter_map(|secret| self.sign(secret)).collect();
        [
            ("webhook-id", self.id.to_owned()),
            ("webhook-timestamp", self.seconds.to_string()),
            ("webhook-signature", signatures.join(" ")),
        ]
    }

    fn prefix(&self) -> String {
        format!("{}.{}.", self.id, self.seconds)
    }

    fn sign(&self, secret: &Secret) -> Option<String> {
        let mac = secret.mac()?.chain_update(self.prefix()).chain_update(self.body);
        Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
    }
}

/// A call as it arrived, with the headers of Standard Webhooks.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// `webhook-id`.
    pub id: &'a str,
    /// `webhook-timestamp`.
    pub timestamp: &'a str,
    /// `webhook-signature`: one or more, with spaces between.
    pub signatures: &'a str,
    /// The body exactly as it arrived.
    pub body: &'a [u8],
}

impl Call<'_> {
    /// Whether a holder of one of the secrets made the call, near `now_seconds`.
    pub fn verify(&self, secrets: &[Secret], now_seconds: i64) -> Result<(), Refused> {
        // The text is signed, so only the one form of a number that a sender would write can be right.
        let seconds: i64 = self.timestamp.parse().map_err(|_| Refused::Time)?;
        let message = SignedMessage {
            id: self.id,
            seconds,
            body: self.body,
        };
        let signatures: Vec<Vec<u8>> = self
            .signatures
            .split(' ')
            .filter_map(|signature| STANDARD.decode(signature.strip_prefix("v1,")?).ok())
            .take(SIGNATURES_MAX)
            .collect();
        if self.id.is_empty() || signatures.is_empty() {
            return Err(Refused::Unsigned);
        }
        if seconds.abs_diff(now_seconds) > TOLERANCE_SECONDS {
            return Err(Refused::Stale);
        }
        let prefix = message.prefix();
        any_signed(secrets, &[prefix.as_bytes(), self.body], &signatures)
    }
}

/// Whether a holder of one of the secrets sent the body, after `DocuSign` Connect: each signature is the base64 of
/// the body's HMAC.
pub fn verify_docusign(body: &[u8], signatures: &[&str], secrets: &[Secret]) -> Result<(), Refused> {
    let signatures: Vec<Vec<u8>> = signatures
        .iter()
        .filter_map(|signature| STANDARD.decode(signature).ok())
        .take(SIGNATURES_MAX)
        .collect();
    if signatures.is_empty() {
        return Err(Refused::Unsigned);
    }
    any_signed(secrets, &[body], &signatures)
}

fn any_signed(secrets: &[Secret], parts: &[&[u8]], signatures: &[Vec<u8>]) -> Result<(), Refused> {
    let known = |signature: &Vec<u8>| secrets.iter().any(|secret| secret.signed(parts, signature));
    if signatures.iter().any(known) {
        Ok(())
    } else {
        Err(Refused::Mismatch)
    }
}

#[cfg(test)]
mod tests;
