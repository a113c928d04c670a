//! Approvals: what a policy asks for, which approvals count, and whether a step may begin now.
//!
//! Everything is a function of the plan's facts, the approvals given, two policies and an instant. In each part of the policy,
//! the stricter of the policy at an approval and the policy now holds.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::plan::{Approvals, Plan};
use super::risk::Risk;
use crate::access::Role;
use crate::time::Timestamp;

/// Who must approve, how many, and for how long that holds (`[approval]`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Policy {
    /// Which plans need approval.
    pub mode: Approvals,
    /// From which risk on they do.
    pub threshold: Risk,
    /// What each level of risk asks for.
    pub rules: Rules,
    /// Whether a proposer may approve: for one person who tries Sprag alone.
    pub self_approval: bool,
    /// Milliseconds from the proposal within which an approver must decide.
    pub decide_within: Option<u64>,
    /// Milliseconds from the approval within which steps must begin.
    pub valid_for: Option<u64>,
}

/// What each level of risk asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// At low risk.
    pub low: Rule,
    /// At medium risk.
    pub medium: Rule,
    /// At high risk.
    pub high: Rule,
    /// At critical risk.
    pub critical: Rule,
}

/// What one level of risk asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// How many principals must approve.
    pub quorum: u32,
    /// The role that each of them needs.
    pub role: ApproverRole,
}

/// The roles that can approve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApproverRole {
    /// `approver`, or `admin`.
    #[default]
    Approver,
    /// `admin` only.
    Admin,
}

/// An approval that was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// The principal.
    pub by: String,
    /// The token it used, if there was one: once that is revoked, the approval does not count for what has not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The strongest of its roles that can approve.
    pub role: ApproverRole,
    /// When.
    pub at: Timestamp,
    /// What it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Whether it proposed the plan itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
    /// The digest that it approved.
    pub digest: String,
    /// The policy at that time.
    pub policy: Policy,
}

/// A decision against a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// The principal.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// What an approval is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanRisk {
    /// The digest of the plan.
    pub digest: String,
    /// The principal that proposed it.
    pub proposer: String,
    /// When the approval was requested: `decideWithin` counts from then.
    pub asked_at: Timestamp,
    /// Its highest risk.
    pub risk: Risk,
    /// Whether it declares that it needs approval.
    pub declared: bool,
}

/// Every decision about a plan so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Decisions {
    /// The approvals, the oldest first.
    pub given: Vec<Approval>,
    /// Who rejected it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Refusal>,
    /// Who revoked its approval last. Approvals from before that do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Refusal>,
}

/// The circumstances of a question about a plan.
#[derive(Clone, Copy)]
pub struct Circumstances<'a> {
    /// The policy now.
    pub policy: &'a Policy,
    /// The instant.
    pub now: Timestamp,
    /// When the step was due, if it is a follow-up: `validFor` counts from then.
    pub due: Option<Timestamp>,
    /// Whether a token was revoked.
    pub is_token_revoked: &'a dyn Fn(&str) -> bool,
}

/// Whether a plan may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalVerdict {
    /// It needs no approval.
    NotNeeded,
    /// So many principals more must approve, until then.
    Needed {
        /// How many.
        more: u32,
        /// The end of the time to decide.
        until: Option<Timestamp>,
    },
    /// Steps may begin until then.
    Approved {
        /// The last instant at which a step may begin.
        until: Option<Timestamp>,
    },
    /// A principal rejected it.
    Rejected,
    /// The time to decide is over, and too few approved.
    Undecided,
    /// The time to begin is over.
    Expired,
    /// Its approval was revoked and no approval followed.
    Revoked,
}

/// Why a principal cannot approve.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalError {
    /// The plan is another one.
    #[error("the digest `{given}` is not that of the plan, which is `{expected}`")]
    PlanChanged {
        /// What was given.
        given: String,
        /// The plan's.
        expected: String,
    },
    /// The principal proposed the plan.
    #[error("`{by}` proposed this plan and cannot approve it")]
    SelfApproval {
        /// The principal.
        by: String,
    },
    /// The principal's roles are too low.
    #[error("a plan of risk `{risk}` needs an approver with the role `{needed}`")]
    RoleMissing {
        /// The plan's risk.
        risk: Risk,
        /// The role.
        needed: ApproverRole,
    },
    /// The time to decide is over, or the approval that there was is.
    #[error("the time to approve this plan is over")]
    Expired,
    /// The plan was rejected.
    #[error("this plan was rejected")]
    Rejected,
    /// The principal approved it before.
    #[error("`{by}` approved this plan before")]
    Twice {
        /// The principal.
        by: String,
    },
    /// It needs no approval.
    #[error("this plan needs no approval")]
    NotNeeded,
}

