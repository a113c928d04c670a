//! Pages and memory: answers are bounded in bytes.
