//! stub
mod durable;
pub use durable::{Durable, NotDurable};