/// A principal that wants to approve.
#[derive(Clone, Debug)]
pub struct Approver<'a> {
    /// The principal.
    pub by: &'a str,
    /// Its roles.
    pub roles: &'a [Role],
    /// Its token.
    pub token: Option<&'a str>,
    /// The digest that it saw.
    pub digest: &'a str,
    /// What it says.
    pub comment: Option<&'a str>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            mode: Approvals::DeclaredOrRisk,
            threshold: Risk::High,
            rules: Rules::default(),
            self_approval: false,
            decide_within: None,
            valid_for: None,
        }
    }
}

impl Default for Rules {
    fn default() -> Self {
        let rule = Rule {
            quorum: 1,
            role: ApproverRole::Approver,
        };
        Self {
            low: rule,
            medium: rule,
            high: rule,
            critical: rule,
        }
    }
}

impl Rules {
    fn of(self, risk: Risk) -> Rule {
        match risk {
            Risk::Low => self.low,
            Risk::Medium => self.medium,
            Risk::High => self.high,
            Risk::Critical => self.critical,
        }
    }

    fn stricter(self, other: Self) -> Self {
        let of = |left: Rule, right: Rule| Rule {
            quorum: left.quorum.max(right.quorum),
            role: left.role.max(right.role),
        };
        Self {
            low: of(self.low, other.low),
            medium: of(self.medium, other.medium),
            high: of(self.high, other.high),
            critical: of(self.critical, other.critical),
        }
    }
}

impl ApproverRole {
    /// The role.
    pub fn role(self) -> Role {
        match self {
            Self::Approver => Role::Approver,
            Self::Admin => Role::Admin,
        }
    }

    /// The strongest of these roles that can approve.
    pub fn strongest(roles: &[Role]) -> Option<Self> {
        let of = |role: &Role| match role {
            Role::Admin => Some(Self::Admin),
            Role::Approver => Some(Self::Approver),
            _ => None,
        };
        roles.iter().filter_map(of).max()
    }
}

impl fmt::Display for ApproverRole {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.role().fmt(formatter)
    }
}

impl Serialize for ApproverRole {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ApproverRole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let role = word.parse::<Role>().map_err(de::Error::custom)?;
        Self::strongest(&[role]).ok_or_else(|| de::Error::custom(format!("`{word}` cannot approve")))
    }
}

impl Policy {
    /// The stricter of the two in each part.
    #[must_use]
    pub fn stricter(&self, other: &Self) -> Self {
        let shorter = |left: Option<u64>, right: Option<u64>| left.into_iter().chain(right).min();
        Self {
            mode: self.mode,
            threshold: self.threshold.min(other.threshold),
            rules: self.rules.stricter(other.rules),
            self_approval: self.self_approval && other.self_approval,
            decide_within: shorter(self.decide_within, other.decide_within),
            valid_for: shorter(self.valid_for, other.valid_for),
        }
    }

    /// Whether a plan needs approval.
    pub fn needs(&self, plan: &PlanRisk) -> bool {
        match self.mode {
            Approvals::All => true,
            Approvals::Declared => plan.declared,
            Approvals::DeclaredOrRisk => plan.declared || plan.risk >= self.threshold,
        }
    }

    /// The end of the time to decide about a plan.
    pub fn decide_by(&self, plan: &PlanRisk) -> Option<Timestamp> {
        Some(plan.asked_at.plus(self.decide_within?))
    }
}

impl PlanRisk {
    /// The facts of a plan that approvals are about.
    pub fn of(plan: &Plan) -> Self {
        Self {
            digest: plan.digest_text(),
            proposer: plan.proposer.clone(),
            asked_at: plan.proposed_at,
            risk: plan.risk_level,
            declared: plan.requires_approval,
        }
    }
}

