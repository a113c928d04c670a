//! Kill switches whose scope names nothing.
