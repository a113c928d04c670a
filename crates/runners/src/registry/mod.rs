//! Which runner serves which action type.

pub(crate) mod config;
pub mod failpoint;
pub mod providers;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use sprag_core::action::SecretRules;
use sprag_core::action::runner::{ConfigProblem, Runner};
use sprag_core::clock::Clock;
use sprag_core::document::source::nearest;
use sprag_core::machine::testing::Reach;
use sprag_core::machine::{ConfigCheck, UnknownType};

use crate::api_call::{self, ApiCall};
use crate::docusign::DocusignEnvelope;
use crate::email::{self, Email};
use crate::exec::{self, Exec};
use crate::http::outbound::{self, Guard};
use crate::http::{self, Client, Wire};
use crate::mint::{self, BlockchainMint};
use crate::secrets::Secrets;
use crate::sms::Sms;
use crate::tools::{Fail, HttpCheck, LogMessage, Noop, TcpCheck, Wait};
use crate::webhook::Webhook;

/// What the standard runners need to know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// `[outbound]`.
    pub outbound: outbound::Options,
    /// `[exec]`.
    pub exec: exec::Options,
    /// `[chains.*]`, `[signers.*]`, `[contracts.*]`.
    pub mint: mint::Options,
    /// `[services.*]`.
    pub api_call: api_call::Options,
    /// `[providers.*]`.
    pub providers: providers::Options,
}

