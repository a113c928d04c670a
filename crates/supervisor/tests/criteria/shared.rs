//! A tree of puppets and what tests do with it.

use serde_json::{Value, json};
use sprag_supervisor::testing::{Clockwork, Stage, World};
use sprag_supervisor::{ChildSpec, Declaration, Dependency, Need, Registry, Rule};

/// A world of puppets.
pub(crate) struct Theatre {
    pub(crate) world: World,
    pub(crate) stage: Stage,
    pub(crate) clockwork: Clockwork,
}

pub(crate) fn theatre() -> Theatre {
    let clockwork = Clockwork::default();
    let stage = Stage::new(&clockwork);
    let world = World::new(registry(&stage), &clockwork).unwrap();
    Theatre {
        world,
        stage,
        clockwork,
    }
}

pub(crate) fn registry(stage: &Stage) -> Registry {
    Registry::default()
        .with("puppet", stage.clone())
        .with("other", stage.clone())
}

pub(crate) fn puppet(name: &str) -> ChildSpec {
    ChildSpec::new(name, "puppet", json!({}))
}

pub(crate) fn depending(mut spec: ChildSpec, on: &str) -> ChildSpec {
    spec.depends_on.push(Dependency {
        on: on.to_owned(),
        need: Need::Ready,
    });
    spec
}

/// A parent with those children.
pub(crate) fn over(name: &str, children: Vec<ChildSpec>) -> ChildSpec {
    let mut spec = puppet(name);
    spec.children = children;
    spec
}

/// Broken while the child shows `broken: true`.
pub(crate) fn rule(child: &str) -> Rule {
    let when: Value = json!({ "==": [ { "var": format!("{child}.observed.broken") }, true ] });
    Rule::when(format!("{child}-whole"), &when, child).unwrap()
}

impl Theatre {
    pub(crate) fn declare(&mut self, children: Vec<ChildSpec>) {
        self.world.declare(Declaration {
            children,
            ..Declaration::default()
        });
    }

    /// Lets everybody come up.
    pub(crate) fn up(&mut self) {
        let up = self.world.run_until(60_000, |world| {
            !world.is_empty() && world.counts().healthy == world.len()
        });
        assert!(up.is_some(), "{:#?}", self.world.list());
    }

    /// A service with `broker` and `pipeline` below it, all up, and a rule over the pipeline.
    pub(crate) fn service(&mut self) {
        self.stage.shows("service/pipeline", "broken", false);
        let mut service = over("service", vec![puppet("broker"), puppet("pipeline")]);
        service.rules = vec![rule("pipeline")];
        self.declare(vec![service]);
        self.up();
    }

    pub(crate) fn breaks(&self, path: &str) {
        self.stage.shows(path, "broken", true);
    }

    pub(crate) fn mends(&self, path: &str) {
        self.stage.shows(path, "broken", false);
    }

    pub(crate) fn circuit(&self, path: &str) -> &'static str {
        self.world.status(path).map_or("gone", |status| status.circuit)
    }

    /// Waits for the circuit of a child to stand so; how long that took.
    pub(crate) fn until_circuit(&mut self, path: &str, circuit: &str) -> u64 {
        let waited = self.world.run_until(600_000, |world| {
            world.status(path).is_some_and(|status| status.circuit == circuit)
        });
        waited.unwrap_or_else(|| panic!("never `{circuit}`: {:#?}", self.world.explain(path)))
    }
}
