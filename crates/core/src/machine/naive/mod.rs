//! The proof of `step`: a second interpreter, as naive as can be, and the tests that hold the two against each other.
//!
//! The naive one follows the procedures of the W3C SCXML algorithm (appendix D) one by one, with lists, recursion and
//! no regard for speed. It shares the compiled model, the expressions and nothing else with `step`; where the two
//! disagree, the W3C text decides which is wrong.

mod agreement;
mod chart;
mod conformance;
mod entering;
mod interpreter;
mod plan;
mod selecting;
