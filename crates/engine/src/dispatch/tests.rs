//! The dispatcher as a whole.
