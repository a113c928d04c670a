//! The workloads that every agent has.

use std::sync::Arc;

use sprag_core::action::runner::BoxFuture;
use sprag_core::clock::Clock;
use sprag_runners::http::outbound::Guard;
use sprag_runners::{Error, Options, Registry};

use super::exec::Program;
use super::http::Requests;
use super::machine::Executions;
use super::{Workload, Workloads};
use crate::plan::{self, Phase, Plan};

/// Workloads behind the outbound guard and the list of allowed programs of this host.
pub struct Standard {
    guard: Guard,
    registry: Registry,
    clock: Arc<dyn Clock>,
}

impl Standard {
    /// Workloads that may do what `options` allow.
    pub fn new(options: &Options, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        Ok(Self {
            guard: Guard::new(&options.outbound)?,
            registry: Registry::standard(options, Arc::clone(&clock), Arc::default())?,
            clock,
        })
    }
}

impl Workloads for Standard {
    fn build<'a>(&'a self, _plan: &'a Plan, phase: &'a Phase) -> BoxFuture<'a, Result<Arc<dyn Workload>, String>> {
        Box::pin(async move {
            let workload: Arc<dyn Workload> = match &phase.workload {
                plan::Workload::Http(call) => Arc::new(Requests::new(call, &self.guard).await?),
                plan::Workload::Machine(start) => Arc::new(Executions::new(start, &self.guard).await?),
                plan::Workload::Exec(command) => {
                    let runner = self.registry.get("exec").ok_or("this agent has no runner `exec`")?;
                    Arc::new(Program::new(
                        command,
                        Arc::clone(runner),
                        Arc::clone(&self.clock),
                        phase.op_timeout,
                    )?)
                }
            };
            Ok(workload)
        })
    }
}
