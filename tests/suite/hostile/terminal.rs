//! Terminals: no text from a server reaches one as a control sequence.
