//! Criteria 19 to 32 of the design, on virtual time; the numbers are those of the criteria.

mod actions;
mod ages;
mod blocked;
mod ends;
mod passes;
mod world;
