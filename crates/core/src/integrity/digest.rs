//! The digest of a body that is sent in pieces, as the header `Repr-Digest` has it (RFC 9530).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// The name of the header.
pub const HEADER: &str = "repr-digest";

/// A digest of everything that was added.
#[derive(Clone, Debug, Default)]
pub struct Digest(Sha256);

impl Digest {
    /// Adds the next piece.
    pub fn add(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The value of the header.
    pub fn header(self) -> String {
        format!("sha-256=:{}:", STANDARD.encode(self.0.finalize()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_give_what_the_whole_gives() {
        let mut digest = Digest::default();
        digest.add(b"{\"hello\": ");
        digest.add(b"\"world\"}\n");
        // The example of RFC 9530, appendix D.
        assert_eq!(
            digest.header(),
            "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
        );
    }
}
