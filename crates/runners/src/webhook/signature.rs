//! Standard Webhooks signatures (symmetric, `v1`).
//!
//! The id and the time are signed with the body, so a receiver can refuse a replay. Several secrets give several
//! signatures, so that a receiver can change its secret without missing a call.

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

/// A signing key. It has no `Debug`, so it cannot end in a log.
#[derive(Clone)]
pub(super) struct Secret(Vec<u8>);

/// Why a text is not a signing secret. The text itself is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SecretError {
    #[error("the secret is not base64 after `{PREFIX}`")]
    Base64,
    #[error("the secret holds {0} bytes, not {KEY_BYTES_MIN} to {KEY_BYTES_MAX}")]
    Length(usize),
    #[error("the secret is the private key of an asymmetric scheme, which is not supported")]
    Asymmetric,
}

impl Secret {
    /// Reads `whsec_` and base64; the prefix may be missing.
    pub(super) fn parse(text: &str) -> Result<Self, SecretError> {
        if text.starts_with(PREFIX_ASYMMETRIC) {
            return Err(SecretError::Asymmetric);
        }
        let key = LENIENT
            .decode(text.strip_prefix(PREFIX).unwrap_or(text))
            .map_err(|_| SecretError::Base64)?;
        if !(KEY_BYTES_MIN..=KEY_BYTES_MAX).contains(&key.len()) {
            return Err(SecretError::Length(key.len()));
        }
        Ok(Self(key))
    }
}

/// What is signed.
pub(super) struct Message<'a> {
    /// The same for every attempt.
    pub(super) id: &'a str,
    /// When the attempt was made, in seconds since 1970.
    pub(super) seconds: i64,
    /// The body exactly as it is sent.
    pub(super) body: &'a [u8],
}

impl Message<'_> {
    /// The three headers of the specification.
    pub(super) fn headers(&self, secrets: &[Secret]) -> [(&'static str, String); 3] {
        let signatures: Vec<String> = secrets.iter().filter_map(|secret| self.sign(secret)).collect();
        [
            ("webhook-id", self.id.to_owned()),
            ("webhook-timestamp", self.seconds.to_string()),
            ("webhook-signature", signatures.join(" ")),
        ]
    }

    fn sign(&self, Secret(key): &Secret) -> Option<String> {
        // A key of any length is taken, so this is always there.
        let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
        mac.update(format!("{}.{}.", self.id, self.seconds).as_bytes());
        mac.update(self.body);
        Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
    }
}
