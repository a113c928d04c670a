//! Hostile input: what a hostile or tired person sends, and what must hold all the same.
//!
//! One file a subject. Every case runs beside a neighbour (`sprag_tests::neighbour`) that must lose nothing.

mod bodies;
mod bounds;
mod clock;
mod connections;
mod downloads;
mod exec;
mod files;
mod hooks;
mod refusals;
mod secrets;
mod supervised;
mod switches;
mod terminal;
mod text;
