//! The controller: it checks the agents, starts them at one instant, merges what they report, and judges the run.
//!
//! One task follows each agent and reports what it sees; one owner merges. So every figure, live or final, comes from the same
//! merged data.

mod collect;
mod connect;
mod follow;
mod html;
mod judge;
mod options;
mod output;
mod preflight;
mod result;
mod run;
mod svg;

#[cfg(test)]
mod tests;

pub use collect::{AgentState, AgentView, Quiet};
pub use connect::{ClientTls, Connect};
pub use html::report;
pub use options::{Live, Options, Progress, Silence, Stop};
pub use output::{Line, read};
pub use preflight::NotReady;
pub use run::{Ending, Error, Finished, run};
pub use sprag_wire::{
    AgentResult, CurvePoint, FailureResult, LoadFigures, Percentiles, RunResult, RunStatus, ThresholdResult,
};
