//! Tokens.

use sprag_core::ids::TokenId;
use sprag_engine::requests;
use sprag_wire as wire;

use super::{Operation, Shape};
use crate::handlers::tokens::Creates;
use crate::request::body::NoFields;

/// The group.
pub(crate) const RESOURCE: &str = "tokens";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

pub(crate) fn list() -> Operation {
    operation("listTokens", "List the tokens, oldest first, without their secrets")
        .answers::<wire::Page<wire::Token>>(200, "The tokens.")
        .reads()
}

pub(crate) fn create() -> Operation {
    operation("createToken", "Create a token; only this answer shows it")
        .body::<Creates>()
        .answers::<wire::NewToken>(201, "The new token.")
        .located()
        .writes()
        .once()
        .refuses([requests::Code::TokensFull])
}

pub(crate) fn revoke() -> Operation {
    operation("revokeToken", "Revoke a token")
        .path("id", Shape::of::<TokenId>(), "The token's id.")
        .body::<NoFields>()
        .answers::<wire::Token>(200, "The revoked token.")
        .writes()
        .once()
        .refuses([requests::Code::TokenUnknown])
}

pub(crate) fn me() -> Operation {
    operation("showMe", "Show who the caller is, and what it may do").answers::<wire::Me>(200, "The caller.")
}
