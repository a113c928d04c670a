//! Agents and controllers as processes: the real binary, kill -9, signals, a real HTTP server as the target.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sprag_core::clock::System;
use sprag_core::time::Timestamp;
use sprag_tests::{Product, Reply, Site, binary, wait};

/// A guard against hanging.
const GUARD: Duration = Duration::from_secs(90);

/// An agent as a process.
struct Agent {
    child: Child,
    address: String,
}

impl Agent {
    fn start(folder: &Path, name: &str) -> Self {
        Self::of(Command::new(binary("sprag")), folder, name)
    }

    /// With the secret `crm_token`.
    fn with_secret(folder: &Path, name: &str, value: &str) -> Self {
        let mut command = Command::new(binary("sprag"));
        command.env("SPRAG_SECRET_CRM_TOKEN", value);
        Self::of(command, folder, name)
    }

    fn of(mut command: Command, folder: &Path, name: &str) -> Self {
        let mut child = command
            .args(["agent", "--listen", "127.0.0.1:0", "--name", name])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(folder.join(format!("{name}.log"))).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().to_owned();
        assert!(address.starts_with("127.0.0.1:"), "{line}");
        Self { child, address }
    }

    fn signal(&self, signal: Signal) {
        send(&self.child, signal);
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // One that has ended already needs nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

fn target() -> Site {
    Site::start(|_| Reply::json(200, &json!({})))
}

fn plan(folder: &Path, site: &Site, more: &str) {
    let url = site.url("/load");
    let text = format!("name: suite\nworkload: http\nhttp: {{ url: '{url}' }}\nconcurrency: 4\n{more}\n");
    std::fs::write(folder.join("plan.yaml"), text).unwrap();
}

fn controller(folder: &Path, agents: &[&Agent]) -> Command {
    let addresses: Vec<&str> = agents.iter().map(|agent| agent.address.as_str()).collect();
    let mut command = Command::new(binary("sprag"));
    command
        .args([
            "load",
            "run",
            "plan.yaml",
            "--start-in",
            "4s",
            "--output",
            "json",
            "--output-dir",
            "run",
        ])
        .arg("--agents")
        .arg(addresses.join(","))
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

fn result(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("run/result.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}", text(&output.stdout), text(&output.stderr))
}

#[test]
fn c1_three_agents_start_together_and_their_operations_are_those_that_arrived() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    plan(
        folder.path(),
        &site,
        "duration: 2s\nthresholds: { errorRate: '< 1%', p99: '< 20s' }",
    );
    let agents = ["a1", "a2", "a3"].map(|name| Agent::start(folder.path(), name));
    let output = controller(folder.path(), &agents.each_ref()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let result = result(folder.path());
    assert_eq!(result["status"], "COMPLETED");
    assert_eq!(
        result["total"]["ops"].as_u64(),
        Some(site.visits().len() as u64),
        "{result:#}"
    );
    assert_eq!(result, serde_json::from_slice::<Value>(&output.stdout).unwrap());
    println!("agents: start spread of 3 processes {} ms", result["startSpreadMs"]);
    assert!(result["startSpreadMs"].as_f64().unwrap() < 5_000.0);
    let names: Vec<&str> = (0..3)
        .map(|number| result["agents"][number]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a1", "a2", "a3"]);
    let series = std::fs::read_to_string(folder.path().join("run/series.jsonl")).unwrap();
    assert!(series.lines().count() >= 2, "{series}");
    let page = std::fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    assert!(page.contains("<svg") && !page.contains("<script"));
    let report = Command::new(binary("sprag"))
        .args(["load", "report", "run", "run", "--to", "compare.html"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(report.status.success(), "{}", said(&report));
    assert!(said(&report).matches("suite").count() >= 2, "{}", said(&report));
}

#[test]
fn b2_and_c5_a_plan_that_is_not_valid_or_an_agent_that_is_missing_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    let agent = Agent::start(folder.path(), "a1");
    plan(folder.path(), &site, "durtion: 2s");
    let output = controller(folder.path(), &[&agent]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(
        said(&output).contains("load-plan-invalid") && said(&output).contains("duration"),
        "{}",
        said(&output)
    );
    plan(folder.path(), &site, "duration: 2s");
    let gone = Agent::start(folder.path(), "gone");
    let address = gone.address.clone();
    gone.kill();
    let agents = format!("{},{address}", agent.address);
    let output = Command::new(binary("sprag"))
        .args(["load", "run", "plan.yaml", "--start-in", "2s", "--agents", &agents])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(
        said(&output).contains(&address) && said(&output).contains("agent-not-ready"),
        "{}",
        said(&output)
    );
    assert_eq!(site.visits().len(), 0, "nothing was performed");
}

#[test]
fn f5_a_killed_agent_ends_the_run_and_its_last_numbers_stay() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    plan(folder.path(), &site, "duration: 60s");
    let agents = ["a1", "a2"].map(|name| Agent::start(folder.path(), name));
    let child = controller(folder.path(), &agents.each_ref())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until_second(folder.path(), 2);
    let [first, second] = agents;
    let killed = System::start(Timestamp::default());
    second.kill();
    let output = child.wait_with_output().unwrap();
    println!(
        "agents: the controller ended {:?} after an agent was killed",
        killed.elapsed()
    );
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let result = result(folder.path());
    assert_eq!(result["status"], "FAILED");
    let lost = &result["agents"][1];
    assert_eq!((&lost["state"], &lost["partial"]), (&json!("LOST"), &json!(true)));
    assert!(lost["ops"].as_u64().unwrap() > 0);
    // The other agent is free for the next run.
    plan(folder.path(), &site, "duration: 500ms");
    let output = controller(folder.path(), &[&first]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

#[test]
fn f2_and_g7_a_killed_controller_frees_its_agents_and_leaves_its_time_series() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    plan(folder.path(), &site, "duration: 60s");
    let agent = Agent::start(folder.path(), "a1");
    let mut child = controller(folder.path(), &[&agent])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until_second(folder.path(), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    let series = std::fs::read_to_string(folder.path().join("run/series.jsonl")).unwrap();
    let points: Vec<Value> = series.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(points.last().unwrap()["ops"].as_u64().unwrap() > 0);
    plan(folder.path(), &site, "duration: 500ms");
    wait::until("the agent to take another run", GUARD, || {
        let output = controller(folder.path(), &[&agent]).output().unwrap();
        output.status.success().then_some(())
    });
}

#[test]
fn f8_signals_end_agents_and_controllers_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    plan(folder.path(), &site, "duration: 60s");
    let mut agent = Agent::start(folder.path(), "a1");
    let child = controller(folder.path(), &[&agent])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until_second(folder.path(), 1);
    send(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", said(&output));
    let stopped = result(folder.path());
    assert_eq!(stopped["status"], "ABORTED");
    assert!(
        stopped["total"]["ops"].as_u64().unwrap() > 0,
        "partial results are written"
    );
    let child = controller(folder.path(), &[&agent])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until_second(folder.path(), 1);
    agent.signal(Signal::TERM);
    assert_eq!(agent.child.wait().unwrap().code(), Some(143));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(result(folder.path())["agents"][0]["ops"].as_u64().unwrap() > 0);
}

#[test]
fn h1_an_agent_that_others_can_reach_needs_security() {
    let output = Command::new(binary("sprag"))
        .args(["agent", "--listen", "0.0.0.0:0"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("agent-insecure"), "{}", said(&output));
}

#[test]
fn an_exec_workload_needs_its_program_to_be_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let text = "name: suite\nworkload: exec\nexec: { command: ['true'] }\nconcurrency: 1\nduration: 300ms\n";
    std::fs::write(folder.path().join("plan.yaml"), text).unwrap();
    let agent = Agent::start(folder.path(), "a1");
    let output = controller(folder.path(), &[&agent]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    drop(agent);
    std::fs::write(folder.path().join("sprag.toml"), "[exec]\nallow = [\"true\"]\n").unwrap();
    let agent = Agent::start(folder.path(), "a1");
    let output = controller(folder.path(), &[&agent]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let result = result(folder.path());
    assert!(
        result["total"]["ops"].as_u64().unwrap() > 0 && result["total"]["errors"] == 0,
        "{result:#}"
    );
}

#[test]
fn h3_what_a_plan_sends_appears_in_no_result_no_log_and_no_message() {
    const CANARY: &str = "c4nary-of-the-plan-7731";
    let folder = tempfile::tempdir().unwrap();
    let broken = Site::start(|_| Reply::HangUp);
    let refusing = Site::start(|_| Reply::json(503, &json!({})));
    let agent = Agent::start(folder.path(), "a1");
    let mut said_all = String::new();
    for site in [&broken, &refusing] {
        let url = site.url(&format!("/?key={CANARY}"));
        let text = format!(
            "name: suite\nworkload: http\nhttp: {{ url: '{url}', headers: {{ x-token: {CANARY} }}, body: {CANARY} }}\nrate: 20\n\
             duration: 500ms\n"
        );
        std::fs::write(folder.path().join("plan.yaml"), text).unwrap();
        let output = controller(folder.path(), &[&agent]).output().unwrap();
        said_all.push_str(&said(&output));
        let result = result(folder.path());
        assert_eq!(result["total"]["errors"], result["total"]["ops"], "{result:#}");
        assert!(
            !result["failures"][0]["reason"].as_str().unwrap().is_empty(),
            "{result:#}"
        );
        for file in ["run/result.json", "run/report.html", "run/series.jsonl", "a1.log"] {
            said_all.push_str(&std::fs::read_to_string(folder.path().join(file)).unwrap());
        }
    }
    assert!(
        refusing
            .visits()
            .iter()
            .all(|visit| visit.header("x-token") == Some(CANARY)),
        "the target gets it"
    );
    assert!(
        said_all.contains("agent state changed") && !said_all.contains(CANARY),
        "{said_all}"
    );
}

/// The plan that `sprag action plan-load` prints for a webhook to `site`, in `plan.yaml`.
fn generated(folder: &Path, site: &Site) {
    let definition = json!({
        "actionId": "push_order", "type": "webhook", "timeout": 400,
        "config": {
            "url": site.url("/orders"), "method": "POST",
            "headers": {"authorization": "Bearer {{secrets.crm_token}}"}, "body": "an order"
        },
        "retryPolicy": {"maxAttempts": 3, "baseDelay": 10, "maxDelay": 20}
    });
    std::fs::write(folder.join("push.json"), definition.to_string()).unwrap();
    let options = [
        "--concurrency",
        "4",
        "--duration",
        "2s",
        "--ramp-up",
        "500ms",
        "--seed",
        "42",
    ];
    let print = || {
        let printed = Command::new(binary("sprag"))
            .args(["action", "plan-load", "push.json"])
            .args(options)
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(printed.status.success(), "{}", said(&printed));
        printed.stdout
    };
    let plan = print();
    assert_eq!(plan, print(), "the same seed gives the same bytes");
    std::fs::write(folder.join("plan.yaml"), plan).unwrap();
}

#[test]
fn i1_a_plan_of_plan_load_runs_unchanged_against_stubs_of_the_agents_or_against_the_real_target() {
    const CANARY: &str = "c4nary-of-the-agent-5529";
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    generated(folder.path(), &site);
    let agents = ["a1", "a2"].map(|name| Agent::with_secret(folder.path(), name, CANARY));
    let output = controller(folder.path(), &agents.each_ref()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let mocked = result(folder.path());
    assert_eq!(site.visits().len(), 0, "scenarios answer, not the target");
    assert!(mocked["total"]["ops"].as_u64().unwrap() > 0, "{mocked:#}");
    let mut said_all = said(&output);
    let output = controller(folder.path(), &agents.each_ref())
        .args(["--target", "real"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let real = result(folder.path());
    let ops = real["total"]["ops"].as_u64().unwrap() + real["ramp"]["ops"].as_u64().unwrap();
    assert_eq!(
        (ops, &real["total"]["errors"]),
        (site.visits().len() as u64, &json!(0)),
        "{real:#}"
    );
    let authorization = format!("Bearer {CANARY}");
    let visits = site.visits();
    assert!(
        visits
            .iter()
            .all(|visit| visit.header("authorization") == Some(authorization.as_str()))
    );
    said_all.push_str(&said(&output));
    for file in [
        "run/result.json",
        "run/report.html",
        "run/series.jsonl",
        "a1.log",
        "a2.log",
    ] {
        said_all.push_str(&std::fs::read_to_string(folder.path().join(file)).unwrap());
    }
    assert!(!said_all.contains(CANARY), "{said_all}");
}

#[test]
fn h3_a_secret_of_an_action_appears_in_no_result_no_log_and_no_message() {
    const CANARY: &str = "c4nary-of-the-action-9917";
    let folder = tempfile::tempdir().unwrap();
    let sites = [
        Site::start(|_| Reply::HangUp),
        Site::start(|_| Reply::json(503, &json!({"echo": CANARY}))),
    ];
    let agent = Agent::with_secret(folder.path(), "a1", CANARY);
    let mut said_all = String::new();
    for site in &sites {
        generated(folder.path(), site);
        let output = controller(folder.path(), &[&agent])
            .args(["--target", "real"])
            .output()
            .unwrap();
        said_all.push_str(&said(&output));
        let result = result(folder.path());
        assert!(result["total"]["ops"].as_u64().unwrap() > 0, "{result:#}");
        assert_eq!(result["total"]["errors"], result["total"]["ops"], "{result:#}");
        for file in ["run/result.json", "run/report.html", "run/series.jsonl", "a1.log"] {
            said_all.push_str(&std::fs::read_to_string(folder.path().join(file)).unwrap());
        }
    }
    assert!(said_all.contains("service_unavailable"), "{said_all}");
    assert!(!said_all.contains(CANARY), "{said_all}");
}

#[test]
fn a_plan_widens_nothing_that_the_host_of_an_agent_allows() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::start(folder.path(), "a1");
    let text = "name: suite\nworkload: http\nhttp: { url: 'http://10.0.0.1/' }\nconcurrency: 1\nduration: 1s\n";
    for (more, meant) in [
        ("", "[outbound] allow"),
        ("outbound: { allow: ['10.0.0.0/8'] }\n", "outbound"),
    ] {
        std::fs::write(folder.path().join("plan.yaml"), format!("{text}{more}")).unwrap();
        let output = controller(folder.path(), &[&agent]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(meant), "{}", said(&output));
    }
}

/// Waits until the time series has so many points of a workload under way.
fn until_second(folder: &Path, points: usize) {
    wait::until("points of the time series", GUARD, || {
        let series = std::fs::read_to_string(folder.join("run/series.jsonl")).ok()?;
        let busy = series.lines().filter(|line| !line.contains("\"ops\":0,"));
        (busy.count() >= points).then_some(())
    });
}

/// An example plan, with another address in the place of its own.
fn example(folder: &Path, plan: &str, from: &str, to: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples/load")
        .join(plan);
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{text}");
    let text = text.replace(from, to).replace("duration: 10s", "duration: 3s");
    std::fs::write(folder.join("plan.yaml"), text.replace("rampUp: 2s", "rampUp: 1s")).unwrap();
}

/// The web server of the example, on a port of its own.
struct Nginx {
    child: Child,
    address: String,
}

impl Nginx {
    /// None where nginx is not installed.
    fn start(folder: &Path) -> Option<Self> {
        let program = ["/usr/sbin/nginx", "/usr/bin/nginx"]
            .into_iter()
            .find(|path| Path::new(path).exists())?;
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let address = format!("127.0.0.1:{port}");
        let conf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/load/nginx.conf");
        let conf = std::fs::read_to_string(conf)
            .unwrap()
            .replace("127.0.0.1:8080", &address);
        std::fs::write(folder.join("nginx.conf"), conf).unwrap();
        let child = Command::new(program)
            .arg("-p")
            .arg(folder)
            .args(["-c", "nginx.conf"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait::until("nginx to listen", GUARD, || std::net::TcpStream::connect(&address).ok());
        Some(Self { child, address })
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Its workers end with it.
        send(&self.child, Signal::TERM);
        let _ = self.child.wait();
    }
}

#[test]
fn the_example_loads_a_real_nginx_from_two_agents() {
    let folder = tempfile::tempdir().unwrap();
    let Some(nginx) = Nginx::start(folder.path()) else {
        println!("skipped: nginx is not installed");
        return;
    };
    example(folder.path(), "nginx.yaml", "127.0.0.1:8080", &nginx.address);
    let agents = ["a1", "a2"].map(|name| Agent::start(folder.path(), name));
    let output = controller(folder.path(), &agents.each_ref()).output().unwrap();
    // The threshold on latency is the example's; a busy machine may break it.
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", said(&output));
    let result = result(folder.path());
    assert!(result["total"]["ops"].as_u64().unwrap() > 100, "{result:#}");
    assert_eq!(result["total"]["errors"], 0, "{result:#}");
    assert!(result["ramp"]["ops"].as_u64().unwrap() > 0, "the ramp-up counts apart");
    println!(
        "agents: nginx answered {} requests a second",
        result["total"]["throughput"]
    );
}

#[test]
fn the_example_loads_a_sprag_server_at_a_rate() {
    let folder = tempfile::tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    example(
        folder.path(),
        "sprag.yaml",
        "127.0.0.1:7400",
        &product.address().to_string(),
    );
    let agents = ["a1", "a2"].map(|name| Agent::start(folder.path(), name));
    let output = controller(folder.path(), &agents.each_ref()).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", said(&output));
    let result = result(folder.path());
    let started = result["total"]["ops"].as_u64().unwrap() + result["missed"].as_u64().unwrap();
    assert_eq!(started, 600, "200 a second for 3 s: {result:#}");
}

#[test]
fn a_machine_workload_starts_executions_and_waits_for_their_ends() {
    let folder = tempfile::tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    let machine = json!({
        "id": "brief", "initial": "open",
        "states": {"open": {"after": {"20ms": "done"}}, "done": {"type": "final"}},
    });
    assert_eq!(product.client().post("/v1/machines", &machine).unwrap().status, 201);
    let server = format!("http://{}", product.address());
    let text = format!(
        "name: suite\nworkload: machine\nmachine: {{ server: '{server}', machine: brief }}\nconcurrency: 4\nduration: 1s\n"
    );
    std::fs::write(folder.path().join("plan.yaml"), text).unwrap();
    let agents = ["a1", "a2"].map(|name| Agent::start(folder.path(), name));
    let output = controller(folder.path(), &agents.each_ref()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let result = result(folder.path());
    assert_eq!(result["total"]["errors"], 0, "{result:#}");
    assert!(
        result["total"]["latency"]["p50"].as_f64().unwrap() >= 20.0,
        "{result:#}"
    );
    let ended = product
        .client()
        .get("/v1/executions?limit=1&filter=status%20%3D%20%22completed%22")
        .unwrap();
    assert!(!ended.body["data"].as_array().unwrap().is_empty(), "{ended:?}");
}

/// Long: behind `SPRAG_PROVE`, as part `agents` of tests/prove.sh.
fn is_proof() -> bool {
    std::env::var_os("SPRAG_PROVE").is_some()
}

#[test]
fn f3_an_agent_acts_when_its_controller_is_silent_on_an_open_connection() {
    if !is_proof() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    plan(folder.path(), &site, "duration: 120s");
    let agent = Agent::start(folder.path(), "a1");
    let mut stopped = controller(folder.path(), &[&agent])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until_second(folder.path(), 2);
    send(&stopped, Signal::STOP);
    let silent = System::start(Timestamp::default());
    let count = || site.visits().len();
    let quiet = wait::until("the agent to stop", GUARD, || {
        let before = count();
        std::thread::sleep(Duration::from_millis(500));
        (count() == before).then(|| silent.elapsed())
    });
    println!("agents: a run ended {quiet:?} after its controller was stopped");
    assert!(quiet < Duration::from_secs(13), "keepalive 5 s and 5 s: {quiet:?}");
    stopped.kill().unwrap();
    stopped.wait().unwrap();
}

#[test]
fn f7_a_short_stop_of_an_agent_is_reported_and_a_long_one_loses_it() {
    if !is_proof() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    plan(folder.path(), &site, "duration: 15s");
    let agent = Agent::start(folder.path(), "a1");
    let child = controller(folder.path(), &[&agent])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until_second(folder.path(), 2);
    agent.signal(Signal::STOP);
    std::thread::sleep(Duration::from_secs(5));
    agent.signal(Signal::CONT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("silent for"), "{}", said(&output));
    let counted = result(folder.path())["total"]["ops"].as_u64().unwrap();
    assert_eq!(counted, site.visits().len() as u64, "nothing counts twice");

    plan(folder.path(), &site, "duration: 60s");
    let child = controller(folder.path(), &[&agent])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until_second(folder.path(), 2);
    agent.signal(Signal::STOP);
    let silent = System::start(Timestamp::default());
    let output = child.wait_with_output().unwrap();
    println!("agents: a stopped agent was lost after {:?}", silent.elapsed());
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(result(folder.path())["agents"][0]["state"] == "LOST");
    agent.signal(Signal::CONT);
    plan(folder.path(), &site, "duration: 500ms");
    wait::until("the agent to end the run by itself", GUARD, || {
        let output = controller(folder.path(), &[&agent]).output().unwrap();
        output.status.success().then_some(())
    });
}