/// Why there are no standard runners.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `[outbound]` cannot be used.
    #[error(transparent)]
    Outbound(#[from] outbound::OptionsError),
    /// `[exec]` cannot be used.
    #[error(transparent)]
    Exec(#[from] exec::OptionsError),
    /// A chain, a signer or a contract cannot be used.
    #[error(transparent)]
    Mint(#[from] mint::OptionsError),
    /// A service cannot be used.
    #[error(transparent)]
    ApiCall(#[from] api_call::OptionsError),
    /// A provider cannot be used.
    #[error(transparent)]
    Providers(#[from] providers::OptionsError),
    /// There is no HTTP client.
    #[error(transparent)]
    Http(#[from] http::BuildError),
}

/// The runners by action type.
#[derive(Clone, Default)]
pub struct Registry {
    runners: BTreeMap<String, Arc<dyn Runner>>,
    secrets: Arc<Secrets>,
}

impl Registry {
    /// The runners that every server has. `secrets` is asked for what the configuration itself names.
    pub fn standard(options: &Options, clock: Arc<dyn Clock>, secrets: Arc<Secrets>) -> Result<Self, Error> {
        Self::over(options, clock, secrets, &Wire::default())
    }

    /// The same runners, with their HTTP clients over this wire.
    pub fn over(options: &Options, clock: Arc<dyn Clock>, secrets: Arc<Secrets>, wire: &Wire) -> Result<Self, Error> {
        let Options {
            outbound,
            exec,
            api_call,
            mint,
            providers,
        } = options;
        let guard = Guard::new(outbound)?;
        let client = Client::over(guard.clone(), Arc::clone(&clock), wire.clone())?;
        let trusted = Client::over(Guard::unguarded()?, clock, wire.clone())?;
        let mail = email::Options {
            smtp: providers.smtp.as_ref(),
            sendgrid: providers.sendgrid.as_ref(),
        };
        let guards = (guard.clone(), Guard::unguarded()?);
        let mut registry = Self {
            secrets: Arc::clone(&secrets),
            ..Self::default()
        };
        registry.insert(Email::new(mail, Arc::clone(&secrets), guards, trusted.clone())?);
        registry.insert(Sms::new(
            providers.twilio.as_ref(),
            Arc::clone(&secrets),
            trusted.clone(),
        )?);
        registry.insert(DocusignEnvelope::new(
            providers.docusign.as_ref(),
            Arc::clone(&secrets),
            trusted.clone(),
        )?);
        registry.insert(ApiCall::new(
            api_call,
            Arc::clone(&secrets),
            client.clone(),
            trusted.clone(),
        )?);
        registry.insert(BlockchainMint::new(mint, secrets, client.clone(), trusted)?);
        registry.insert(Webhook::new(client.clone()));
        registry.insert(Exec::new(exec)?);
        registry.insert(HttpCheck::new(client));
        registry.insert(TcpCheck::new(guard));
        registry.insert(Noop);
        registry.insert(Wait);
        registry.insert(LogMessage);
        registry.insert(Fail);
        Ok(registry)
    }

    /// Adds a runner for all its types, in place of the runner that served them.
    pub fn insert(&mut self, runner: impl Runner + 'static) {
        let runner: Arc<dyn Runner> = Arc::new(runner);
        for kind in runner.types() {
            self.runners.insert((*kind).to_owned(), Arc::clone(&runner));
        }
    }

    /// Who serves `kind`.
    pub fn get(&self, kind: &str) -> Option<&Arc<dyn Runner>> {
        self.runners.get(kind)
    }

    /// Every type that is served, in order.
    pub fn types(&self) -> impl Iterator<Item = &str> {
        self.runners.keys().map(String::as_str)
    }
}

/// Judges definitions by these runners.
impl SecretRules for Registry {
    fn takes_secret(&self, kind: &str, pointer: &str) -> bool {
        let runner = self.get(kind);
        runner.is_none_or(|runner| runner.takes_secret(kind, pointer))
    }

    fn allows_secret(&self, machine: &str, name: &str) -> bool {
        self.secrets.allows(machine, name)
    }
}

impl ConfigCheck for Registry {
    fn check(&self, kind: &str, config: &Value) -> Result<Vec<ConfigProblem>, UnknownType> {
        match self.get(kind) {
            Some(runner) => Ok(runner.validate(kind, config)),
            None => Err(UnknownType {
                nearest: nearest(kind, self.types()).map(str::to_owned),
            }),
        }
    }

    fn warnings(&self, kind: &str, config: &Value) -> Vec<ConfigProblem> {
        let runner = self.get(kind);
        runner.map_or_else(Vec::new, |runner| runner.warnings(kind, config))
    }
}

/// How attempts of a type with this configuration reach the world.
pub fn reach(kind: &str, config: &Value) -> Reach {
    match kind {
        "webhook" | "api_call" | "http_check" | "sms" | "docusign_envelope" => Reach::Http,
        "email" if config.get("provider").and_then(Value::as_str) == Some("sendgrid") => Reach::Http,
        "noop" | "wait" | "log_message" | "fail" => Reach::Nothing,
        _ => Reach::Other,
    }
}

#[cfg(test)]
mod tests {
    use sprag_core::clock::Manual;

    use super::*;

    #[test]
    fn the_standard_runners_serve_the_types_of_the_design() {
        let registry = Registry::standard(&Options::default(), Arc::new(Manual::default()), Arc::default()).unwrap();
        let types: Vec<&str> = registry.types().collect();
        assert_eq!(
            types,
            [
                "api_call",
                "blockchain_mint",
                "docusign_envelope",
                "email",
                "exec",
                "fail",
                "http_check",
                "log_message",
                "noop",
                "sms",
                "tcp_check",
                "wait",
                "webhook"
            ]
        );
        for kind in types {
            assert!(registry.get(kind).unwrap().types().contains(&kind), "{kind}");
        }
        assert!(registry.get("nothing").is_none());
    }

    #[test]
    fn options_that_cannot_be_used_are_refused_at_once() {
        let mut options = Options::default();
        options.outbound.allow.push("10.0.0.1/8".to_owned());
        assert!(Registry::standard(&options, Arc::new(Manual::default()), Arc::default()).is_err());
        let mut options = Options::default();
        options.exec.allow.push("../sh".to_owned());
        assert!(Registry::standard(&options, Arc::new(Manual::default()), Arc::default()).is_err());
    }
}