impl Decisions {
    /// Whether the plan may run, under these circumstances.
    pub fn verdict(&self, plan: &PlanRisk, around: &Circumstances<'_>) -> ApprovalVerdict {
        let policy = self.policy(around.policy);
        let was_needed = self.given.iter().any(|approval| approval.policy.needs(plan));
        if self.rejected.is_some() {
            return ApprovalVerdict::Rejected;
        }
        if !around.policy.needs(plan) && !was_needed && self.revoked.is_none() {
            return ApprovalVerdict::NotNeeded;
        }
        let counted = self.counted(plan, &policy, around.is_token_revoked);
        let quorum = policy.rules.of(plan.risk).quorum.max(1);
        let reached = usize::try_from(quorum)
            .ok()
            .and_then(|quorum| counted.get(quorum.checked_sub(1)?));
        let Some(last) = reached else {
            let until = policy.decide_by(plan);
            if until.is_some_and(|until| around.now > until) {
                return ApprovalVerdict::Undecided;
            }
            if counted.is_empty() && self.revoked.is_some() {
                return ApprovalVerdict::Revoked;
            }
            let given = u32::try_from(counted.len()).unwrap_or(u32::MAX);
            return ApprovalVerdict::Needed {
                more: quorum.saturating_sub(given),
                until,
            };
        };
        let begin = around.due.map_or(last.at, |due| due.max(last.at));
        match policy.valid_for.map(|length| begin.plus(length)) {
            Some(until) if around.now > until => ApprovalVerdict::Expired,
            until => ApprovalVerdict::Approved { until },
        }
    }

    /// The approval that this principal may give now.
    pub fn admit(
        &self,
        plan: &PlanRisk,
        approver: &Approver<'_>,
        around: &Circumstances<'_>,
    ) -> Result<Approval, ApprovalError> {
        if approver.digest != plan.digest {
            return Err(ApprovalError::PlanChanged {
                given: approver.digest.to_owned(),
                expected: plan.digest.clone(),
            });
        }
        match self.verdict(plan, around) {
            ApprovalVerdict::Rejected => return Err(ApprovalError::Rejected),
            ApprovalVerdict::Undecided | ApprovalVerdict::Expired => return Err(ApprovalError::Expired),
            ApprovalVerdict::NotNeeded => return Err(ApprovalError::NotNeeded),
            ApprovalVerdict::Needed { .. } | ApprovalVerdict::Approved { .. } | ApprovalVerdict::Revoked => {}
        }
        let policy = self.policy(around.policy);
        let by = approver.by.to_owned();
        let own = approver.by == plan.proposer;
        if own && !policy.self_approval {
            return Err(ApprovalError::SelfApproval { by });
        }
        let needed = policy.rules.of(plan.risk).role;
        let role = ApproverRole::strongest(approver.roles).filter(|role| *role >= needed);
        let Some(role) = role else {
            return Err(ApprovalError::RoleMissing {
                risk: plan.risk,
                needed,
            });
        };
        let counted = self.counted(plan, &policy, around.is_token_revoked);
        if counted.iter().any(|approval| approval.by == by) {
            return Err(ApprovalError::Twice { by });
        }
        Ok(Approval {
            by,
            token: approver.token.map(str::to_owned),
            role,
            at: around.now,
            comment: approver.comment.map(str::to_owned),
            own,
            digest: plan.digest.clone(),
            policy: around.policy.clone(),
        })
    }

    /// The approvals since its approval was last revoked, the oldest first.
    pub fn standing(&self) -> impl Iterator<Item = &Approval> {
        let since = self.since();
        self.given.iter().filter(move |approval| approval.at >= since)
    }

    /// The policy that holds: the one now, and every one at an approval.
    fn policy(&self, now: &Policy) -> Policy {
        self.standing()
            .fold(now.clone(), |policy, approval| policy.stricter(&approval.policy))
    }

    /// Approvals from before this instant do not count.
    fn since(&self) -> Timestamp {
        let revoked = self.revoked.as_ref().map(|refusal| refusal.at.plus(1));
        revoked.unwrap_or(Timestamp::from_millis(i64::MIN))
    }

    /// The approvals that count, one for each principal, the oldest first.
    fn counted(&self, plan: &PlanRisk, policy: &Policy, is_token_revoked: &dyn Fn(&str) -> bool) -> Vec<&Approval> {
        let until = policy.decide_by(plan);
        let needed = policy.rules.of(plan.risk).role;
        let mut principals = BTreeSet::new();
        let counts = |approval: &&Approval| {
            approval.digest == plan.digest
                && until.is_none_or(|until| approval.at <= until)
                && (approval.by != plan.proposer || policy.self_approval)
                && approval.role >= needed
                && !approval.token.as_deref().is_some_and(is_token_revoked)
                && principals.insert(approval.by.clone())
        };
        self.standing().filter(counts).collect()
    }
}

#[cfg(test)]
mod tests;
