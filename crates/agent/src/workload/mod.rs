//! What agents perform, and the generator that starts its operations.

mod action;
mod connection;
mod exec;
mod generator;
mod http;
mod machine;
mod standard;
mod stub;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use sprag_core::action::runner::BoxFuture;

use crate::plan::{Phase, Plan, Share};

pub use generator::{Generator, Load};
pub use standard::Standard;

/// One kind of operation, ready to be performed many times at once.
pub trait Workload: Send + Sync {
    /// A user, who performs one operation after the other and may keep a connection between them.
    fn user(self: Arc<Self>) -> Box<dyn User>;

    /// Frees what operations left behind. Called once, after the last operation.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Performs operations.
pub trait User: Send {
    /// Performs one operation. Dropping the future cuts it.
    fn perform(&mut self) -> BoxFuture<'_, Result<(), String>>;
}

/// A workload whose users keep nothing between operations.
pub trait Stateless: Send + Sync {
    /// Performs one operation.
    fn perform_one(&self) -> BoxFuture<'_, Result<(), String>>;
}

impl<T: Stateless> User for Arc<T> {
    fn perform(&mut self) -> BoxFuture<'_, Result<(), String>> {
        self.perform_one()
    }
}

/// Makes workloads from plans.
pub trait Workloads: Send + Sync {
    /// Makes the workload of one phase, or says why this agent cannot perform it. Nothing is performed yet.
    fn build<'a>(
        &'a self,
        plan: &'a Plan,
        phase: &'a Phase,
        share: Share,
    ) -> BoxFuture<'a, Result<Arc<dyn Workload>, String>>;
}
