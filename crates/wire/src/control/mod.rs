//! What operators control: bulk jobs, dead letters, limits, switches, load tests and tokens; and the audit of it.

mod audit;
mod dead_letters;
mod jobs;
mod limits;
mod loads;
mod switches;
mod tokens;

pub use audit::*;
pub use dead_letters::*;
pub use jobs::*;
pub use limits::*;
pub use loads::*;
pub use switches::*;
pub use tokens::*;
