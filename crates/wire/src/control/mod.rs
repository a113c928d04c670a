//! What operators control: bulk jobs, dead letters, limits and switches; and the audit of it.

mod audit;
mod dead_letters;
mod jobs;
mod limits;
mod switches;

pub use audit::*;
pub use dead_letters::*;
pub use jobs::*;
pub use limits::*;
pub use switches::*;
