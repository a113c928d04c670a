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
pub use values::{Duration, Time};
pub use workers::*;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

/// A request body that is read by its schema: names, presence, shapes and limits are written with the type.
pub trait Body: DeserializeOwned + JsonSchema + 'static {
    /// Whether the server checks the lengths of texts when it reads the body. Where it does not, the engine checks them: its
    /// refusal has a code of its own.
    const CHECKS_LENGTHS: bool = true;
}
