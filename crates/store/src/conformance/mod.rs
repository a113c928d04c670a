//! One suite for all backends: what a store must do, whatever it is made of.
//!
//! A backend implements [`Subject`] and runs the groups of checks, each on a store of its own, and the differential
//! test against [`crate::Memory`]. A check fails by panicking or by returning the store's error.

mod audit;
mod conditions;
mod control;
mod dead_letters;
mod differential;
pub(crate) mod fixtures;
mod idempotency;
mod jobs;
mod lane;
mod lookup;
mod nodes;
mod pages;
mod plans;
mod queues;
mod random;
mod reader;
mod refusals;
mod texts;
mod values;

pub use audit::AUDIT;
pub use control::CONTROL;
pub use dead_letters::DEAD_LETTERS;
pub use differential::differential;
pub use idempotency::IDEMPOTENCY;
pub use jobs::JOBS;
pub use lane::LANE;
pub use lookup::LOOKUP;
pub use nodes::{Crowd, NODES, run_crowd};
pub use plans::PLANS;
pub use queues::QUEUES;
pub use reader::READER;
pub use refusals::REFUSALS;
pub use texts::TEXTS;
pub use values::VALUES;

use crate::traits::{Error, LaneStore, Reader};

/// A store under test, empty when made.
pub trait Subject {
    /// Opens the store; opened again, after all that was opened before is dropped, it holds the same.
    fn open(&self) -> (Box<dyn LaneStore>, Box<dyn Reader>);
}

/// One thing that must hold.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// A sentence, in snake case.
    pub name: &'static str,
    /// Panics or errs unless it holds.
    pub run: fn(&dyn Subject) -> Result<(), Error>,
}

/// Runs every check on a store of its own. The name of each is printed first, so that the last one printed is the one
/// that failed.
pub fn run<S: Subject>(checks: &[Check], make: impl Fn() -> S) -> Result<(), Error> {
    for check in checks {
        println!("{}", check.name);
        (check.run)(&make())?;
    }
    Ok(())
}

/// The table of the named functions.
macro_rules! checks {
    ($($name:ident),+ $(,)?) => {
        &[$($crate::conformance::Check { name: stringify!($name), run: $name }),+]
    };
}
use checks;
