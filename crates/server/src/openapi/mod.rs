//! The API as an OpenAPI 3.1 document, built from the one route table.
//!
//! A route cannot be in the table without its documentation, and the tests' client holds every answer against the
//! document, so what is served here is what the server does.

mod document;
mod operation;
pub(crate) mod page;
mod resources;
mod route;
mod shapes;

#[cfg(test)]
mod tests;

pub(crate) use document::{document, document_text};
pub(crate) use operation::{ONCE, Operation, Parameter, Success, version};
pub(crate) use resources::{Example, RESOURCES, Resource};
pub(crate) use route::{Route, at};
pub(crate) use shapes::{Shape, text, whole, words};
