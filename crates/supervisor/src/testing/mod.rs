//! For authors of workers: a whole tree on a clock that stands still until it is moved, and a worker to be scripted.
//!
//! Everything happens on the calling thread and in the same order every time. [`World::run_for`] moves the clock by
//! ticks; futures that wait for [`Clockwork::sleep`] end when the clock has passed their time.

mod clockwork;
mod load;
mod puppet;
mod world;

pub use clockwork::Clockwork;
pub use load::{Crowd, Nothing, Pulse, Steady, SteadyState, beside, crowd, steady};
pub use puppet::{Facts, Puppet, PuppetAction, PuppetState, Script, Stage};
pub use world::World;
