//! Every parser under mutated input: no panic, no hang, and what is accepted keeps its promises.
//!
//! `make test` gives each parser a few hundred inputs, the same in every run. `make prove` gives all of them together
//! `SPRAG_FUZZ_SECONDS` seconds, and with `SPRAG_FUZZ_SEED` other inputs. A failure prints the input and where it was
//! saved, under `target/fuzz`. Routes are tried in `tests/suite/hostile`.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue says so by panicking")]

mod corpus;
mod expressions;
mod files;
mod mutate;
mod run;
mod texts;
