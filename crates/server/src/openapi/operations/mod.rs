//! What every method of every route is, one file per resource, in the order of the route table.

pub(crate) mod actions;
pub(crate) mod audit;
pub(crate) mod catalog;
pub(crate) mod dead_letters;
pub(crate) mod executions;
pub(crate) mod jobs;
pub(crate) mod limits;
pub(crate) mod loads;
pub(crate) mod machines;
pub(crate) mod runners;
pub(crate) mod switches;
pub(crate) mod system;
pub(crate) mod tokens;
pub(crate) mod workers;
pub(crate) mod workflows;

use super::operation::{Answer, Operation, version};
use super::shapes::{Shape, text, whole, words};
