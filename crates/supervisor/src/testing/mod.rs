//! For authors of workers: a whole tree on a paused clock, and a worker that a test can script.
//!
//! Everything happens on the calling thread, in the same order every time. [`World::run_for`] advances the clock tick
//! by tick. Futures that wait for [`Clockwork::sleep`] end when the clock has passed their time.

mod clockwork;
mod load;
mod puppet;
mod world;

pub use clockwork::Clockwork;
pub use load::{Crowd, Nothing, Pulse, Steady, SteadyState, beside, crowd, steady};
pub use puppet::{Facts, Puppet, PuppetAction, PuppetState, Script, Stage};
pub use world::World;
