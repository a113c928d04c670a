//! Tokens: who may speak to the server, and as what. Facts of the control shard, in memory as a whole.
//!
//! Nothing here knows a secret: a token is found by its id, and compared by the hash of its secret.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sprag_core::access::token::SecretHash;
use sprag_core::access::{Caller, Role};
use sprag_core::ids::TokenId;
use sprag_core::time::Timestamp;
use sprag_wire::Token as TokenView;

/// Tokens at a time, those included that were revoked or have expired.
pub const TOKENS_MAX: usize = 1_000;

/// A token as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// What is shown of it.
    #[serde(flatten)]
    pub view: TokenView,
    /// The hash of its secret, in hexadecimal digits.
    hash: String,
}

impl Token {
    /// A token with this secret.
    pub fn new(view: TokenView, hash: SecretHash) -> Self {
        Self {
            view,
            hash: hash.to_hex(),
        }
    }

    /// Whether this is its secret.
    pub fn has_secret(&self, hash: &SecretHash) -> bool {
        SecretHash::from_hex(&self.hash).is_some_and(|known| known.is(hash))
    }

    /// Whether it counts at `now`.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.view.revoked_at.is_none() && self.view.expires_at.is_none_or(|expires| now < expires)
    }

    /// Who shows it.
    pub fn caller(&self) -> Caller {
        let TokenView {
            id,
            name: _,
            principal,
            roles,
            scopes,
            max_risk,
            created_by: _,
            created_at: _,
            expires_at: _,
            revoked_at: _,
            revoked_by: _,
        } = &self.view;
        Caller {
            principal: principal.as_str().into(),
            token: Some(*id),
            roles: roles.clone(),
            scopes: scopes.clone(),
            max_risk: *max_risk,
            address: None,
            reason: None,
        }
    }
}

/// Every token, by its id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens(BTreeMap<TokenId, Token>);

impl Tokens {
    /// One of them.
    pub fn get(&self, id: TokenId) -> Option<&Token> {
        self.0.get(&id)
    }

    /// Whether decisions made with this token count no more. A token that made room for others had been revoked or had
    /// expired.
    pub(crate) fn is_revoked(&self, id: &str) -> bool {
        let token = id.parse().ok().and_then(|id| self.get(id));
        token.is_none_or(|token| token.view.revoked_at.is_some())
    }

    /// All of them, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Token> {
        self.0.values()
    }

    /// Whether a caller can create tokens.
    pub fn has_admin(&self, now: Timestamp) -> bool {
        let is_admin = |token: &Token| token.is_valid(now) && token.view.roles.contains(&Role::Admin);
        self.all().any(is_admin)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn put(&mut self, token: Token) {
        self.0.insert(token.view.id, token);
    }

    pub(crate) fn remove(&mut self, id: TokenId) {
        self.0.remove(&id);
    }

    /// The oldest one that counts no more.
    pub(crate) fn oldest_invalid(&self, now: Timestamp) -> Option<TokenId> {
        let invalid = self.all().find(|token| !token.is_valid(now));
        invalid.map(|token| token.view.id)
    }
}
