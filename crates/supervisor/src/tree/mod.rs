//! The tree of workers: who exists, what each is to do next, and who must be looked at.
//!
//! One owner ticks it. A tick visits only those that are marked (a new observation, a changed desire, an action's end, a
//! due time) and never waits; a full sweep now and then guards against a lost mark. A worker that panics or fails
//! stops nobody else. What goes on in the world goes on in the hands ([`hands`]), on their own threads.

mod arena;
mod children;
mod derive;
mod goal;
mod hands;
mod keep;
mod leave;
mod news;
mod node;
mod operate;
mod restart;
mod rules;
mod step;
mod tick;
mod troubles;
mod visit;

pub(crate) use arena::Index;
pub(crate) use hands::Hands;
pub(crate) use keep::Keeper;
pub(crate) use node::{Derived, Node};
pub(crate) use operate::shown_path;
pub(crate) use restart::Stage;
pub(crate) use rules::Watch;
pub(crate) use tick::{Parts, Tree};

pub use children::ChildError;
pub use leave::{CutAt, ShutdownOutcome};
pub use operate::{Counts, OperateError, ROOT_PATH, Status};
pub use step::Gate;
pub use tick::Ticked;
