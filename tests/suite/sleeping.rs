//! A million sleepers: on disk they cost no memory, and after an outage every one of them wakes, none of them early.

use std::time::Duration;

use serde_json::{Value, json};
use sprag_core::clock::{Clock, System};
use sprag_core::time::Timestamp;
use sprag_tests::{Client, Product, store, wait};

/// A hang guard, not a measure.
const GUARD: Duration = Duration::from_mins(10);
/// Sleepers in the ordinary run; `SPRAG_PROVE_SLEEPERS` asks for more.
const SLEEPERS: usize = 2_000;
/// Sleepers that are started with the same delay.
const BLOCK: usize = 500;
const CLIENTS: usize = 64;
/// Executions that show how quick starting is here and now.
const PACE: u32 = 10_000;
/// Time for the outage, before the first of them wake.
const OUTAGE_MILLIS: u64 = 20_000;
/// Within this time they wake, one after the other.
const SPREAD_MILLIS: i64 = 60_000;
const RESIDENT_BYTES_MAX: u64 = 200 << 20;
const READY_MAX: Duration = Duration::from_secs(5);

#[test]
fn sleepers_cost_no_memory_and_all_wake_after_an_outage() {
    let proves = std::env::var_os("SPRAG_PROVE").is_some();
    let count = sleepers();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sprag.db");
    let clock = System::start(Timestamp::from_millis(0));
    let product = Product::start(&file, &[]);
    let plan = if proves {
        let wake = clock.now().plus(time_to_start(&product, count) + OUTAGE_MILLIS);
        Plan::new(wake, SPREAD_MILLIS, count, BLOCK * 20)
    } else {
        Plan::new(clock.now().plus(6_000), 1_000, count, BLOCK)
    };
    let delays = start_all(&product, &clock, &plan);
    println!("sleeping: {count} started in {:.1} s", clock.elapsed().as_secs_f64());
    product.kill();

    let (product, ready) = Product::start_until_ready(&file, &[]);
    let asleep = clock.now() < plan.wake;
    let resident = product.resident_bytes();
    println!(
        "sleeping: ready {} ms after the start, {} MiB resident, the store has {} MiB",
        ready.as_millis(),
        resident >> 20,
        store::bytes(&file) >> 20,
    );
    let census = System::start(Timestamp::from_millis(0));
    assert_eq!(product.client().get("/metrics").unwrap().status, 200);
    println!("sleeping: {} ms for `/metrics`", census.elapsed().as_millis());
    let late = lateness(&product, &delays);
    let peak = product.peak_bytes();
    println!(
        "sleeping: {} woke, lateness p50 {} ms, p99 {} ms, most {} ms, at most {} MiB resident",
        late.len(),
        late[late.len() / 2],
        late[late.len() * 99 / 100],
        late[late.len() - 1],
        peak >> 20,
    );
    assert_eq!(late.len(), count);
    assert!(late[0] >= 0, "a timer fired {} ms early", -late[0]);
    if proves {
        assert!(asleep, "the rig was too slow: some woke before the server was back");
        assert!(ready < READY_MAX, "promised: ready within 5 s, took {ready:?}");
        assert!(resident < RESIDENT_BYTES_MAX, "promised: under 200 MiB");
        assert!(
            peak < RESIDENT_BYTES_MAX,
            "promised: under 200 MiB, also while they wake"
        );
    }
}

fn sleepers() -> usize {
    let asked = std::env::var("SPRAG_PROVE_SLEEPERS").ok();
    asked.map_or(SLEEPERS, |text| text.parse().unwrap())
}

/// How long starting so many takes, in milliseconds, with room for a machine that has other things to do as well.
fn time_to_start(product: &Product, count: usize) -> u64 {
    let machine = json!({ "id": "pace", "initial": "done", "states": { "done": { "type": "final" } } });
    assert_eq!(product.client().post("/v1/machines", &machine).unwrap().status, 201);
    let watch = System::start(Timestamp::from_millis(0));
    start_block(product, "pace", PACE as usize);
    let each = watch.elapsed() / PACE;
    let all = each * u32::try_from(count).unwrap();
    u64::try_from(all.as_millis()).unwrap() * 3 / 2
}

