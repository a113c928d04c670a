//! What agents perform, and the generator that starts its operations.

mod exec;
mod generator;
mod http;
mod machine;
mod standard;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use sprag_core::action::runner::BoxFuture;

use crate::plan::{Phase, Plan};

pub use generator::{Generator, Load};
pub use standard::Standard;

/// One kind of operation, ready to be performed many times at once.
pub trait Workload: Send + Sync {
    /// Performs one operation. Dropping the future cuts it.
    fn perform(&self) -> BoxFuture<'_, Result<(), String>>;

    /// Frees what operations left behind. Called once, after the last operation.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Makes workloads from plans.
pub trait Workloads: Send + Sync {
    /// Makes the workload of one phase, or says why this agent cannot perform it. Nothing is performed yet.
    fn build<'a>(&'a self, plan: &'a Plan, phase: &'a Phase) -> BoxFuture<'a, Result<Arc<dyn Workload>, String>>;
}
