//! What an attempt costs: the estimate that a configuration gives, unless the runner knows better.
//!
//! `config.costEstimate` is the engine's own key in every type's configuration: runners never see it. It is a number
//! from 0 in whatever unit its author counts in.

use serde_json::Value;

/// The key.
pub const COST_ESTIMATE: &str = "costEstimate";

/// The estimate in a configuration whose templates are rendered.
pub fn estimate(config: &Value) -> Option<f64> {
    let value = config.get(COST_ESTIMATE)?;
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    number.filter(|cost| is_cost(*cost))
}

/// The configuration as its runner sees it.
#[must_use]
pub fn without(mut config: Value) -> Value {
    if let Some(members) = config.as_object_mut() {
        members.shift_remove(COST_ESTIMATE);
    }
    config
}

/// What is wrong with the estimate as it was written, where that can be known.
pub fn problem(config: &Value) -> Option<String> {
    let value = config.get(COST_ESTIMATE).filter(|value| !value.is_null())?;
    let is_open = value.as_str().is_some_and(|text| text.contains("{{"));
    (!is_open && estimate(config).is_none()).then(|| format!("`{COST_ESTIMATE}` must be a number from 0"))
}

fn is_cost(cost: f64) -> bool {
    cost.is_finite() && cost >= 0.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_estimate_is_a_number_from_0_and_no_business_of_the_runner() {
        let given = [
            (json!({"costEstimate": 0.0075}), Some(0.0075)),
            (json!({"costEstimate": "3"}), Some(3.0)),
            (json!({"costEstimate": -1}), None),
            (json!({"costEstimate": "much"}), None),
            (json!({}), None),
        ];
        for (config, expected) in given {
            assert_eq!(estimate(&config), expected, "{config}");
        }
        assert_eq!(without(json!({"a": 1, "costEstimate": 2})), json!({"a": 1}));
        assert!(problem(&json!({"costEstimate": -1})).is_some());
        assert!(problem(&json!({"costEstimate": "{{variables.price}}"})).is_none());
        assert!(problem(&json!({"costEstimate": 1})).is_none());
    }
}
