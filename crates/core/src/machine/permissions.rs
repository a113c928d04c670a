//! What the actions of a machine may reach, for people who review it before it runs.
//!
//! The runners say which hosts, programs and chains a configuration leads to. The templates say which secrets it names.
//! A value that is rendered only at run time is shown as the template that makes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::model::Machine;
use crate::action::{Definition, Permission};

/// What one action of a machine may reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequiredPermissions {
    /// The name of the action in the machine.
    pub action_id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it may reach, sorted, each once. Empty if it reaches nothing.
    pub permissions: Vec<Permission>,
}

impl Machine {
    /// What each action may reach, in the order of the file. `of` asks the runner of a type about a configuration.
    pub fn permissions(&self, of: impl Fn(&str, &Value) -> Vec<Permission>) -> Vec<RequiredPermissions> {
        let written = self.definition["actions"].as_array().map_or(&[][..], Vec::as_slice);
        let configs = written.iter().map(|action| &action["config"]);
        self.actions
            .iter()
            .zip(configs.chain(std::iter::repeat(&Value::Null)))
            .map(|(definition, config)| required(definition, config, &of))
            .collect()
    }
}

fn required(
    definition: &Definition,
    config: &Value,
    of: &impl Fn(&str, &Value) -> Vec<Permission>,
) -> RequiredPermissions {
    let mut permissions = match &definition.runner {
        // The program decides what it reaches: the server only hands it the configuration.
        Some(runner) => vec![permission("runner", runner)],
        None => of(&definition.kind, config),
    };
    let secrets = definition.config.paths().filter(|path| path.root() == Some("secrets"));
    permissions.extend(secrets.map(|path| permission("secret", path.segments().get(1).map_or("*", AsRef::as_ref))));
    permissions.sort_unstable();
    permissions.dedup();
    RequiredPermissions {
        action_id: definition.action_id.clone(),
        kind: definition.kind.clone(),
        permissions,
    }
}

fn permission(scope: &str, object: &str) -> Permission {
    Permission {
        scope: scope.to_owned(),
        object: object.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::source::Format;
    use crate::machine::{LoadOptions, load_text};

    const MACHINE: &str = r#"
id: m
initial: a
states: { a: {} }
actions:
- { actionId: call, type: webhook, triggerState: a, config: { url: "{{variables.url}}", key: "{{secrets.b}}{{secrets.a}}{{secrets.b}}" } }
- { actionId: draw, type: render, runner: gpu, triggerState: a, config: { token: "{{secrets.farm}}" } }
- { actionId: rest, type: noop, triggerState: a }
"#;

    #[test]
    fn runners_name_what_they_reach_and_templates_the_secrets() {
        let machine = load_text(MACHINE, Format::Yaml, &LoadOptions::default())
            .machine
            .unwrap();
        let required = machine.permissions(|kind, config| {
            let url = config["url"].as_str().filter(|_| kind == "webhook");
            url.map(|url| permission("network", url)).into_iter().collect()
        });
        let shown: Vec<(&str, Vec<String>)> = required
            .iter()
            .map(|one| {
                let texts = one.permissions.iter().map(Permission::to_string).collect();
                (one.action_id.as_str(), texts)
            })
            .collect();
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        assert_eq!(
            shown,
            [
                ("call", texts(&["network {{variables.url}}", "secret a", "secret b"])),
                ("draw", texts(&["runner gpu", "secret farm"])),
                ("rest", texts(&[])),
            ]
        );
    }
}
