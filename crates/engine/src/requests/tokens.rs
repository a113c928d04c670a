//! Tokens: created, listed, revoked.
//!
//! The node that decides shows a change as soon as it is durable; every other node reads it with its next heartbeat, and
//! serves nothing once it has not read for a lease.

use std::sync::Arc;

use serde_json::{Value, json};
use sprag_core::access::token::SecretHash;
use sprag_core::access::{Role, Scopes};
use sprag_core::ids::{Slot, TokenId};
use sprag_core::integrity::audit::Verb;
use sprag_core::operation::Risk;
use sprag_core::time::Timestamp;
use sprag_store::Mutation;
use sprag_store::records::FactKind;
use sprag_wire::Token as TokenView;

use super::audit::Audit;
use super::idempotency::stored_answer;
use super::{Answer, Code, Refusal, Request, Route, Subject};
use crate::decide::{Decider, Reads};
use crate::queue::control::fact;
use crate::queue::tokens::{TOKENS_MAX, Token, Tokens};

impl Answer for Vec<TokenView> {}

impl Answer for TokenView {
    stored_answer!("token");
}

/// What a new token is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenPlan {
    /// Its name.
    pub name: String,
    /// Who uses it.
    pub principal: String,
    /// What it may do.
    pub roles: Vec<Role>,
    /// What it is narrowed to.
    pub scopes: Scopes,
    /// The highest risk of an operation that it may propose.
    pub max_risk: Option<Risk>,
    /// From when on it does not count.
    pub expires_at: Option<Timestamp>,
    /// The hash of its secret. A request that is sent again has another one, and is the same request.
    pub hash: SecretHash,
    /// Who creates it.
    pub by: String,
}

/// Create a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateToken(pub Box<TokenPlan>);

impl Request for CreateToken {
    type Answer = TokenView;
    const NAME: &'static str = "create-token";
    const AUDIT: Option<Audit<Self>> = Some(Audit::<Self>::new(
        |_| Verb::CreateToken,
        |request| request.0.name.clone(),
    ));

    fn route(&self) -> Route {
        Route::Control
    }

    fn subject(&self) -> Option<Subject> {
        let TokenPlan {
            name,
            principal,
            roles,
            scopes,
            max_risk,
            expires_at,
            hash: _,
            by,
        } = &*self.0;
        Some(Subject {
            target: json!(name),
            body: json!({
                "principal": principal, "roles": roles, "scopes": scopes, "maxRisk": max_risk, "expiresAt": expires_at,
                "by": by,
            }),
        })
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<TokenView, Refusal> {
        create(decider, &self.0)
    }
}

/// Create the first token, which creates the others: refused while there is one that can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstToken(pub Box<TokenPlan>);

impl Request for FirstToken {
    type Answer = Option<TokenView>;
    const NAME: &'static str = "first-token";

    fn route(&self) -> Route {
        Route::Control
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Option<TokenView>, Refusal> {
        if decider.known.control.tokens.has_admin(decider.now()) {
            return Ok(None);
        }
        create(decider, &self.0).map(Some)
    }
}

impl Answer for Option<TokenView> {}

/// List the tokens, those included that count no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListTokens;

impl Request for ListTokens {
    type Answer = Vec<TokenView>;
    const NAME: &'static str = "list-tokens";

    fn route(&self) -> Route {
        Route::Any
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        reads.control();
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Vec<TokenView>, Refusal> {
        let tokens = decider.known.control.tokens.all();
        Ok(tokens.map(|token| token.view.clone()).collect())
    }
}

/// Revoke a token. Revoking it again changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevokeToken {
    /// Which.
    pub id: TokenId,
    /// Who revokes it.
    pub by: String,
}

impl Request for RevokeToken {
    type Answer = TokenView;
    const NAME: &'static str = "revoke-token";
    const AUDIT: Option<Audit<Self>> = Some(Audit::<Self>::new(
        |_| Verb::RevokeToken,
        |request| request.id.to_string(),
    ));

    fn route(&self) -> Route {
        Route::Control
    }

    fn subject(&self) -> Option<Subject> {
        // Who revokes it makes no difference.
        Some(Subject {
            target: json!(self.id),
            body: Value::Null,
        })
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<TokenView, Refusal> {
        let Self { id, by } = self;
        let Some(found) = decider.known.control.tokens.get(*id) else {
            return Err(Refusal::no_token(*id));
        };
        let mut token = found.clone();
        if token.view.revoked_at.is_none() {
            token.view.revoked_at = Some(decider.now());
            token.view.revoked_by = Some(by.clone());
            tracing::warn!(token = %id, name = token.view.name, by, "token revoked");
            keep(decider, token.clone());
        }
        Ok(token.view)
    }
}

fn create(decider: &mut Decider<'_>, plan: &TokenPlan) -> Result<TokenView, Refusal> {
    make_room(decider)?;
    let TokenPlan {
        name,
        principal,
        roles,
        scopes,
        max_risk,
        expires_at,
        hash,
        by,
    } = plan.clone();
    let mut roles = roles;
    roles.sort_unstable();
    roles.dedup();
    let view = TokenView {
        id: decider.at.mint.token(Slot(0)),
        name,
        principal,
        roles,
        scopes,
        max_risk,
        created_by: by,
        created_at: decider.now(),
        expires_at,
        revoked_at: None,
        revoked_by: None,
    };
    tracing::info!(token = %view.id, name = view.name, principal = view.principal, "token created");
    keep(decider, Token::new(view.clone(), hash));
    Ok(view)
}

/// Tokens that count no more go when there is no room, oldest first.
fn make_room(decider: &mut Decider<'_>) -> Result<(), Refusal> {
    if decider.known.control.tokens.len() < TOKENS_MAX {
        return Ok(());
    }
    let Some(id) = decider.known.control.tokens.oldest_invalid(decider.now()) else {
        let detail = format!("there are {TOKENS_MAX} tokens, and all of them are valid; revoke one first");
        return Err(Refusal::new(Code::TokensFull, detail));
    };
    decider.batch.log.push(Mutation::DeleteFact {
        kind: FactKind::Token,
        key: id.to_string(),
    });
    tokens(decider).remove(id);
    Ok(())
}

/// Remembers a token as it is now.
fn keep(decider: &mut Decider<'_>, token: Token) {
    let fact = fact(FactKind::Token, token.view.id.to_string(), &token);
    decider.batch.log.push(Mutation::PutFact(fact));
    tokens(decider).put(token);
}

/// The tokens, to change: readers keep those that they have.
fn tokens<'d>(decider: &'d mut Decider<'_>) -> &'d mut Tokens {
    Arc::make_mut(&mut decider.known.control.tokens)
}
