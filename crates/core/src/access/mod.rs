//! Who asks: principals, their roles, and what a caller brings with a request.
//!
//! A principal is a person, a script or an agent; it may have several tokens, and rules about people (who approved, who
//! proposed) compare principals, never tokens.

mod scope;
pub mod token;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::TokenId;
use crate::operation::Risk;

pub use self::scope::{NAMES_MAX, ScopeKind, Scopes};

/// The principal of everybody while there is no authentication.
pub const LOCAL: &str = "local";

/// What a principal may do. Every role but `runner` and `agent` may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads everything but tokens, backups and names of secrets.
    Viewer,
    /// Proposes, and starts nothing else.
    Proposer,
    /// Starts, sends, cancels, retries, switches and limits.
    Operator,
    /// Applies machines and operations.
    Author,
    /// Approves, rejects and revokes.
    Approver,
    /// Leases attempts and reports on them; nothing else.
    Runner,
    /// Performs load; nothing else.
    Agent,
    /// Everything.
    Admin,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 8] = [
        Self::Viewer,
        Self::Proposer,
        Self::Operator,
        Self::Author,
        Self::Approver,
        Self::Runner,
        Self::Agent,
        Self::Admin,
    ];

    /// The word for it in files, answers and commands.
    pub fn word(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Proposer => "proposer",
            Self::Operator => "operator",
            Self::Author => "author",
            Self::Approver => "approver",
            Self::Runner => "runner",
            Self::Agent => "agent",
            Self::Admin => "admin",
        }
    }

    /// Whether a principal with this role may do what asks for `needed`.
    pub fn covers(self, needed: Self) -> bool {
        let reads = !matches!(self, Self::Runner | Self::Agent);
        self == needed || self == Self::Admin || (needed == Self::Viewer && reads)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// A word that is no role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a role")]
pub struct NoRole(pub String);

impl FromStr for Role {
    type Err = NoRole;

    fn from_str(word: &str) -> Result<Self, NoRole> {
        let found = Self::ALL.into_iter().find(|role| role.word() == word);
        found.ok_or_else(|| NoRole(word.to_owned()))
    }
}

/// Who asks, from where and why. One is made for each request and shared by what the request leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Caller {
    /// The person, script or agent.
    pub principal: Arc<str>,
    /// The token that it showed; none without authentication.
    #[serde(default)]
    pub token: Option<TokenId>,
    /// What it may do.
    pub roles: Vec<Role>,
    /// What its token is narrowed to.
    #[serde(default)]
    pub scopes: Scopes,
    /// The highest risk of an operation that it may propose; none if all.
    #[serde(default)]
    pub max_risk: Option<Risk>,
    /// The address that the request came from; none for callers within the process.
    pub address: Option<String>,
    /// The reason that was given with the request.
    pub reason: Option<String>,
}

impl Caller {
    /// The one caller of a server without authentication, and of the library.
    pub fn local() -> Self {
        Self {
            principal: LOCAL.into(),
            token: None,
            roles: vec![Role::Admin],
            scopes: Scopes::default(),
            max_risk: None,
            address: None,
            reason: None,
        }
    }

    /// Whether it may do what asks for `needed`.
    pub fn may(&self, needed: Role) -> bool {
        self.roles.iter().any(|role| role.covers(needed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_but_runner_and_agent_reads_and_only_admin_does_all() {
        for role in Role::ALL {
            let reads = role.covers(Role::Viewer);
            assert_eq!(reads, !matches!(role, Role::Runner | Role::Agent), "{role}");
            let covered = Role::ALL.into_iter().filter(|needed| role.covers(*needed)).count();
            let expected = match role {
                Role::Admin => Role::ALL.len(),
                Role::Viewer | Role::Runner | Role::Agent => 1,
                Role::Proposer | Role::Operator | Role::Author | Role::Approver => 2,
            };
            assert_eq!(covered, expected, "{role}");
        }
    }

    #[test]
    fn a_role_reads_back_from_its_word() {
        for role in Role::ALL {
            assert_eq!(serde_json::json!(role), role.word());
            assert_eq!(role.word().parse(), Ok(role));
        }
        assert_eq!("root".parse::<Role>(), Err(NoRole("root".to_owned())));
    }
}
