//! Tests of actions: one definition, tried against replies that are scripted instead of the world.

mod advice;
mod case;
mod compare;
mod course;
mod mock;
mod plan;
mod script;
mod subject;
#[cfg(test)]
mod tests;

pub use advice::{Advice, advise};
pub(super) use case::read;
pub use case::{Case, Expect, Target};
pub use compare::{Happened, Unmet, compare};
pub use course::{Course, Stop, Tried};
pub use mock::{Cut, Ending, Mock, Reply, Scripted, check as check_mocks, read as read_mock};
pub use plan::{LoadTestPlan, PlanError, PlanOptions, Scenario as LoadScenario, plan_load, plan_schema};
pub use script::{NoReply, Script, Taken};
pub use subject::{Event, Occasion, Reach, TestSubject};
