//! Plans: what is read, what is refused, and how agents divide them (agents.md B2, I1, I2).

use std::time::Duration;

use proptest::prelude::*;
use sprag_core::document::source::{Format, Limits, parse};
use sprag_core::machine::testing::{PlanOptions, Reach, TestSubject, plan_load};

use super::*;
use crate::lifecycle::ControllerLoss;

const PLAN: &str = r#"
name: checkout
workload: http
http: { url: "http://127.0.0.1:8080/", method: GET, headers: { x-one: 1 }, body: null }
concurrency: 50
duration: 60s
rampUp: 5s
thresholds: { p99: "< 250ms", errorRate: "< 1%", throughput: ">= 10" }
onAgentLost: { quorum: 2 }
onControllerLost: { grace: 10s }
seed: 42
opTimeout: 30s
prepare: null
"#;

fn faults(text: &str) -> Vec<(String, String)> {
    let loaded = load(text, Format::Yaml);
    assert!(loaded.plan.is_none(), "{text}");
    loaded
        .findings
        .into_iter()
        .map(|finding| (finding.pointer, finding.detail))
        .collect()
}

#[test]
fn the_plan_of_the_design_is_read_as_it_is_written() {
    let loaded = load(PLAN, Format::Yaml);
    assert_eq!(loaded.findings, []);
    let plan = loaded.plan.unwrap();
    assert_eq!(plan.main.model, Model::Closed { users: 50 });
    assert_eq!(
        (plan.main.duration, plan.main.ramp_up),
        (Duration::from_mins(1), Duration::from_secs(5))
    );
    let Workload::Http(call) = &plan.main.workload else {
        panic!("{plan:?}")
    };
    assert_eq!(call.headers, [("x-one".to_owned(), "1".to_owned())]);
    assert_eq!((call.method.as_str(), &call.body), ("GET", &None));
    assert_eq!(plan.on_agent_lost, AgentLoss::Quorum(2));
    assert_eq!(plan.on_controller_lost, ControllerLoss::Grace(Duration::from_secs(10)));
    let thresholds: Vec<String> = plan.thresholds.iter().map(ToString::to_string).collect();
    assert_eq!(thresholds, ["p99 < 250ms", "errorRate < 1%", "throughput >= 10"]);
    assert!((plan.thresholds[1].limit.value - 0.01).abs() < 1e-12);
    assert_eq!((plan.seed, plan.prepare), (42, None));
}

#[test]
fn i1_the_same_text_gives_the_same_plan_and_the_same_document() {
    let (first, second) = (load(PLAN, Format::Yaml), load(PLAN, Format::Yaml));
    assert_eq!(first.plan, second.plan);
    let bytes = |loaded: Loaded| serde_json::to_vec(&loaded.document.unwrap()).unwrap();
    assert_eq!(bytes(first), bytes(second));
}

#[test]
fn i1_the_names_of_the_seed_are_read_too() {
    let text = "{name: a, workload: exec, exec: {command: [x]}, concurrency: 3, duration: 9000, rampUpTime: 4000}";
    let plan = load(text, Format::Yaml).plan.unwrap();
    assert_eq!(plan.main.ramp_up, Duration::from_secs(4));
    assert_eq!(plan.main.workload, Workload::Exec(vec!["x".to_owned()]));
}

#[test]
fn b2_and_i1_a_fault_names_the_key_and_all_faults_are_found_at_once() {
    let text = "name: a\nworkload: http\nhttp: { url: 'ftp://x' }\nconcurrency: 0\nduration: -1\nrampUp: 5s\n";
    let pointers: Vec<String> = faults(text).into_iter().map(|(pointer, _)| pointer).collect();
    assert_eq!(pointers, ["/http/url", "/concurrency", "/duration"]);
    let cases = [
        ("concurency: 3", "concurrency"),
        ("concurrency: 3\nrampUp: 2m\nduration: 1m", "longer than the duration"),
        ("concurrency: 3\nduration: 61m", "longer than 1h"),
        ("concurrency: 3\nrate: 5", "exclude each other"),
        ("concurrency: 3\nmaxInFlight: 5", "needs `rate`"),
        ("duration: 1m", "`concurrency` or `rate` is missing"),
        ("concurrency: 3\nthresholds: { p99: 'soon' }", "not a threshold"),
        (
            "concurrency: 3\nthresholds: { errorRate: '< 250ms' }",
            "not a threshold",
        ),
        (
            "concurrency: 3\nprepare: { workload: exec, concurrency: 1 }",
            "lacks `exec`",
        ),
        ("concurrency: 3\nabortOnThreshold: true", "no `thresholds`"),
        ("concurrency: 3\nonAgentLost: ignore", "fail-fast"),
    ];
    for (line, meant) in cases {
        let text = format!("name: a\nworkload: http\nhttp: {{ url: 'http://x/' }}\n{line}\n");
        let found = load(&text, Format::Yaml).findings;
        let said: Vec<String> = found
            .iter()
            .map(|found| format!("{}; {}", found.detail, found.remedy))
            .collect();
        assert!(said.iter().any(|said| said.contains(meant)), "{line}: {said:?}");
    }
    assert_eq!(faults("a: [").len(), 1, "bad YAML");
    let action = faults("name: a\nworkload: akshun\nconcurrency: 1\n");
    assert!(action[0].1.contains("akshun"), "{action:?}");
}

