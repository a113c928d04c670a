//! What a narrowed token may propose: every operation, subject and risk of the whole plan counts.

use sprag_core::operation::Risk;

use super::*;

const WORKFLOWS: &str = "
operation: redis.check
kind: workflow
parameters: { node: { type: string, required: true } }
steps:
  - { name: look, operation: redis.info, params: { node: '{{params.node}}' } }
  - { name: note, operation: log_message, params: { message: looked } }
---
operation: redis.grave
kind: workflow
riskLevel: critical
steps: [ { name: look, operation: redis.info, params: { node: a } } ]
";

/// What a token with these scopes and this risk comes to when it proposes.
fn asked(scopes: Value, max_risk: Option<Risk>, body: Value) -> Result<(), Code> {
    let mut rig = rig();
    apply(&mut rig, WORKFLOWS).unwrap();
    let caller = Box::new(Caller {
        scopes: serde_json::from_value(scopes).unwrap(),
        max_risk,
        ..*proposer()
    });
    let asked = rig.ask(Propose { body, caller });
    let query = PlanQuery {
        page: sprag_store::Page::first(10),
        ..PlanQuery::default()
    };
    let stored = rig.store.plans(&query).unwrap().rows.len();
    assert_eq!(stored, usize::from(asked.is_ok()), "a refused proposal stores nothing");
    asked.map(drop).map_err(|refusal| refusal.code)
}

fn one(operation: &str) -> Value {
    json!({"operation": operation, "params": {"node": "a"}, "reason": "see"})
}

#[test]
fn a_token_proposes_up_to_its_risk_steps_and_compensations_included() {
    let none = json!({});
    let beyond = Err(Code::ScopeMissing);
    assert_eq!(asked(none.clone(), Some(Risk::Low), one("redis.info")), Ok(()));
    assert_eq!(asked(none.clone(), Some(Risk::Medium), one("redis.drain")), beyond);
    assert_eq!(asked(none.clone(), Some(Risk::High), one("redis.drain")), Ok(()));
    assert_eq!(
        asked(none.clone(), Some(Risk::Medium), two_steps()),
        beyond,
        "one step of two"
    );
    assert_eq!(asked(none.clone(), Some(Risk::Low), one("redis.check")), Ok(()));
    let grave = json!({"operation": "redis.grave", "reason": "see"});
    assert_eq!(
        asked(none.clone(), Some(Risk::High), grave),
        beyond,
        "a workflow's own risk"
    );
    assert_eq!(
        asked(none, Some(Risk::Low), one("risky.undo")),
        Err(Code::DefinitionInvalid)
    );
}

#[test]
fn the_risk_of_a_compensation_counts() {
    let text = "
operation: careful
kind: tool
parameters: { node: { type: string, required: true } }
action: { type: webhook, config: { to: '{{params.node}}' } }
compensate: { operation: redis.drain, params: { node: '{{params.node}}' } }
";
    let mut rig = rig();
    apply(&mut rig, text).unwrap();
    for (most, expected) in [(Risk::Medium, Some(Code::ScopeMissing)), (Risk::High, None)] {
        let caller = Box::new(Caller {
            max_risk: Some(most),
            ..*proposer()
        });
        let body = one("careful");
        let asked = rig.ask(Propose { body, caller });
        assert_eq!(asked.err().map(|refusal| refusal.code), expected, "{most}");
    }
}

#[test]
fn a_token_proposes_the_operations_and_subjects_that_it_lists_and_what_they_expand_to() {
    let beyond = Err(Code::ScopeMissing);
    let only = |names: &[&str]| json!({ "operations": names });
    assert_eq!(asked(only(&["redis.info"]), None, one("redis.info")), Ok(()));
    assert_eq!(asked(only(&["redis.info"]), None, one("redis.drain")), beyond);
    assert_eq!(
        asked(only(&["redis.drain"]), None, two_steps()),
        beyond,
        "the second step"
    );
    assert_eq!(
        asked(only(&["redis.check"]), None, one("redis.check")),
        beyond,
        "its steps"
    );
    assert_eq!(
        asked(only(&["redis.info", "log_message"]), None, one("redis.check")),
        beyond,
        "the workflow itself"
    );
    let all = only(&["redis.check", "redis.info", "log_message"]);
    assert_eq!(asked(all, None, one("redis.check")), Ok(()));
    assert_eq!(
        asked(only(&["redis.undo"]), None, one("redis.undo")),
        beyond,
        "its compensation"
    );

    let subjects = json!({"subjects": ["redis"]});
    assert_eq!(asked(subjects.clone(), None, one("redis.info")), Ok(()));
    assert_eq!(asked(json!({"subjects": ["mysql"]}), None, one("redis.info")), beyond);
    let log = json!({"operation": "log_message", "params": {"message": "a"}, "reason": "see"});
    assert_eq!(asked(subjects, None, log.clone()), beyond, "a tool has no subject");
    assert_eq!(
        asked(json!({"machines": ["m"]}), None, log.clone()),
        beyond,
        "narrowed to something else"
    );
    let both = json!({"subjects": ["redis"], "operations": ["log_message"]});
    assert_eq!(asked(both, None, log), Ok(()));
}
