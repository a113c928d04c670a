//! Rehearsals: one action definition, tried against replies that are scripted instead of the world.
//!
//! A file of rehearsals is YAML or JSON. Everything wrong in it is found in one run, with its place; a file with
//! anything wrong rehearses nothing. Here is what is read and judged; whoever performs attempts drives it. Nothing
//! here acts, and no time passes here.

mod advice;
mod compare;
mod course;
mod file;
mod keys;
mod mock;
mod plan;
mod script;
mod subject;
#[cfg(test)]
mod tests;

pub use advice::{Advice, advise};
pub use compare::{Happened, Unmet, compare};
pub use course::{Course, Stop, Tried};
pub use file::{Expect, RehearsalFile, Target, Test};
pub use mock::{Cut, Ending, Mock, Reply, Scripted};
pub use plan::{LoadTestPlan, PlanError, PlanOptions, Scenario, plan_load, plan_schema};
pub use script::{NoReply, Script, Taken};
pub use subject::{Event, Occasion, Reach, Subject};