#[test]
fn a_plan_may_start_executions_of_a_machine() {
    let text = "{name: a, workload: machine, concurrency: 1, \
                machine: {server: 'http://127.0.0.1:7400', machine: order, variables: {n: 1}}}";
    let plan = load(text, Format::Yaml).plan.unwrap();
    let Workload::Machine(start) = plan.main.workload else {
        panic!("{:?}", plan.main.workload)
    };
    assert_eq!(
        (start.machine.as_str(), &start.variables["n"]),
        ("order", &serde_json::json!(1))
    );
    let found = faults("{name: a, workload: machine, concurrency: 1, machine: {server: 'here'}}");
    assert_eq!(found.len(), 2, "{found:?}");
}

/// What `sprag action plan-load` prints.
fn generated() -> String {
    let definition = "{actionId: push, type: webhook, config: {url: 'http://127.0.0.1:9/'}, timeout: 2s}";
    let document = parse(definition, Format::Yaml, &Limits::DEFINITION).unwrap();
    let subject = TestSubject::alone(&document, "", None).unwrap();
    let options = PlanOptions {
        concurrency: 50,
        duration: 300_000,
        ramp_up: 30_000,
        seed: 42,
    };
    serde_json::to_string_pretty(&plan_load(&subject, Reach::Http, options).unwrap()).unwrap()
}

#[test]
fn i1_what_plan_load_prints_is_a_plan_and_the_same_seed_gives_the_same_bytes() {
    assert_eq!(generated(), generated());
    let loaded = load(&generated(), Format::Json);
    assert_eq!(loaded.findings, []);
    let plan = loaded.plan.unwrap();
    assert_eq!((plan.name.as_str(), plan.seed), ("push", 42));
    assert_eq!(plan.main.model, Model::Closed { users: 50 });
    assert_eq!(
        (plan.main.duration, plan.main.ramp_up),
        (Duration::from_mins(5), Duration::from_secs(30))
    );
    let Workload::Action(call) = &plan.main.workload else {
        panic!("{:?}", plan.main.workload)
    };
    let names: Vec<&str> = call.scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
    assert!(names.starts_with(&["success", "slow", "rate_limit"]), "{names:?}");
    assert_eq!(call.scenarios.iter().map(|scenario| scenario.weight).sum::<u32>(), 100);
    // Four attempts of 2 s with at most 60 s between them.
    assert_eq!(plan.main.op_timeout, Duration::from_secs(248));
    // Agents get an ordinary plan, and read the same from it.
    let sent = load(&loaded.document.unwrap().to_string(), Format::Json);
    assert_eq!(sent.plan.unwrap().main.op_timeout, plan.main.op_timeout);
    let longer = generated().replace("\"rampUpTime\": 30000", "\"rampUpTime\": 300001");
    assert!(
        load(&longer, Format::Json).plan.is_none(),
        "a ramp-up longer than the duration"
    );
}

#[test]
fn a_real_target_ignores_scenarios() {
    let document = load(&generated(), Format::Json).document.unwrap();
    let plan = load(&with_target(document, "real").to_string(), Format::Json)
        .plan
        .unwrap();
    let Workload::Action(call) = plan.main.workload else {
        panic!("no action")
    };
    assert_eq!(call.scenarios, []);
}

