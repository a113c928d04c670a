//! What people should hear of a plan that waits for them: that it does, that its time to decide is nearly over, that its
//! steps are overdue.
//!
//! A plan that waits is looked at when the next of these is due. What was told is stored with the plan, so a crash neither
//! loses nor repeats it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sprag_core::operation::WorkflowStatus;
use sprag_core::time::Timestamp;

use super::plans::PlanState;

/// Approvers hear that the time to decide ends when the last of so many parts of it begins.
const PARTS: u64 = 4;

/// What there is to tell of a plan that waits for approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalNews {
    /// It waits since now.
    Waiting,
    /// A quarter of its time to decide is left.
    Expiring,
    /// A step of it was due, and nobody has approved it.
    Overdue,
}

impl ApprovalNews {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Waiting, Self::Expiring, Self::Overdue];

    /// The name in `[[alerts]]`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Expiring => "expiring",
            Self::Overdue => "overdue",
        }
    }
}

impl PlanState {
    /// What is told of it, each with its time.
    fn news(&self) -> impl Iterator<Item = (Timestamp, ApprovalNews)> {
        let asked = self.decided.asked_at.unwrap_or(self.plan.proposed_at);
        let expiring = self
            .decide_by
            .map(|by| asked.plus(by.since(asked) / PARTS * (PARTS - 1)));
        let due = self.plan.steps.iter().filter_map(|step| step.scheduled_at);
        let overdue = due.min().filter(|due| *due > asked);
        let later = [(expiring, ApprovalNews::Expiring), (overdue, ApprovalNews::Overdue)];
        let later = later.into_iter().filter_map(|(at, news)| Some((at?, news)));
        std::iter::once((asked, ApprovalNews::Waiting)).chain(later)
    }

    /// What is to be told now, each once.
    pub(crate) fn tell(&mut self, now: Timestamp) -> Vec<ApprovalNews> {
        if self.status != WorkflowStatus::AwaitingApproval {
            return Vec::new();
        }
        let told = &self.decided.told;
        let due = self.news().filter(|(at, news)| *at <= now && !told.contains(news));
        let due: Vec<ApprovalNews> = due.map(|(_, news)| news).collect();
        self.decided.told.extend(&due);
        due
    }

    /// When it is looked at next: something is to be told, or nobody decided in time.
    pub(crate) fn look_at(&self) -> Option<Timestamp> {
        if self.status != WorkflowStatus::AwaitingApproval {
            return None;
        }
        let told = &self.decided.told;
        let untold = self.news().filter(|(_, news)| !told.contains(news)).map(|(at, _)| at);
        untold.chain(self.decide_by).min()
    }

    /// What an alert says of it. No plan holds a secret.
    pub(crate) fn alert(&self, news: ApprovalNews) -> Value {
        let plan = &self.plan;
        json!({
            "type": format!("approval_{}", news.name()),
            "severity": if news == ApprovalNews::Waiting { "medium" } else { "high" },
            "details": {
                "id": self.id,
                "name": plan.name,
                "reason": plan.reason,
                "proposer": plan.proposer,
                "ticket": plan.ticket,
                "riskLevel": plan.risk_level,
                "urgency": plan.urgency,
                "digest": plan.digest_text(),
                "proposedAt": plan.proposed_at,
                "expiresAt": self.decide_by,
                "executionId": plan.execution,
            },
        })
    }
}
