//! What people learn about the tree: explanations, metrics, troubles, and log lines that repeat.

pub(crate) mod explain;
pub(crate) mod metrics;
pub(crate) mod seldom;
pub(crate) mod trouble;
