//! Tokens, as those who check them read them.

use std::sync::Arc;

use sprag_core::ids::TokenId;
use sprag_store::ReadKind;
use sprag_store::records::FactKind;

use super::handle::ReadHandle;
use crate::queue::control::body;
use crate::queue::tokens::{Token, Tokens};
use crate::requests::Refusal;

impl ReadHandle {
    /// The tokens, as this node knows them. The store is not read.
    pub fn tokens(&self) -> Arc<Tokens> {
        self.board.tokens()
    }

    /// A token as it is stored, for one that this node does not know yet.
    pub async fn stored_token(&self, id: TokenId) -> Result<Option<Token>, Refusal> {
        self.query(ReadKind::Point, move |reader| {
            let found = reader.fact(FactKind::Token, &id.to_string())?;
            found.map(|fact| body(&fact)).transpose()
        })
        .await
    }
}
