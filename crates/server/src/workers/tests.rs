//! The API of supervision.
