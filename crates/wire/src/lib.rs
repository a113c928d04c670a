//! The types of the HTTP API: requests and answers, and the messages between nodes. Their doc comments are the API
//! description.
//!
//! The engine builds these types, the server writes them, the command line reads them, and the OpenAPI document is derived
//! from them. So the four always agree. The engine also stores some of them, as answers under idempotency keys, so their
//! members keep their names and order. Two rules keep old clients working: a reader skips unknown fields, and it keeps an
//! unknown word of an enumeration as text (`Other`). The server writes only words that the document lists.
//!
//! Every public type is named `sprag_wire::Type`, whatever file it is in.

mod control;
mod executions;
mod lookup;
mod machines;
mod operations;
mod page;
mod problem;
mod runners;
mod system;
mod tokens;
mod values;
mod workers;

pub use control::*;
pub use executions::*;
pub use lookup::*;
pub use machines::*;
pub use operations::*;
pub use page::{Count, Page};
pub use problem::{FieldError, Finding, Problem, Severity};
pub use runners::*;
pub use system::*;
pub use tokens::*;
pub use values::{Duration, Time};
pub use workers::*;
