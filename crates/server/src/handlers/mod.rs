//! Handlers, by resource: extract, call the engine, map.

pub(crate) mod actions;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod compare;
pub(crate) mod dead_letters;
pub(crate) mod executions;
mod explain;
pub(crate) mod hooks;
pub(crate) mod jobs;
pub(crate) mod limits;
pub(crate) mod machines;
pub(crate) mod messages;
pub(crate) mod metrics;
pub(crate) mod operations;
pub(crate) mod pages;
pub(crate) mod reply;
pub(crate) mod runners;
pub(crate) mod simulate;
mod source;
pub(crate) mod streams;
pub(crate) mod switches;
pub(crate) mod system;
pub(crate) mod tokens;
pub(crate) mod ui;
pub(crate) mod workers;
pub(crate) mod workflows;