#[test]
fn a_definition_in_a_file_travels_inside_the_plan() {
    let text = "{name: a, workload: action, action: {definition: push.yaml}, concurrency: 1}";
    let definition = "{actionId: push, type: noop}";
    let files = |name: &str| match name {
        "push.yaml" => Ok(parse(definition, Format::Yaml, &Limits::DEFINITION).unwrap()),
        other => Err(format!("there is no `{other}`")),
    };
    let loaded = load_with(text, Format::Yaml, &files);
    assert_eq!(loaded.findings, []);
    let sent = loaded.document.unwrap();
    assert_eq!(sent["action"]["definition"]["type"], "noop");
    assert!(load(&sent.to_string(), Format::Json).plan.is_some());
    let missing = load_with(&text.replace("push", "pull"), Format::Yaml, &files).findings;
    assert!(missing[0].detail.contains("pull.yaml"), "{missing:?}");
    assert!(load(text, Format::Yaml).plan.is_none(), "an agent reads no files");
}

#[test]
fn a_faulty_action_is_refused_with_the_place_of_its_fault() {
    let cases = [
        ("action: { definition: { actionId: push } }", "/action/definition"),
        (
            "action: { definition: { actionId: push, type: noop, runner: far } }",
            "external runner `far`",
        ),
        (
            "action: { definition: { actionId: push, type: noop, enabled: false } }",
            "enabled",
        ),
        (
            "action: { definition: { id: m, initial: a, states: { a: {} } } }",
            "`actionId` is missing",
        ),
        (
            "action: { definition: { actionId: push, type: noop }, scenarios: [{ name: a, mock: { status: 200 } }] }",
            "no HTTP call",
        ),
        (
            "action: { definition: { actionId: push, type: webhook, config: {} }, scenarios: [{ name: a, mock: [] }] }",
            "`mock` is empty",
        ),
        (
            "action: { definition: { actionId: push, type: noop }, allow: ['10.0.0.0/8'] }",
            "allow",
        ),
        ("duration: 1s", "lacks `action`"),
    ];
    for (line, meant) in cases {
        let text = format!("name: a\nworkload: action\nconcurrency: 1\n{line}\n");
        let found = load(&text, Format::Yaml).findings;
        let said: Vec<String> = found
            .iter()
            .map(|found| format!("{} {}; {}", found.pointer, found.detail, found.remedy))
            .collect();
        assert!(said.iter().any(|said| said.contains(meant)), "{line}: {said:?}");
    }
}

#[test]
fn i2_ten_users_over_three_agents_are_four_three_and_three() {
    let counts: Vec<u32> = (0..3).map(|index| Share { index, of: 3 }.count(10)).collect();
    assert_eq!(counts, [4, 3, 3]);
}

proptest! {
    #[test]
    fn i2_the_parts_of_a_plan_sum_up_to_it_at_every_moment(
        users in 1..500_u32, of in 1..20_u32, ramp_millis in 0..20_000_u64
    ) {
        let ramp_up = Duration::from_millis(ramp_millis);
        let shares = (0..of).map(|index| Share { index, of });
        let counts: Vec<u32> = shares.clone().map(|share| share.count(users)).collect();
        prop_assert_eq!(counts.iter().sum::<u32>(), users);
        prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1);
        let mut starts: Vec<Duration> = shares.clone().flat_map(|share| share.user_starts(users, ramp_up)).collect();
        starts.sort();
        let whole: Vec<Duration> = Share::WHOLE.user_starts(users, ramp_up).collect();
        prop_assert_eq!(starts, whole);
        for (share, count) in shares.zip(counts) {
            prop_assert_eq!(share.user_starts(users, ramp_up).count(), count as usize);
            let threads = (0..3).map(|thread| share.part(thread, 3).count(users));
            prop_assert_eq!(threads.sum::<u32>(), count, "the threads of an agent do its part");
        }
    }

    #[test]
    fn i2_arrivals_of_all_agents_are_those_of_the_plan_and_rise_evenly(
        rate in 1..5_000_u32, of in 1..20_u32, ramp_millis in 0..20_000_u64
    ) {
        let mut plan = load(PLAN, Format::Yaml).plan.unwrap();
        plan.main.ramp_up = Duration::from_millis(ramp_millis);
        let phase = &plan.main;
        let mut previous = Duration::ZERO;
        for number in 0..200_u32 {
            let share = Share { index: number % of, of };
            let at = share.arrival(u64::from(number / of), rate, phase);
            prop_assert_eq!(at, Share::WHOLE.arrival(u64::from(number), rate, phase));
            prop_assert!(at >= previous);
            previous = at;
        }
    }
}
