//! Runs from the start to the result.

use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};
use sprag_tests::{Authority, Certified, Product, Valid, binary, wait};

use super::rig::{Agent, GUARD, controller, plan, result, said, send, target};

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

/// An nginx that takes HTTP/2 with and without TLS, and notes the version of each request.
struct Versions {
    child: std::process::Child,
    plain: String,
    tls: String,
}

impl Versions {
    fn start(folder: &Path, certified: &Certified) -> Option<Self> {
        let program = ["/usr/sbin/nginx", "/usr/bin/nginx"]
            .into_iter()
            .find(|path| Path::new(path).exists())?;
        let free = || {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().to_string()
        };
        let (plain, tls) = (free(), free());
        let Certified { certificate, key } = certified;
        let text = format!(
            "daemon off; pid nginx.pid; error_log stderr; events {{ }}\n\
             http {{ log_format version '$server_protocol'; access_log versions.log version; client_body_temp_path t;\n\
             proxy_temp_path t; fastcgi_temp_path t; uwsgi_temp_path t; scgi_temp_path t;\n\
             server {{ listen {plain} http2; location / {{ return 200 ok; }} }}\n\
             server {{ listen {tls} ssl http2; ssl_certificate {}; ssl_certificate_key {};\n\
             location / {{ return 200 ok; }} }} }}\n",
            certificate.display(),
            key.display()
        );
        std::fs::write(folder.join("nginx.conf"), text).unwrap();
        let child = Command::new(program)
            .arg("-p")
            .arg(folder)
            .args(["-c", "nginx.conf", "-e", "stderr"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.join("nginx.log")).unwrap())
            .spawn()
            .unwrap();
        wait::until("nginx to listen", GUARD, || std::net::TcpStream::connect(&plain).ok());
        Some(Self { child, plain, tls })
    }
}

impl Drop for Versions {
    fn drop(&mut self) {
        // Its workers end with it.
        send(&self.child, Signal::TERM);
        let _ = self.child.wait();
    }
}

#[test]
fn http2_goes_over_tls_if_the_server_chooses_it_and_without_tls_if_the_plan_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path(), "authority");
    let certified = authority.issue("localhost", Valid::Now);
    let Some(nginx) = Versions::start(folder.path(), &certified) else {
        println!("skipped: nginx is not installed");
        return;
    };
    let trusted = authority.file();
    let agent = Agent::with_variables(folder.path(), "a1", &[("SSL_CERT_FILE", trusted.to_str().unwrap())]);
    let (plain, tls) = (&nginx.plain, nginx.tls.replace("127.0.0.1", "localhost"));
    for (url, protocol, expected) in [
        (format!("https://{tls}/"), "auto", "HTTP/2.0"),
        (format!("https://{tls}/"), "http1", "HTTP/1.1"),
        (format!("http://{plain}/"), "http2", "HTTP/2.0"),
    ] {
        let text = format!(
            "name: suite\nworkload: http\nhttp: {{ url: '{url}', protocol: {protocol} }}\nconcurrency: 3\nduration: 500ms\n"
        );
        std::fs::write(folder.path().join("plan.yaml"), text).unwrap();
        let log = folder.path().join("versions.log");
        let before = std::fs::read_to_string(&log).unwrap_or_default().lines().count();
        let output = controller(folder.path(), &[&agent]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let result = result(folder.path());
        assert_eq!(result["total"]["errors"], 0, "{url}: {result:#}");
        let ops = usize::try_from(result["total"]["ops"].as_u64().unwrap()).unwrap();
        let versions = wait::until("nginx to note every request", GUARD, || {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            let versions: Vec<String> = text.lines().skip(before).map(str::to_owned).collect();
            (versions.len() == ops).then_some(versions)
        });
        assert!(
            ops > 0 && versions.iter().all(|version| version == expected),
            "{url}: {versions:?}"
        );
    }
}
