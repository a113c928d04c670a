//! Tokens, as those who check them read them.

use std::sync::Arc;

use sprag_core::ids::TokenId;
use sprag_store::ReadKind;
use sprag_store::records::FactKind;

use crate::engine::Handle;
use crate::queue::control::body;
use crate::queue::tokens::{Token, Tokens};
use crate::requests::Refusal;

impl Handle {
    /// The tokens, as this node knows them. The store is not read.
    pub fn tokens(&self) -> Arc<Tokens> {
        self.read().board.tokens()
    }

    /// A token as it is stored, for one that this node does not know yet.
    pub async fn stored_token(&self, id: TokenId) -> Result<Option<Token>, Refusal> {
        let stored = self.read().query(ReadKind::Point, move |reader| {
            let found = reader.fact(FactKind::Token, &id.to_string())?;
            found.map(|fact| body(&fact)).transpose()
        });
        stored.await
    }
}
