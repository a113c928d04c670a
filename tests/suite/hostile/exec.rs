//! Programs: environment variables that make an interpreter run other code.
