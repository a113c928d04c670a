//! Reports about the tree: explanations, metrics, troubles, and repeated log lines.

pub(crate) mod explain;
pub(crate) mod metrics;
pub(crate) mod seldom;
pub(crate) mod trouble;
