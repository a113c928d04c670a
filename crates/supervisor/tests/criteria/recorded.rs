//! What workers count is kept and added up; who goes is looked at once more; what a killed process knew is known.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use sprag_supervisor::collector::Recorder;
use sprag_supervisor::store::{Store, StoreOptions};
use sprag_supervisor::testing::{Clockwork, Stage, World};
use sprag_supervisor::{
    Action, ActionContext, ActionError, ChildSpec, CollectError, Declaration, Goal, Identity, Next, Options, Phase,
    Registry, Setup, Snapshot, SpecError, State, Worker,
};

use crate::shared::{Theatre, over, puppet, registry, rule};

/// Counts three and measures its spec's pressure with every look.
struct Counting(Recorder);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Out,
    In,
}

impl State for Place {
    const NAMES: &'static [&'static str] = &["stopped", "running"];

    fn name(&self) -> &'static str {
        self.phase().name()
    }

    fn phase(&self) -> Phase {
        match self {
            Self::Out => Phase::Stopped,
            Self::In => Phase::Running,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Nothing {}

impl Action for Nothing {
    fn name(&self) -> &'static str {
        match *self {}
    }
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Seen {}

impl Worker for Counting {
    type Spec = Value;
    type Desired = f64;
    type Observed = Seen;
    type Action = Nothing;
    type State = Place;

    fn initial(&self) -> Place {
        Place::Out
    }

    fn derive(&self, spec: &Value) -> Result<f64, SpecError> {
        spec["pressure"].as_f64().ok_or_else(|| SpecError::new("no pressure"))
    }

    fn next(&self, state: &Place, snapshot: &Snapshot<Self>) -> Next<Self> {
        match (state, snapshot.goal) {
            (Place::Out, Goal::Running) => Next::To(Place::In, "seen".into()),
            (Place::In, Goal::Stopped) => Next::To(Place::Out, "asked to".into()),
            (_, Goal::Removed) => Next::Remove("asked to go".into()),
            _ => Next::Stay("as it is".into()),
        }
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.0)
    }

    async fn collect(&self, desired: &f64) -> Result<Seen, CollectError> {
        self.0.add("batches", 3);
        self.0.set("pressure", *desired);
        Ok(Seen {})
    }

    async fn perform(&self, action: &Nothing, _cx: ActionContext) -> Result<(), ActionError> {
        match *action {}
    }
}

fn counting(store: &Arc<Store>, pressure: f64) -> World {
    let clockwork = Clockwork::default();
    let registry = Registry::default().with("counting", |_: &Identity| Ok(Counting(Recorder::default())));
    let setup = Setup::new(registry, clockwork.clock()).store(Arc::clone(store));
    let mut world = World::with(setup, &clockwork).unwrap();
    world.declare(Declaration {
        children: vec![ChildSpec::new("a", "counting", json!({ "pressure": pressure }))],
        ..Declaration::default()
    });
    world
}

// 31.
#[test]
fn counters_add_up_over_looks_and_lives_and_gauges_are_replaced() {
    let store = Arc::new(Store::in_memory(StoreOptions::default(), 1));
    let metrics = || store.snapshot("a").unwrap().observed.unwrap().metrics;
    let mut first = counting(&store, 1.5);
    first.run_for(3_000);
    let before = metrics();
    let counted = before.counters["batches"];
    assert!(counted >= 6 && counted % 3 == 0, "{counted}");
    assert!((before.gauges["pressure"] - 1.5).abs() < f64::EPSILON);
    drop(first);
    let mut second = counting(&store, 2.5);
    let looked = second.run_until(5_000, |_| metrics().counters["batches"] == counted + 3);
    assert!(looked.is_some(), "one look of a new life adds three: {:?}", metrics());
    assert!((metrics().gauges["pressure"] - 2.5).abs() < f64::EPSILON);
}

fn remembering(store: &Arc<Store>) -> Theatre {
    let clockwork = Clockwork::default();
    let stage = Stage::new(&clockwork);
    let options = Options {
        restart_jitter: None,
        ..Options::default()
    };
    let setup = Setup::new(registry(&stage), clockwork.clock()).options(options);
    let world = World::with(setup.store(Arc::clone(store)), &clockwork).unwrap();
    Theatre {
        world,
        stage,
        clockwork,
    }
}

// 30.
#[test]
fn who_is_down_and_goes_is_looked_at_once_more() {
    let store = Arc::new(Store::in_memory(StoreOptions::default(), 1));
    let mut theatre = remembering(&store);
    theatre.declare(vec![puppet("a"), puppet("b")]);
    theatre.up();
    theatre.declare(vec![puppet("b")]);
    let stage = theatre.stage.clone();
    let gone = theatre.world.run_until(20_000, |world| {
        if world.state("a") == "stopped" {
            stage.shows("a", "word", "the last");
        }
        world.len() == 1
    });
    assert!(gone.is_some());
    let last = store.snapshot("a").unwrap().observed.unwrap();
    assert_eq!(
        (last.state.as_str(), &last.document["word"]),
        ("stopped", &json!("the last"))
    );
}

// 30.
#[test]
fn a_last_look_that_hangs_keeps_nobody() {
    let store = Arc::new(Store::in_memory(StoreOptions::default(), 1));
    let mut theatre = remembering(&store);
    theatre.declare(vec![puppet("a"), puppet("b")]);
    theatre.up();
    theatre.stage.script("a", |script| script.hangs = true);
    theatre.declare(vec![puppet("b")]);
    let gone = theatre.world.run_until(20_000, |world| world.len() == 1).unwrap();
    assert!(gone < 5_000, "{gone}");
    assert_eq!(store.snapshot("a").unwrap().observed.unwrap().state, "stopped");
}

// 30, 62.
#[test]
fn who_is_wanted_again_during_its_last_look_runs_and_is_looked_at() {
    let store = Arc::new(Store::in_memory(StoreOptions::default(), 1));
    let mut theatre = remembering(&store);
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    theatre.stage.script("a", |script| script.look_millis = 800);
    theatre.declare(vec![]);
    theatre.world.run_until(20_000, |world| world.state("a") == "stopped");
    theatre.world.run_for(300);
    theatre.declare(vec![puppet("a")]);
    theatre.stage.script("a", |script| script.look_millis = 0);
    theatre.up();
    let before = theatre.stage.read("a").looked;
    theatre.world.run_for(5_000);
    assert!(theatre.stage.read("a").looked >= before + 4);
}

/// Names the file to the child; absent in the parent.
const FILE: &str = "SPRAG_LIBRARY_TEST_FILE";
const TEST: &str = "recorded::a_library_tree_that_is_killed_knows_its_circuit_and_its_counters_afterwards";

fn on_disk(file: &Path) -> (Arc<Store>, Theatre) {
    let store = Arc::new(Store::open(file, StoreOptions::default()).unwrap().store);
    let mut theatre = remembering(&store);
    theatre.stage.shows("service/pipeline", "broken", false);
    let mut service = over("service", vec![puppet("broker"), puppet("pipeline")]);
    service.rules = vec![rule("pipeline")];
    theatre.declare(vec![service]);
    (store, theatre)
}

/// Ticks until something holds. What is written on the way takes real time, which the paused clock knows nothing of.
fn patiently(theatre: &mut Theatre, within_millis: u64, test: impl Fn(&World) -> bool) {
    let end = theatre.world.now().plus(within_millis);
    while !test(&theatre.world) {
        assert!(theatre.world.now() < end, "{:#?}", theatre.world.list());
        theatre.world.step();
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Restarts its child three times, says so once it is on disk, and waits to be killed.
fn child(file: &Path) {
    let (store, mut theatre) = on_disk(file);
    patiently(&mut theatre, 600_000, |world| world.counts().healthy == 3);
    theatre.breaks("service/pipeline");
    let third = |world: &World| world.status("service/pipeline").unwrap().restarts == 3;
    patiently(&mut theatre, 600_000, third);
    let durable = store.put_memory(&"service".into(), "test", &json!(true), theatre.world.now());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(durable.unwrap().wait()).unwrap();
    println!("\nthree restarts");
    loop {
        std::thread::park();
    }
}

#[test]
fn a_library_tree_that_is_killed_knows_its_circuit_and_its_counters_afterwards() {
    if let Some(file) = std::env::var_os(FILE) {
        return child(Path::new(&file));
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.db");
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", TEST, "--nocapture"])
        .env(FILE, &file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let told = lines.map_while(Result::ok).any(|line| line == "three restarts");
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(told, "the child did not get that far");
    let (_store, mut theatre) = on_disk(&file);
    theatre.breaks("service/pipeline");
    theatre.world.tick();
    assert_ne!(
        theatre.circuit("service/pipeline"),
        "closed",
        "the circuit is as it was"
    );
    assert!(theatre.world.status("service/pipeline").unwrap().restarts >= 3);
    patiently(&mut theatre, 600_000, |world| {
        world.status("service/pipeline").unwrap().circuit == "escalated"
    });
    let restarts = theatre.world.status("service/pipeline").unwrap().restarts;
    assert!(restarts <= 5, "the budget is not fresh: {restarts}");
}
