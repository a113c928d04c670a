//! The workloads that every agent has.

use std::sync::Arc;

use sprag_core::action::runner::BoxFuture;
use sprag_core::clock::Clock;
use sprag_runners::http::outbound::Guard;
use sprag_runners::secrets::Secrets;
use sprag_runners::{Error, Options, Registry};

use super::action::Actions;
use super::exec::Program;
use super::http::Requests;
use super::machine::Executions;
use super::{Workload, Workloads};
use crate::plan::{self, Phase, Plan, Share};

/// Workloads behind the outbound guard, the secrets and the list of allowed programs of this host.
pub struct Standard {
    guard: Guard,
    options: Options,
    registry: Registry,
    secrets: Arc<Secrets>,
    clock: Arc<dyn Clock>,
}

impl Standard {
    /// Workloads that may do what `options` allow, with these secrets.
    pub fn new(options: &Options, secrets: Arc<Secrets>, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        Ok(Self {
            guard: Guard::new(&options.outbound)?,
            registry: Registry::standard(options, Arc::clone(&clock), Arc::clone(&secrets))?,
            options: options.clone(),
            secrets,
            clock,
        })
    }

    async fn make(&self, plan: &Plan, phase: &Phase, share: Share) -> Result<Arc<dyn Workload>, String> {
        Ok(match &phase.workload {
            plan::Workload::Http(call) => Arc::new(Requests::new(call, &self.guard).await?),
            plan::Workload::Machine(start) => Arc::new(Executions::new(start, &self.guard).await?),
            plan::Workload::Action(call) => Arc::new(Actions::new(call, self, plan.seed, share).await?),
            plan::Workload::Exec(command) => {
                let runner = self.registry.get("exec").ok_or("this agent has no runner `exec`")?;
                let (runner, clock) = (Arc::clone(runner), Arc::clone(&self.clock));
                Arc::new(Program::new(command, runner, clock, phase.op_timeout)?)
            }
        })
    }

    /// The runners of this host.
    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// What the runners of this host may do.
    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    /// The secrets of this host.
    pub(super) fn secrets(&self) -> &Arc<Secrets> {
        &self.secrets
    }

    /// The clock.
    pub(super) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
}

impl Workloads for Standard {
    fn build<'a>(
        &'a self,
        plan: &'a Plan,
        phase: &'a Phase,
        share: Share,
    ) -> BoxFuture<'a, Result<Arc<dyn Workload>, String>> {
        Box::pin(self.make(plan, phase, share))
    }
}
