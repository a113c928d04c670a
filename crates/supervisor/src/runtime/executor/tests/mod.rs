//! Criteria 1 to 18 of the design, on virtual time; the numbers are those of the criteria.

mod ends;
mod races;
mod retries;
mod slots;
mod world;
