//! Many workers at once: for tests that count visits, and for measurements.

use serde_json::json;

use super::clockwork::Clockwork;
use super::puppet::Stage;
use super::world::World;
use crate::child::ChildSpec;
use crate::collector::ThresholdsError;
use crate::registry::Registry;
use crate::supervisor::Declaration;

/// A tree of many puppets beside each other, all running.
pub struct Crowd {
    /// The tree.
    pub world: World,
    /// The puppets' scripts.
    pub stage: Stage,
}

/// Brings up so many workers, named `w0`, `w1`, ….
pub fn crowd(workers: usize) -> Result<Crowd, ThresholdsError> {
    let clockwork = Clockwork::default();
    let stage = Stage::new(&clockwork);
    let registry = Registry::default().with("puppet", stage.clone());
    let mut world = World::new(registry, &clockwork)?;
    let children = (0..workers).map(|number| ChildSpec::new(format!("w{number}"), "puppet", json!({})));
    world.declare(Declaration {
        children: children.collect(),
        ..Declaration::default()
    });
    world.run_until(60_000, |world| world.counts().healthy == workers);
    Ok(Crowd { world, stage })
}
