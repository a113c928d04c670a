//! Supervised services: forced stops, symlinked logs.
