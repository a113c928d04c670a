//! How an agent runs.

use std::sync::Arc;
use std::time::Duration;

use sprag_core::clock::Clock;

use super::security::Security;
use crate::lifecycle::Bounds;
use crate::workload::Workloads;

/// The options of an agent.
#[derive(Clone)]
pub struct Options {
    /// Its name in reports.
    pub name: String,
    /// How long it waits for what.
    pub bounds: Bounds,
    /// How often an idle connection is probed, and how long the answer may take. A controller that does not answer is lost.
    pub keepalive: Duration,
    /// From one live message to the next.
    pub report_every: Duration,
    /// Its clock.
    pub clock: Arc<dyn Clock>,
    /// What it can perform.
    pub workloads: Arc<dyn Workloads>,
    /// Who may control it.
    pub security: Security,
}

impl Options {
    /// The options of the design, for an agent without security.
    pub fn new(name: impl Into<String>, clock: Arc<dyn Clock>, workloads: Arc<dyn Workloads>) -> Self {
        Self {
            name: name.into(),
            bounds: Bounds::default(),
            keepalive: Duration::from_secs(5),
            report_every: Duration::from_secs(1),
            clock,
            workloads,
            security: Security::default(),
        }
    }
}
