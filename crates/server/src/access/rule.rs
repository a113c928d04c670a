//! Who may use a route: a column of the route table, so that no route is without it.
//!
//! A decision is made by the route that matched and its method, never by the text of a path.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::extract::MatchedPath;
use axum::http::Method;
use sprag_core::access::Role;

use crate::routes::table;

/// Who may use one method of one route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Everybody, without a token.
    Public,
    /// The sender shows a signature instead of a token.
    Signed,
    /// Viewers, or everybody if the configuration says so.
    Metrics,
    /// Callers with one of these roles.
    Roles(&'static [Role]),
}

/// Callers who read.
pub(crate) const VIEWER: Rule = Rule::Roles(&[Role::Viewer]);
/// Callers who operate.
pub(crate) const OPERATOR: Rule = Rule::Roles(&[Role::Operator]);
/// Callers who write machines.
pub(crate) const AUTHOR: Rule = Rule::Roles(&[Role::Author]);
/// Callers who diagnose, as operators and authors do.
pub(crate) const OPERATOR_OR_AUTHOR: Rule = Rule::Roles(&[Role::Operator, Role::Author]);
/// Callers who propose what others approve.
pub(crate) const PROPOSER: Rule = Rule::Roles(&[Role::Proposer]);
/// Callers who decide about what was proposed.
pub(crate) const APPROVER: Rule = Rule::Roles(&[Role::Approver]);
/// Those who operate, and those who take back what they proposed.
pub(crate) const OPERATOR_OR_PROPOSER: Rule = Rule::Roles(&[Role::Operator, Role::Proposer]);
/// Programs that perform attempts.
pub(crate) const RUNNER: Rule = Rule::Roles(&[Role::Runner]);
/// Agents of load tests.
pub(crate) const AGENT: Rule = Rule::Roles(&[Role::Agent]);
/// Callers who may do everything.
pub(crate) const ADMIN: Rule = Rule::Roles(&[Role::Admin]);

/// Callers with any token that is valid.
pub(crate) const EVERYBODY: Rule = Rule::Roles(&Role::ALL);

impl Rule {
    /// The rule of a request, by the route that it matched. A path without a route, or a method that its route does not take,
    /// tells nothing to callers without a token.
    pub(crate) fn of(method: &Method, matched: Option<&MatchedPath>) -> Self {
        let methods = matched.and_then(|path| RULES.get(path.as_str()));
        let Some(methods) = methods else {
            return EVERYBODY;
        };
        let name = match *method {
            // A caller who may read may also ask for the head of the answer.
            Method::GET | Method::HEAD => "get",
            Method::POST => "post",
            Method::PUT => "put",
            Method::DELETE => "delete",
            _ => return EVERYBODY,
        };
        let found = methods.iter().find(|(known, _)| *known == name);
        found.map_or(EVERYBODY, |(_, rule)| *rule)
    }

    /// Whether it needs a token while authentication is on.
    pub(crate) fn needs_token(self) -> bool {
        matches!(self, Self::Metrics | Self::Roles(_))
    }

    /// The words for it in the OpenAPI document.
    pub(crate) fn words(self) -> Vec<&'static str> {
        match self {
            Self::Public => vec!["public"],
            Self::Signed => vec!["signed"],
            Self::Metrics => vec![Role::Viewer.word()],
            Self::Roles(roles) => roles.iter().map(|role| role.word()).collect(),
        }
    }
}

/// The rules of every route, by method.
type Rules = HashMap<&'static str, Vec<(&'static str, Rule)>>;

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    let methods = table().into_iter().map(|route| {
        let rules = route.operations.iter().map(|(name, operation)| (*name, operation.rule));
        (route.path, rules.collect())
    });
    methods.collect()
});
