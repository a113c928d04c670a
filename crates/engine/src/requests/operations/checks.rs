//! The hosts that a principal who may only propose may have checked without approval: a check could carry data out.
//!
//! What a person approves may check any host, and so may an operation of the catalog that has a check among its steps: its
//! author decided that.

use serde_json::Value;
use sprag_core::access::{Caller, Role};
use sprag_core::operation::approval::ApprovalVerdict;
use url::{Host, Url};

use super::super::{Code, Refusal};
use super::propose::Propose;
use crate::decide::Decider;
use crate::decide::plans::PlanState;

/// The hosts of `[mcp] hosts`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckHosts(Vec<Host>);

/// A text that names no host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a host: give a name or an address without scheme, port and path")]
pub struct NoHost(pub String);

impl CheckHosts {
    /// These hosts.
    pub fn new(names: &[String]) -> Result<Self, NoHost> {
        let read = |name: &String| host(name).ok_or_else(|| NoHost(name.clone()));
        names.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The hosts, as parameters name them.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|host| match host {
            Host::Ipv6(address) => address.to_string(),
            host => host.to_string(),
        })
    }

    /// What is wrong with an operation and its parameters: a check of a host that is not among these.
    pub fn problem(&self, operation: &str, params: &Value) -> Option<UnlistedCheck> {
        let text = |name: &str| params[name].as_str().unwrap_or_default();
        let (parameter, reached) = match operation {
            "http_check" => (
                "url",
                Url::parse(text("url"))
                    .ok()
                    .and_then(|url| Some(url.host()?.to_owned())),
            ),
            "tcp_check" => ("host", host(text("host"))),
            _ => return None,
        };
        let is_listed = reached.is_some_and(|host| self.0.contains(&host));
        (!is_listed).then(|| UnlistedCheck {
            operation: operation.to_owned(),
            parameter,
            value: text(parameter).to_owned(),
        })
    }
}

/// A check of a host that `[mcp] hosts` does not list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{operation}` would check `{value}`, and `[mcp] hosts` does not list its host")]
pub struct UnlistedCheck {
    operation: String,
    /// The parameter that names the host.
    pub parameter: &'static str,
    value: String,
}

/// The host that a text names, as URLs have it: in lower case, an address in its usual spelling.
fn host(name: &str) -> Option<Host> {
    match name.parse() {
        Ok(address) => Some(Host::Ipv6(address)),
        Err(_) => Host::parse(name).ok(),
    }
}

/// Whether a caller may propose and do nothing else.
pub(super) fn is_only_proposer(caller: &Caller) -> bool {
    [Role::Operator, Role::Approver, Role::Author]
        .iter()
        .all(|role| !caller.may(*role))
}

/// Refuses a check of a host that is not listed, if its proposer may only propose and no person decides about the plan.
pub(super) fn refuse_checks(decider: &Decider<'_>, plan: &PlanState, propose: &Propose) -> Result<(), Refusal> {
    if !is_only_proposer(&propose.caller) {
        return Ok(());
    }
    let unlisted = |(at, step): (String, &Value)| {
        let problem = decider
            .rules
            .check_hosts
            .problem(step["operation"].as_str()?, &step["params"])?;
        Some((at, problem))
    };
    let body = &propose.body;
    let steps = body["steps"].as_array().into_iter().flatten().enumerate();
    let steps = steps.map(|(index, step)| (format!("/steps/{index}"), step));
    let mut proposed = std::iter::once((String::new(), body)).chain(steps);
    let Some((at, unlisted)) = proposed.find_map(unlisted) else {
        return Ok(());
    };
    let (policy, tokens) = (&decider.rules.approval, &decider.known.control.tokens);
    if plan.verdict(policy, tokens, decider.now(), None) != ApprovalVerdict::NotNeeded {
        return Ok(());
    }
    let detail = format!(
        "{unlisted}; the role `proposer` alone cannot check it without approval: add the host, or ask an operator"
    );
    let pointer = format!("{at}/params/{}", unlisted.parameter);
    Err(Refusal::at(&pointer, Code::RoleMissing, detail))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_check_is_of_the_host_that_would_be_reached() {
        let names = ["Cache-1.example.com", "10.0.0.7", "::1"].map(str::to_owned);
        let hosts = CheckHosts::new(&names).unwrap();
        let listed: Vec<String> = hosts.names().collect();
        assert_eq!(listed, ["cache-1.example.com", "10.0.0.7", "::1"]);
        let is_listed = |operation: &str, params: Value| hosts.problem(operation, &params).is_none();
        for url in [
            "http://cache-1.example.com/a?b",
            "HTTPS://CACHE-1.EXAMPLE.COM:8443/",
            "http://[::1]:80/",
            "http://0xa.7/",
        ] {
            assert!(is_listed("http_check", json!({ "url": url })), "{url}");
        }
        for url in [
            "http://cache-1.example.com@evil.example/",
            "http://cache-1.example.com.evil.example/",
            "http://evil.example/#@cache-1.example.com",
            "http://evil.example\\@cache-1.example.com/",
            "http://cache-1.example.com{{steps.a.result}}/",
            "cache-1.example.com",
            "",
        ] {
            assert!(!is_listed("http_check", json!({ "url": url })), "{url}");
        }
        assert!(is_listed(
            "tcp_check",
            json!({"host": "CACHE-1.example.com", "port": 1})
        ));
        assert!(is_listed("tcp_check", json!({"host": "::1"})));
        for params in [
            json!({"host": "evil.example"}),
            json!({"host": 7}),
            json!({}),
            json!(null),
        ] {
            assert!(!is_listed("tcp_check", params.clone()), "{params}");
        }
        assert!(is_listed("log_message", json!({"host": "evil.example"})));
    }

    #[test]
    fn a_setting_that_names_no_host_is_refused() {
        for name in ["", "http://a", "a/b", "a:80", "a b", "[::1", "*.example.com:1"] {
            assert!(CheckHosts::new(&[name.to_owned()]).is_err(), "{name}");
        }
    }
}
