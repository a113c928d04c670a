//! Refusals of ids that no record has. Each kind of record has one text, which says where to find the right id.

use sprag_core::ids::{ActionId, ExecutionId, JobId, SwitchId, TokenId};

use super::{Code, Refusal};

impl Refusal {
    /// No execution has this id.
    pub(crate) fn no_execution(id: ExecutionId) -> Self {
        let detail = format!("there is no execution `{id}`; check the id, or list the executions");
        Self::new(Code::ExecutionUnknown, detail)
    }

    /// No action has this id.
    pub(crate) fn no_action(id: ActionId) -> Self {
        let detail = format!("there is no action `{id}`; check the id, or list the actions");
        Self::new(Code::ActionUnknown, detail)
    }

    /// The machine has no such version.
    pub(crate) fn no_version(machine: &str, version: u32) -> Self {
        let detail =
            format!("machine `{machine}` has no version {version}; use another version, or omit it for the newest");
        Self::new(Code::VersionUnknown, detail)
    }

    /// No job has this id.
    pub(crate) fn no_job(id: JobId) -> Self {
        let detail = format!("there is no job `{id}`; check the id, or list the jobs");
        Self::new(Code::JobUnknown, detail)
    }

    /// No token has this id.
    pub(crate) fn no_token(id: TokenId) -> Self {
        let detail = format!("there is no token `{id}`; check the id, or list the tokens");
        Self::new(Code::TokenUnknown, detail)
    }

    /// No kill switch with this id is on.
    pub(crate) fn no_switch(id: SwitchId) -> Self {
        let detail = format!("no kill switch `{id}` is on; list the switches that are on");
        Self::new(Code::SwitchUnknown, detail)
    }
}
