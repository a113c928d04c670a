//! Access tokens (OAuth2): asked for by a grant, shared by every call that needs the same one, and never stored.
//!
//! A token is fetched once for everybody, refreshed before it dies, and replaced once when a call finds that it is not
//! accepted. Without a token the action's own call never left: every failure to have one is "not done".

mod bearer;
mod client;
mod grant;
mod jwt;
mod tokens;

pub(crate) use bearer::{Bearer, sensitive};
pub(crate) use client::{ClientCredentials, ClientProof};
pub(crate) use grant::Grant;
pub(crate) use jwt::{JwtBearer, SigningKey};
pub(crate) use tokens::{Origin, Tokens};
