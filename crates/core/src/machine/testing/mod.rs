//! Tests of machines and of their actions: one file format for both.
//!
//! A test file is YAML or JSON. Everything wrong in it is found in one run, with its place; a file with anything wrong
//! runs nothing. The test of a machine is a simulation. The test of an action is read and judged here; who performs
//! attempts drives it. Nothing here acts, and no time passes here.

mod action;
mod file;
mod keys;
mod scenario;
#[cfg(test)]
mod tests;

pub use action::{
    Advice, Case, Course, Cut, Ending, Event, Expect, Happened, LoadScenario, LoadTestPlan, Mock, NoReply, Occasion,
    PlanError, PlanOptions, Reach, Reply, Script, Scripted, Stop, Taken, Target, TestSubject, Tried, Unmet, advise,
    check_mocks, compare, plan_load, plan_schema, read_mock,
};
pub use file::{Test, TestFile};
pub use keys::MOCK;
pub use scenario::{Mismatch, Report, Scenario, run_scenario};
