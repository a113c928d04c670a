//! Traces for OpenTelemetry: what the engine tells becomes spans, and a collector gets them by OTLP over HTTP.
//!
//! One trace per execution, whose id is the execution's own. Nothing here blocks a caller: the engine drops what there
//! is no room for, and what a collector does not take after a few tries is given up, both counted.

mod export;
mod proto;
mod spans;

#[cfg(test)]
mod tests;

pub(crate) use export::{Endpoint, start};
