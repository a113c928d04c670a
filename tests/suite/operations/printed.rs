//! What commands print for an approver before a decision.

use std::process::Output;

use serde_json::{Value, json};

use super::{Office, steps};

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The line that begins with these words.
fn line<'t>(text: &'t str, begins: &str) -> &'t str {
    let found = text.lines().find(|line| line.trim_start().starts_with(begins));
    found.unwrap_or_else(|| panic!("no line begins with {begins}: {text}"))
}

#[test]
fn the_exact_plan_is_shown_step_by_step_with_what_it_reaches_and_how_to_approve_it() {
    let office = Office::open("");
    let proposal = |path: &str| {
        let mut body = steps(
            "repair",
            &[("drain", "cache.drain", path), ("look", "cache.look", "look")],
        );
        body["onFailure"] = "compensate".into();
        body["steps"][1]["delay"] = "5m".into();
        body["steps"][1]["params"]["note"] = "took {{steps.drain.result.data.took}}".into();
        body
    };
    let first = office.propose(&proposal("a"));
    let text = printed(&office.sprag(&["workflow", "show", &first]));
    let host = office.site.address().ip().to_string();
    let shown = line(&text, "drain ");
    for part in ["cache.drain@1", "high", "at once", "subject cache", &host] {
        assert!(
            text.lines()
                .any(|line| line.starts_with("drain ") && line.contains(part)),
            "{part}: {shown} in {text}"
        );
    }
    let look = text
        .lines()
        .find(|line| line.starts_with("look ") && line.contains("cache.look@1"));
    let look = text
        .lines()
        .filter(|line| line.starts_with("look "))
        .chain(look)
        .collect::<Vec<_>>()
        .concat();
    for part in ["drain", "5m later", "low"] {
        assert!(look.contains(part), "{part}: {look}");
    }
    for part in [
        "params        {\"path\":\"a\"}",
        "taken back by cache.look@1",
        "{\"path\":\"undo-a\"}",
        "is known only when the step runs",
        "\"maxAttempts\":500",
        "on failure    the compensations of completed steps run",
        "no earlier run of this name",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let digest = office.workflow(&first)["digest"].as_str().unwrap().to_owned();
    assert!(line(&text, "digest ").contains(&digest), "{text}");
    let command = line(&text, "approve it with: sprag ").trim_start_matches("approve it with: sprag ");
    let command: Vec<&str> = command.split(' ').collect();
    assert_eq!(command, ["workflow", "approve", &first, "--digest", &digest]);
    // Programs get the documents as they were.
    let document = office.sprag(&["workflow", "show", &first, "--output", "json"]);
    let document: Value = serde_json::from_str(&printed(&document)).unwrap();
    assert_eq!(document["plan"], office.get(&format!("/v1/workflows/{first}/plan")));
    assert_eq!(document["workflow"], office.workflow(&first));

    assert_eq!(office.approve("bob", &first).status, 200);
    office.until_visited("a", 1);
    let second = office.propose(&proposal("b"));
    let text = printed(&office.sprag(&["workflow", "show", &second]));
    assert!(
        text.contains(&format!("different from the last run, {first}")),
        "{text}"
    );
    assert!(text.contains("/steps/drain/params/path: \"a\" -> \"b\""), "{text}");
    let text = printed(&office.sprag(&["workflow", "show", &first]));
    assert!(!text.contains("approve it with"), "it is approved: {text}");
}

#[test]
fn a_plan_whose_texts_want_to_move_the_cursor_is_shown_escaped() {
    let office = Office::open("");
    let mut body = steps("repair", &[("drain", "cache.drain", "a\u{1b}[2J\nlook  cache.look@1")]);
    body["steps"][0]["reason"] = "x\u{1b}[1A\nreaches       nothing".into();
    let id = office.propose(&body);
    let text = printed(&office.sprag(&["workflow", "show", &id]));
    assert!(!text.contains('\u{1b}'), "{text:?}");
    assert!(
        !text.lines().any(|line| line.trim() == "reaches       nothing"),
        "{text}"
    );
}

#[test]
fn a_new_token_is_described_line_by_line_beside_itself() {
    let office = Office::open("");
    let created = office.sprag(&["token", "create", "dashboard", "--role", "viewer", "--machine", "order"]);
    let token = printed(&created);
    assert!(
        token.trim().starts_with("sprag_") && token.lines().count() == 1,
        "{token}"
    );
    let said = String::from_utf8(created.stderr).unwrap();
    assert!(!said.contains("\\n"), "{said}");
    for (name, value) in [
        ("name", "dashboard"),
        ("roles", "viewer"),
        ("machines", "order"),
        ("createdBy", "admin"),
    ] {
        let shown = line(&said, name);
        assert!(shown.ends_with(value), "{shown}");
    }
    let listed = office.get("/v1/tokens");
    let found = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == "dashboard");
    assert_eq!(found.unwrap()["scopes"]["machines"], json!(["order"]));
}
