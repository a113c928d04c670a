//! Hosts that secrets name, masked in errors.
//!
//! A secret in the host of a URL does not reach an error as it is: the URL's parser makes its letters small, writes `ü` as
//! `xn--…` and `0x7f.1` as `127.0.0.1`, drops line breaks, and cuts at the first `/`. No search for the secret finds what
//! is left. So every text that names a secret is read once with the secrets and once with stand-ins: a host that differs
//! was made of a secret, and errors do not name it. Results are left alone: a host is no secret by itself, and a program
//! may need it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sprag_core::action::Outcome;
use sprag_core::text::redact::Redactor;
use url::{Host, Url};

use crate::decide::AttemptJob;
use crate::effects::tasks::bind;

/// Takes the place of every secret. It can be part of a host.
const STAND_IN: &str = "stand-in";
/// How errors call such a host: `[secret host]`.
const NAME: &str = "host";

/// Masks hosts in errors. It has no `Debug`, so it cannot end in a log.
pub(crate) struct SecretHosts(Redactor);

impl SecretHosts {
    /// The hosts in the configuration of a job that are made of `secrets`.
    pub(crate) fn of(job: &AttemptJob, config: &Value, secrets: &BTreeMap<String, String>) -> Self {
        let mut found = BTreeSet::new();
        if !secrets.is_empty() {
            let stand_ins = secrets.keys().map(|name| (name.clone(), STAND_IN.to_owned())).collect();
            let plain = bind(job, &stand_ins).unwrap_or_default();
            for pointer in &job.config.late {
                let text = config.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
                let plain = plain.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
                found.extend(parts(text).into_iter().filter(|part| !parts(plain).contains(part)));
            }
        }
        Self(Redactor::new(found.iter().map(|host| (NAME, host.as_str()))))
    }

    /// The outcome; if it is an error, it names none of the hosts.
    pub(crate) fn masked(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Done(_) => outcome,
            Outcome::NotDone(_) | Outcome::Unknown(_) => outcome.masked(&self.0),
        }
    }
}

/// What an error may show of a text that is a URL or a host: the host, and a scheme that is not one of the usual.
fn parts(text: &str) -> Vec<String> {
    match Url::parse(text) {
        Ok(url) => {
            let scheme = Some(url.scheme()).filter(|scheme| !matches!(*scheme, "http" | "https"));
            let parts = scheme.into_iter().chain(url.host_str());
            parts.map(str::to_owned).collect()
        }
        Err(_) => Host::parse(text).map(|host| host.to_string()).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Map, json};
    use sprag_core::action::error::kind;
    use sprag_core::expression::template::Frozen;
    use sprag_core::ids::{ActionId, AttemptId, ExecutionId};

    use super::*;
    use crate::decide::Task;
    use crate::requests::AttemptRef;

    fn job(url: &str) -> AttemptJob {
        AttemptJob {
            attempt: AttemptRef {
                attempt: AttemptId::from_bytes([0; 16]),
                action: ActionId::from_bytes([0; 16]),
                execution: ExecutionId::from_bytes([0; 16]),
            },
            task: Task::Run,
            machine: "m".to_owned(),
            owner: None,
            action_id: "call".to_owned(),
            kind: "webhook".to_owned(),
            number: 1,
            config: Frozen {
                config: json!({ "url": url }),
                late: vec!["/url".to_owned()],
                bindings: Map::new(),
            },
            idempotency_key: String::new(),
            timeout_millis: 1_000,
            checkpoint: None,
            templates: Arc::default(),
            lease: None,
        }
    }

    /// What an error that says `said` says when the URL was made with this secret.
    fn shown(url: &str, secret: &str, said: &str) -> String {
        let secrets = BTreeMap::from([("k".to_owned(), secret.to_owned())]);
        let job = job(url);
        let config = bind(&job, &secrets).unwrap();
        let outcome = Outcome::not_done(kind::NETWORK_ERROR, said);
        match SecretHosts::of(&job, &config, &secrets).masked(outcome) {
            Outcome::NotDone(failure) => failure.error.message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_host_that_a_secret_is_part_of_is_not_named_however_it_was_spelled() {
        for (url, secret, said) in [
            (
                "https://{{secrets.k}}/x",
                "Tenant-KEY.example/rest",
                "tenant-key.example",
            ),
            (
                "https://{{secrets.k}}",
                "bücher-geheim.example",
                "xn--bcher-geheim-dlb.example",
            ),
            (
                "https://a-{{secrets.k}}.example.com/",
                "Füße",
                "xn--a-fe-xna7o.example.com",
            ),
            ("http://{{secrets.k}}:80/", "0x7f.1.2.3", "127.1.2.3"),
            ("{{secrets.k}}", "tokenish:rest-of-it", "tokenish"),
            ("{{secrets.k}}", "MAIL.Example.NET", "mail.example.net"),
        ] {
            let read = parts(&url.replace("{{secrets.k}}", secret));
            assert_eq!(read, [said], "{url}");
            let message = shown(url, secret, &format!("no connection to `{said}`"));
            assert_eq!(message, "no connection to `[secret host]`", "{url}");
        }
    }

    #[test]
    fn a_host_that_no_secret_is_part_of_is_named() {
        let message = "no connection to `api.example.com`";
        let url = "https://api.example.com/{{secrets.k}}?k={{secrets.k}}";
        assert_eq!(shown(url, "Tenant-KEY/x", message), message);
    }

    #[test]
    fn results_keep_their_hosts() {
        let secrets = BTreeMap::from([("k".to_owned(), "hooks.example.com/abc".to_owned())]);
        let job = job("https://{{secrets.k}}");
        let config = bind(&job, &secrets).unwrap();
        let done = Outcome::done(json!({ "from": "hooks.example.com" }));
        let hosts = SecretHosts::of(&job, &config, &secrets);
        assert_eq!(hosts.masked(done.clone()), done);
    }
}
