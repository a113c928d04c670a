//! The API as an OpenAPI 3.1 document, built from the one route table.
//!
//! A route cannot be in the table without its documentation, and the tests' client holds every answer against the
//! document, so what is served here is what the server does.

mod document;
mod methods;
mod operation;
pub(crate) mod operations;
pub(crate) mod page;
mod resources;
mod shapes;

#[cfg(test)]
mod tests;

pub(crate) use document::{document, text};
pub(crate) use methods::{Methods, get, post, put};
#[cfg(test)]
pub(crate) use operation::ONCE;
pub(crate) use operation::{Answer, Operation, Parameter};
pub(crate) use resources::{Example, RESOURCES, Resource};
