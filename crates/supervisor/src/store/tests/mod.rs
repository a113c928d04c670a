//! Criteria 77 to 82 of the design, in memory and in a file; the numbers are those of the criteria.

mod deltas;
mod disk;
mod documents;
mod kill;
mod marks;
mod properties;
mod world;
