//! Inbound webhooks: the hook of a machine's newest version, with the secrets that its signatures are checked with.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use sprag_core::expression::template::{Template, TemplateLimits};
use sprag_core::machine::{Hook, Machine};

use super::handle::Handle;
use crate::effects::tasks::SecretSource;
use crate::requests::idempotency::{HookCall, Idempotency};
use crate::requests::{Code, Refusal, Replied, SendMessage, Sent};

/// A hook with its secrets as they are now. It has no `Debug`, so they cannot end in a log.
pub struct InboundHook {
    /// The hook.
    pub hook: Hook,
    /// What its signatures are checked with.
    pub secrets: Vec<String>,
}

impl Handle {
    /// The hook of that name in the machine's newest version.
    pub async fn hook(&self, machine: String, name: String) -> Result<InboundHook, Refusal> {
        let newest = self.read.compiled_machine(machine, None).await?;
        let found = newest.hooks.iter().find(|hook| hook.name == name);
        let hook = found.cloned().ok_or_else(|| unknown(&newest, &name))?;
        let secrets = resolve(self.secrets(), &newest.id, &hook).await?;
        Ok(InboundHook { hook, secrets })
    }

    /// Takes a call whose sender is known: its message is sent once, however often the call arrives and wherever it leads.
    pub async fn take_call(&self, call: &HookCall<'_>, message: SendMessage) -> Replied<Sent> {
        let once = Idempotency::of_hook(call);
        self.ask_by(message, &self.local.caller, Some(once), None).await
    }
}

fn unknown(machine: &Arc<Machine>, name: &str) -> Refusal {
    let detail = format!(
        "the newest version of machine `{}` has no hook `{name}`; correct the URL, or apply a version with this hook",
        machine.id
    );
    Refusal::new(Code::HookUnknown, detail)
}

async fn resolve(source: &dyn SecretSource, machine: &str, hook: &Hook) -> Result<Vec<String>, Refusal> {
    let mut secrets = Vec::with_capacity(hook.secrets.len());
    let mut last = None;
    for template in &hook.secrets {
        match secret(source, machine, template).await {
            Ok(value) => secrets.push(value),
            // During a change one of several secrets may be gone already, or not there yet.
            Err(refusal) => last = Some(refusal),
        }
    }
    match last {
        Some(refusal) if secrets.is_empty() => Err(refusal),
        _ => Ok(secrets),
    }
}

async fn secret(source: &dyn SecretSource, machine: &str, template: &Template) -> Result<String, Refusal> {
    let mut values = Map::new();
    for used in template.secrets() {
        if let Some(detail) = used.problem() {
            return Err(unavailable(&used.name, &format!("{detail}; {}", used.remedy())));
        }
        if !source.allows(machine, &used.name) {
            let why = format!(
                "`[secrets] allow` does not let machine `{machine}` use it; the operator can add an entry \
                 `MACHINE=SECRET`"
            );
            return Err(unavailable(&used.name, &why));
        }
    }
    for path in template.paths() {
        let name = path.segments().get(1).map(AsRef::as_ref).unwrap_or_default();
        let value = source.get(name).await.map_err(|error| unavailable(name, &error))?;
        let value = value.ok_or_else(|| unavailable(name, "it is not set; set it in a configured provider"))?;
        values.insert(name.to_owned(), Value::String(value));
    }
    let rendered = template.render(&json!({ "secrets": values }), TemplateLimits::default());
    match rendered {
        Ok(Value::String(text)) => Ok(text),
        _ => Err(unavailable("of the hook", "it is no text")),
    }
}

fn unavailable(name: &str, why: &str) -> Refusal {
    Refusal::new(Code::SecretUnavailable, format!("secret `{name}`: {why}"))
}