/// Who wakes when.
struct Plan {
    /// When the first of them wake.
    wake: Timestamp,
    blocks: usize,
    /// How many are in a block.
    block: usize,
    /// How much later each block wakes than the one before it.
    step_millis: i64,
}

impl Plan {
    fn new(wake: Timestamp, spread_millis: i64, count: usize, block: usize) -> Self {
        let blocks = count.div_ceil(block);
        Self {
            wake,
            blocks,
            block,
            step_millis: spread_millis / i64::try_from(blocks).unwrap(),
        }
    }

    /// What a block that is started now has to sleep.
    fn delay(&self, block: usize, now: Timestamp) -> i64 {
        let due = self.wake.as_millis() + i64::try_from(block).unwrap() * self.step_millis;
        (due - now.as_millis()).max(1)
    }
}

/// Starts them all, a block at a time: a machine's delays are fixed, so each block has a version of its own. Gives the
/// delay of each version.
fn start_all(product: &Product, clock: &System, plan: &Plan) -> Vec<i64> {
    let mut delays = Vec::new();
    for block in 0..plan.blocks {
        let delay = plan.delay(block, clock.now());
        let applied = product.client().post("/v1/machines", &machine(block, delay)).unwrap();
        assert_eq!(applied.status, 201, "{applied:?}");
        delays.push(delay);
        assert_eq!(applied.body["version"], delays.len());
        start_block(product, "sleeper", plan.block);
    }
    delays
}

/// The block's number is part of the machine, so that no two versions are the same.
fn machine(block: usize, delay: i64) -> Value {
    json!({
        "id": "sleeper",
        "description": format!("block {block}"),
        "initial": "asleep",
        "states": { "asleep": { "after": { delay.to_string(): "awake" } }, "awake": { "type": "final" } },
    })
}

fn start_block(product: &Product, machine: &str, count: usize) {
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let mut client = product.client();
            scope.spawn(move || {
                for _ in (number..count).step_by(CLIENTS) {
                    let answer = client.post("/v1/executions", &json!({ "machine": machine })).unwrap();
                    assert_eq!(answer.status, 201, "{answer:?}");
                }
            });
        }
    });
}

/// How late each timer fired in milliseconds, sorted; waits until all have.
fn lateness(product: &Product, delays: &[i64]) -> Vec<i64> {
    let mut client = product.client();
    wait::until("all sleepers to wake", GUARD, || {
        let answer = client.get("/v1/executions?status=running&limit=1").unwrap();
        answer.body["data"].as_array().unwrap().is_empty().then_some(())
    });
    let mut late = Vec::new();
    let mut next = Some(String::new());
    while let Some(cursor) = next {
        next = page(&mut client, &cursor, delays, &mut late);
    }
    late.sort_unstable();
    late
}

/// Reads a page of those that woke; gives where the next one begins.
fn page(client: &mut Client, cursor: &str, delays: &[i64], late: &mut Vec<i64>) -> Option<String> {
    let answer = client
        .get(&format!(
            "/v1/executions?machine=sleeper&status=completed&limit=1000{cursor}"
        ))
        .unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    for execution in answer.body["data"].as_array().unwrap() {
        let version = usize::try_from(execution["version"].as_u64().unwrap()).unwrap();
        late.push(slept(execution) - delays[version - 1]);
    }
    let cursor = answer.body["nextCursor"].as_str()?;
    Some(format!("&cursor={cursor}"))
}

fn slept(execution: &Value) -> i64 {
    let at = |name: &str| -> i64 {
        let text = execution[name].as_str().unwrap();
        text.parse::<Timestamp>().unwrap().as_millis()
    };
    at("updatedAt") - at("createdAt")
}
