//! Whose hands these are: a client with the agent's token, admitted by what the server says about it.

use sprag_core::access::{Role, ScopeKind};
use sprag_wire::{CatalogEntry, Me};

use crate::client::{Answer, Client};
use crate::failure::Failure;
use crate::output;

/// An agent whose token only proposes and reads.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) client: Client,
    me: Me,
}

/// Why an agent was not admitted.
#[derive(Debug)]
pub(super) enum NotAdmitted {
    /// The server refused the token: its answer.
    ByServer(Answer),
    /// The token may do too much, or cannot be read.
    Here(Failure),
    /// No server answered.
    Unanswered(Failure),
}

impl Agent {
    /// The agent behind the client's token.
    pub(super) async fn enter(client: Client) -> Result<Self, Failure> {
        let me = client.get(&["me"]).send().await?;
        Self::of(client, output::read(me)?)
    }

    /// The same, keeping what the server answers apart.
    pub(super) async fn enter_or_answer(client: Client) -> Result<Self, NotAdmitted> {
        let answer = client.get(&["me"]).answer().await.map_err(NotAdmitted::Unanswered)?;
        if !(200..300).contains(&answer.status) {
            return Err(NotAdmitted::ByServer(answer));
        }
        let me = output::read(answer.document).map_err(NotAdmitted::Unanswered)?;
        Self::of(client, me).map_err(NotAdmitted::Here)
    }

    fn of(client: Client, me: Me) -> Result<Self, Failure> {
        admit(&me)?;
        Ok(Self { client, me })
    }

    /// Whether its token may propose an operation.
    pub(super) fn may_propose(&self, entry: &CatalogEntry) -> bool {
        let Me {
            roles,
            scopes,
            max_risk,
            ..
        } = &self.me;
        let is_proposer = roles.iter().any(|role| role.covers(Role::Proposer));
        let is_subject_within = match &entry.subject {
            Some(subject) => scopes.covers(ScopeKind::Subject, subject),
            None => scopes.names(ScopeKind::Subject).is_none(),
        };
        let is_risk_within = max_risk.is_none_or(|most| {
            let risk = entry.risk_level.as_ref().map(ToString::to_string);
            risk.is_none_or(|risk| risk_rank(&risk) <= risk_rank(most.word()))
        });
        is_proposer && scopes.covers(ScopeKind::Operation, &entry.id) && is_subject_within && is_risk_within
    }
}

/// Where a risk stands among all; one that this version does not know is above all.
fn risk_rank(word: &str) -> usize {
    let known = sprag_core::operation::Risk::ALL;
    known.iter().position(|risk| risk.word() == word).unwrap_or(known.len())
}

/// Refuses a token that may do more than propose and read, and a server without authentication unless it runs the demo.
fn admit(me: &Me) -> Result<(), Failure> {
    if !me.authentication {
        if me.demo {
            return Ok(());
        }
        return Err(
            Failure::new("the server asks for no token, so an agent could approve what it proposes")
                .code("agent-refused")
                .note("start the server with `--auth token`, or try agents on `sprag up --demo`"),
        );
    }
    let is_harmless = |role: &&Role| matches!(role, Role::Proposer | Role::Viewer);
    let Some(role) = me.roles.iter().find(|role| !is_harmless(role)) else {
        return Ok(());
    };
    let detail = format!(
        "the token of `{}` has the role `{role}`: a token for agents may only propose and read",
        me.principal
    );
    Err(Failure::new(detail)
        .code("agent-refused")
        .note("create one with `sprag token create NAME --role proposer`"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn me(authentication: bool, demo: bool, roles: &[Role]) -> Me {
        let me = json!({
            "principal": "helper", "roles": roles, "scopes": {}, "authentication": authentication, "demo": demo,
        });
        serde_json::from_value(me).unwrap()
    }

    #[test]
    fn only_tokens_that_propose_and_read_are_admitted() {
        for role in Role::ALL {
            let is_admitted = admit(&me(true, false, &[Role::Proposer, role])).is_ok();
            assert_eq!(is_admitted, matches!(role, Role::Proposer | Role::Viewer), "{role}");
            let in_demo = admit(&me(true, true, &[role])).is_ok();
            assert_eq!(in_demo, is_admitted, "a demo with tokens admits no other role: {role}");
        }
    }

    #[test]
    fn a_server_without_tokens_is_admitted_only_as_a_demo() {
        assert!(admit(&me(false, true, &[Role::Admin])).is_ok());
        assert!(admit(&me(false, false, &[Role::Admin])).is_err());
    }
}
