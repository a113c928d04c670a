//! Actions as a workload, and secrets: of a plan, and of the host of an agent.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use sprag_tests::{Reply, Site, binary};

use super::rig::{Agent, controller, result, said, target};

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
