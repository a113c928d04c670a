//! Connections: idle ones, long polls and streams never lock out operators.
