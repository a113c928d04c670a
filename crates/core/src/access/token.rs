//! The text of a token: its id, which is no secret, and 256 random bits, which are kept only as their SHA-256.
//!
//! The secret has full entropy, so a fast hash is enough: no attacker can try all secrets.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::ids::TokenId;

/// What the text of a token begins with.
pub const PREFIX: &str = "sprag_";
/// Bytes of the secret.
pub const SECRET_BYTES: usize = 32;

/// What is stored of a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SecretHash([u8; 32]);

impl SecretHash {
    /// The hash of a secret.
    pub fn of(secret: &[u8; SECRET_BYTES]) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// Whether it is the same, in a time that does not depend on where they differ.
    pub fn is(&self, other: &Self) -> bool {
        let pairs = self.0.iter().zip(&other.0);
        pairs.fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
    }

    /// The hash in hexadecimal digits.
    pub fn to_hex(self) -> String {
        hex(&self.0)
    }

    /// The hash that [`SecretHash::to_hex`] wrote.
    pub fn from_hex(text: &str) -> Option<Self> {
        bytes(text).map(Self)
    }
}

impl std::fmt::Debug for SecretHash {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SecretHash(…)")
    }
}

/// The text of a token, as its holder shows it.
pub fn text(id: TokenId, secret: &[u8; SECRET_BYTES]) -> String {
    let id = id.to_string();
    let id = id.strip_prefix(TokenId::PREFIX).unwrap_or(&id);
    format!("{PREFIX}{id}_{}", hex(secret))
}

/// The id of a token, and the hash of its secret; none if the text is no token.
pub fn parse(text: &str) -> Option<(TokenId, SecretHash)> {
    let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
    let id = TokenId::from_text(id)?;
    Some((id, SecretHash::of(&bytes(secret)?)))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// 32 bytes of lower-case hexadecimal digits: there is one text of each secret.
fn bytes(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::Slot;
    use crate::time::Timestamp;

    fn id() -> TokenId {
        TokenId::compose(Timestamp::from_millis(1_763_000_000_123), Slot(0), 7)
    }

    proptest! {
        #[test]
        fn a_token_leads_back_to_its_id_and_the_hash_of_its_secret(secret: [u8; 32], other: [u8; 32]) {
            let text = text(id(), &secret);
            let (found, hash) = parse(&text).unwrap();
            prop_assert_eq!(found, id());
            prop_assert!(hash.is(&SecretHash::of(&secret)));
            prop_assert_eq!(hash.is(&SecretHash::of(&other)), secret == other);
            prop_assert_eq!(SecretHash::from_hex(&hash.to_hex()), Some(hash));
        }

        #[test]
        fn any_change_of_a_token_is_no_token_or_another(position in 0usize..97, byte in 0x20u8..0x7f) {
            let secret = [7; 32];
            let mut changed = text(id(), &secret).into_bytes();
            prop_assume!(changed[position] != byte);
            changed[position] = byte;
            let found = parse(std::str::from_utf8(&changed).unwrap());
            let is_same = found.is_some_and(|(found, hash)| found == id() && hash.is(&SecretHash::of(&secret)));
            prop_assert!(!is_same);
        }

        #[test]
        fn parsing_is_total(text: String) {
            let _ = parse(&text);
        }
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let good = text(id(), &[1; 32]);
        for bad in [
            String::new(),
            PREFIX.to_owned(),
            good.to_uppercase(),
            format!("{good} "),
            format!("{good}0"),
            good[..good.len() - 1].to_owned(),
            good.replace("sprag_", "tok_"),
        ] {
            assert!(parse(&bad).is_none(), "{bad}");
        }
        assert!(parse(&good).is_some());
        assert!(
            !format!("{:?}", SecretHash::of(&[1; 32])).contains("72cd"),
            "no hash in a log"
        );
    }
}
