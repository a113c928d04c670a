//! Tokens, and who a caller is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sprag_core::access::{Role, Scopes};
use sprag_core::ids::TokenId;
use sprag_core::operation::Risk;
use sprag_core::time::Timestamp;

/// The body of a new token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenRequest {
    /// The name of the token.
    #[schemars(length(min = 1, max = 128))]
    pub name: String,
    /// The person, script or agent that uses it. Default: the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub principal: Option<String>,
    /// What it may do.
    #[schemars(length(min = 1, max = 8))]
    pub roles: Vec<Role>,
    /// What it is narrowed to. A list that is left out narrows nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes: Option<ScopesRequest>,
    /// The highest risk of an operation that it may propose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_risk: Option<Risk>,
    /// The time from which on it is invalid. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// What a new token is narrowed to. A list that is left out narrows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScopesRequest {
    /// The operations that it may propose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<Vec<String>>,
    /// The subjects of these operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subjects: Option<Vec<String>>,
    /// The machines that it may apply, start and send messages to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines: Option<Vec<String>>,
    /// The action types that a runner may lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub types: Option<Vec<String>>,
    /// The names under which a runner may lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runners: Option<Vec<String>>,
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    /// The id of the token.
    pub id: TokenId,
    /// Its name.
    pub name: String,
    /// The person, script or agent that uses it.
    pub principal: String,
    /// What it may do.
    pub roles: Vec<Role>,
    /// What it is narrowed to.
    #[serde(default)]
    pub scopes: Scopes,
    /// The highest risk of an operation that it may propose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_risk: Option<Risk>,
    /// The principal who created it.
    pub created_by: String,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The time from which on it is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The time of its revocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// The principal who revoked it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_by: Option<String>,
}

/// A new token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewToken {
    /// The token.
    #[serde(flatten)]
    pub record: Token,
    /// What callers show, as in `Authorization: Bearer sprag_…`. The server shows it once and does not keep it. An answer that
    /// repeats an earlier one has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// Who the caller is, and what it may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Me {
    /// The person, script or agent.
    pub principal: String,
    /// What it may do.
    pub roles: Vec<Role>,
    /// What its token is narrowed to.
    pub scopes: Scopes,
    /// The highest risk of an operation that it may propose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_risk: Option<Risk>,
    /// Whether the server asks callers for a token.
    pub authentication: bool,
    /// Whether the server runs the demo, in which every caller may try everything.
    #[serde(default)]
    pub demo: bool,
}
