//! What the routes are grouped by, each with a request to begin with.
//!
//! The examples build on each other: run in this order against a new server, every one of them succeeds.

use crate::handlers::workers::handlers as workers;
use crate::handlers::{
    actions, audit, dead_letters, executions, jobs, limits, loads, machines, messages, operations, pages, runners,
    switches, system, tokens, workflows,
};

/// A group of routes.
pub(crate) struct Resource {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it is.
    pub(crate) about: &'static str,
    /// A request to begin with.
    pub(crate) example: Example,
}

/// A request that works as it is shown.
pub(crate) struct Example {
    /// What it does.
    pub(crate) about: &'static str,
    /// The method.
    pub(crate) method: &'static str,
    /// The path with its query.
    pub(crate) path: &'static str,
    /// The body with its media type.
    pub(crate) body: Option<(&'static str, &'static str)>,
}

/// A machine that waits for a message.
const HELLO: &str = "id: hello
initial: waiting
states:
  waiting: { on: { GO: greeting } }
  greeting: { on: { done.greet: over } }
  over: { type: final }
actions:
  - actionId: greet
    type: log_message
    triggerState: greeting
    config: { message: hello }
";

const JSON: &str = "application/json";

/// The groups, in the order of the page.
pub(crate) const RESOURCES: &[Resource] = &[
    Resource {
        name: machines::RESOURCE,
        about: "Versioned statecharts in YAML or JSON, with the actions they trigger.",
        example: Example {
            about: "Apply a machine that waits for a message and then acts.",
            method: "POST",
            path: "/v1/machines",
            body: Some(("application/yaml", HELLO)),
        },
    },
    Resource {
        name: executions::RESOURCE,
        about: "Running instances of a machine version: started, sent messages, watched, paused, migrated, replayed.",
        example: Example {
            about: "Start an execution of that machine.",
            method: "POST",
            path: "/v1/executions",
            body: Some((
                JSON,
                r#"{"machine": "hello", "key": "first", "variables": {"name": "world"}}"#,
            )),
        },
    },
    Resource {
        name: messages::RESOURCE,
        about: "Input for executions, addressed by id or by machine and key.",
        example: Example {
            about: "Send a message to the execution that holds the key.",
            method: "POST",
            path: "/v1/messages",
            body: Some((JSON, r#"{"machine": "hello", "key": "first", "type": "GO"}"#)),
        },
    },
    Resource {
        name: actions::RESOURCE,
        about: "The actions of executions, each with its attempts and what it waits for.",
        example: Example {
            about: "The newest actions of a machine.",
            method: "GET",
            path: "/v1/actions?machine=hello&limit=10",
            body: None,
        },
    },
    Resource {
        name: runners::RESOURCE,
        about: "Programs in any language that run actions: they lease attempts, send heartbeats, and report outcomes.",
        example: Example {
            about: "Ask for one attempt of type `render` for the runner `gpu`, and do not wait for it.",
            method: "POST",
            path: "/v1/runners/lease",
            body: Some((JSON, r#"{"runner": "gpu", "types": ["render"]}"#)),
        },
    },
    Resource {
        name: dead_letters::RESOURCE,
        about: "Actions that Sprag stopped retrying. They wait for a person.",
        example: Example {
            about: "What waits for a person.",
            method: "GET",
            path: "/v1/dead-letters",
            body: None,
        },
    },
    Resource {
        name: jobs::RESOURCE,
        about: "Bulk operations that survive a crash and list the result of each item.",
        example: Example {
            about: "Retry every action that failed because a service was unavailable.",
            method: "POST",
            path: "/v1/dead-letters/retry",
            body: Some((JSON, r#"{"filter": "errorType = \"service_unavailable\""}"#)),
        },
    },
    Resource {
        name: audit::RESOURCE,
        about: "Who decided what, why and from where, in chains that show every later change.",
        example: Example {
            about: "Who applied machines.",
            method: "GET",
            path: "/v1/audit?filter=verb%20%3D%20%22machine.apply%22",
            body: None,
        },
    },
    Resource {
        name: switches::RESOURCE,
        about: "While a switch is on, no attempt in its scope starts.",
        example: Example {
            about: "Hold all actions of a machine for a minute.",
            method: "POST",
            path: "/v1/kill-switches",
            body: Some((
                JSON,
                r#"{"scope": "machine:hello", "reason": "trying it out", "expiresIn": "1m"}"#,
            )),
        },
    },
    Resource {
        name: limits::RESOURCE,
        about: "The limits of each key in the definitions, and overrides by operators.",
        example: Example {
            about: "At most two attempts at once under the key `mail`.",
            method: "PUT",
            path: "/v1/limits/mail",
            body: Some((JSON, r#"{"concurrency": 2}"#)),
        },
    },
    Resource {
        name: operations::RESOURCE,
        about: "What people, scripts and agents may propose, each with its parameters and its risk.",
        example: Example {
            about: "The operations that every server has.",
            method: "GET",
            path: "/v1/operations?kind=builtin",
            body: None,
        },
    },
    Resource {
        name: workflows::RESOURCE,
        about: "Proposed operations and workflows: the exact plan, who approved it, and how its steps stand.",
        example: Example {
            about: "Propose an operation that needs no approval: it runs at once.",
            method: "POST",
            path: "/v1/workflows",
            body: Some((
                JSON,
                r#"{"operation": "log_message", "params": {"message": "hello"}, "reason": "trying it out"}"#,
            )),
        },
    },
    Resource {
        name: loads::RESOURCE,
        about: "Load tests that the server runs on agents, with live figures, and the agents that registered.",
        example: Example {
            about: "The newest load tests.",
            method: "GET",
            path: "/v1/loads?limit=10",
            body: None,
        },
    },
    Resource {
        name: workers::RESOURCE,
        about: "Services that the server keeps running, if you started it with `--services FILE`.",
        example: Example {
            about: "Everybody, with the states they are in.",
            method: "GET",
            path: "/v1/workers",
            body: None,
        },
    },
    Resource {
        name: tokens::RESOURCE,
        about: "What callers show to a server that asks who they are.",
        example: Example {
            about: "Create a token that reads.",
            method: "POST",
            path: "/v1/tokens",
            body: Some((JSON, r#"{"name": "dashboard", "roles": ["viewer"]}"#)),
        },
    },
    Resource {
        name: system::RESOURCE,
        about: "The server itself: its limits, its health, backups.",
        example: Example {
            about: "Version, store and bounds.",
            method: "GET",
            path: "/v1/system",
            body: None,
        },
    },
    Resource {
        name: pages::RESOURCE,
        about: "The description of this API: this page, the OpenAPI document, and a page for every error code.",
        example: Example {
            about: "The OpenAPI 3.1 document.",
            method: "GET",
            path: "/v1/openapi.json",
            body: None,
        },
    },
];
