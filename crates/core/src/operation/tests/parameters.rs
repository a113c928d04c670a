//! Parameters: each rule refuses what it must and lets the rest through.

use serde_json::{Value, json};

use super::{lines, plan_in, read};

const RULES: &str = "
operation: rules
kind: tool
secrets: [a]
parameters:
  color:  { type: string, enum: [red, blue] }
  short:  { type: string, maxLength: 3 }
  count:  { type: integer, minimum: 2, maximum: 5 }
  ratio:  { type: number, minimum: 0.5 }
  level:  { type: string, default: info }
  needed: { type: boolean, required: true }
action: { type: noop, config: { level: '{{params.level}}' } }
";

fn planned(name: &str, value: &Value) -> Result<Value, Vec<String>> {
    let mut params = json!({ "needed": true });
    params[name] = value.clone();
    let body = json!({ "operation": "rules", "params": params, "reason": "r" });
    plan_in(RULES, &body)
        .map(|plan| Value::from(plan.steps[0].action.params.clone()))
        .map_err(|findings| lines(&findings))
}

#[test]
fn each_rule_refuses_what_it_must() {
    for (name, value, detail) in [
        ("color", json!("green"), "`green` is not an allowed value"),
        ("short", json!("abcd"), "`abcd` is longer than `3` characters"),
        ("count", json!(1), "`1` is less than `2`"),
        ("count", json!(6), "`6` is more than `5`"),
        ("count", json!(2.5), "`2.5` is not a whole number"),
        ("ratio", json!(0.25), "`0.25` is less than `0.5`"),
        ("needed", json!(null), "parameter `needed` is missing"),
        ("needed", json!(1), "`1` is not `true` or `false`"),
        ("lvel", json!("info"), "there is no parameter `lvel`"),
    ] {
        assert_eq!(
            planned(name, &value).unwrap_err(),
            [format!("/params/{name}: {detail}")],
            "{value}"
        );
    }
    for (name, value) in [
        ("color", json!("red")),
        ("short", json!("äöü")),
        ("count", json!(2)),
        ("count", json!(5)),
        ("ratio", json!(0.5)),
        ("level", json!(null)),
    ] {
        let params = planned(name, &value).unwrap();
        let expected = if value.is_null() { json!("info") } else { value };
        assert_eq!(params[name], expected);
    }
}

#[test]
fn a_default_that_the_parameter_would_refuse_is_named_when_the_file_is_read() {
    let file =
        read("operation: a\nparameters: { n: { type: integer, maximum: 5, default: 6 } }\naction: { type: noop }\n");
    assert_eq!(lines(&file.findings), ["/parameters/n/default: `6` is more than `5`"]);
}

#[test]
fn the_schema_of_a_secret_lists_the_names_that_it_may_have() {
    let catalog = super::catalog();
    let note = &catalog.operation("note").unwrap().operation;
    assert_eq!(
        note.parameters.schema(&note.secrets)["properties"]["token"]["enum"],
        json!(["github", "gitlab"])
    );
}
