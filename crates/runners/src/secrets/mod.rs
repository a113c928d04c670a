//! Where secrets come from, asked when an attempt needs them and never stored.
//!
//! `secrets.crm_token` is `SPRAG_SECRET_CRM_TOKEN` in the environment, `<dir>/crm_token` in a directory, or the key
//! `crm_token` at a path of a Vault; providers are asked in the listed order. No error shows a value, and nothing else
//! of the environment, the directory or the Vault can be reached.

mod allow;
mod env;
mod file;
mod text;
mod vault;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod vault_tests;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use sprag_core::action::runner::BoxFuture;
use sprag_core::clock::Clock;

use crate::http;
use crate::http::outbound;

use allow::Allowed;

pub use env::Env;
pub use file::File;
pub(crate) use text::Filled;
pub use text::{Text, TextError};
pub use vault::{Vault, VaultOptions};

/// The longest name of a secret.
const NAME_BYTES_MAX: usize = 128;
/// The largest secret.
pub(crate) const VALUE_BYTES_MAX: usize = 64 * 1024;

/// A place where secrets are kept.
pub trait Provider: Send + Sync {
    /// The value of the secret, or none if this place does not have it.
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, SecretError>>;

    /// Where the secret would be, for people.
    fn place(&self, name: &str) -> String;
}

/// Why a secret could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// A name outside `[A-Za-z_][A-Za-z0-9_]*`.
    #[error("`{name}` is not the name of a secret: letters, digits and `_`, and no digit first")]
    Name {
        /// The name.
        name: String,
    },
    /// No provider has it.
    #[error("secret `{name}` is in none of {places}")]
    Missing {
        /// The name.
        name: String,
        /// Where it was looked for.
        places: String,
    },
    /// The place is there, and cannot be read.
    #[error("secret `{name}` at {place} cannot be read")]
    Unreadable {
        /// The name.
        name: String,
        /// Where it is.
        place: String,
        /// Why.
        source: io::Error,
    },
    /// Its provider does not give it.
    #[error("secret `{name}` cannot be read from {place}: {reason}")]
    Unavailable {
        /// The name.
        name: String,
        /// Who was asked.
        place: String,
        /// Why.
        reason: String,
    },
    /// The value is not text.
    #[error("secret `{name}` at {place} is not UTF-8")]
    NotText {
        /// The name.
        name: String,
        /// Where it is.
        place: String,
    },
    /// The value is larger than any secret.
    #[error("secret `{name}` at {place} is larger than {VALUE_BYTES_MAX} bytes")]
    TooLarge {
        /// The name.
        name: String,
        /// Where it is.
        place: String,
    },
}

/// `[secrets]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Who is asked, in this order.
    pub providers: Vec<ProviderName>,
    /// The directory of the provider `file`.
    pub dir: Option<PathBuf>,
    /// Which machines may name which secrets, as `MACHINE=SECRET`; every machine every secret if not given.
    pub allow: Option<Vec<String>>,
    /// `[secrets.vault]`.
    pub vault: VaultOptions,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            providers: vec![ProviderName::Env],
            dir: None,
            allow: None,
            vault: VaultOptions::default(),
        }
    }
}

/// A provider, as the configuration names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderName {
    /// [`Env`].
    Env,
    /// [`File`].
    File,
    /// [`Vault`].
    Vault,
}

/// Why `[secrets]` cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// The provider `file` has no directory.
    #[error("`[secrets] providers` names `file`, and `[secrets] dir` does not say where")]
    NoDirectory,
    /// An entry of `[secrets] allow` that names no machine and secret.
    #[error(
        "`{entry}` in `[secrets] allow` is not of the form `MACHINE=SECRET`; write as in `billing=stripe_key`, each \
         name with `*` at its end for all that begin so"
    )]
    Allowed {
        /// The entry.
        entry: String,
    },
    /// More entries in `[secrets] allow` than there may be.
    #[error("`[secrets] allow` has more than {most} entries")]
    TooManyAllowed {
        /// How many there may be.
        most: usize,
    },
    /// The provider `vault` cannot be asked.
    #[error("`[secrets.vault] {key}`: {detail}; {remedy}")]
    Vault {
        /// The key.
        key: &'static str,
        /// What is wrong with it.
        detail: String,
        /// What would fix it.
        remedy: String,
    },
}

/// Why there are no providers of secrets.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `[secrets]` cannot be used.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// There is no HTTP client to ask with.
    #[error(transparent)]
    Http(#[from] http::BuildError),
    /// The provider is unreachable.
    #[error(transparent)]
    Outbound(#[from] outbound::OptionsError),
}

impl Options {
    /// Whether every provider that is named can be asked.
    pub fn check(&self) -> Result<(), OptionsError> {
        let Self {
            providers,
            dir,
            allow,
            vault,
        } = self;
        Allowed::new(allow.as_deref())?;
        if providers.contains(&ProviderName::File) && dir.is_none() {
            return Err(OptionsError::NoDirectory);
        }
        if providers.contains(&ProviderName::Vault) {
            vault.check()?;
        }
        Ok(())
    }
}

/// The providers, in the order in which they are asked.
#[derive(Default)]
pub struct Secrets {
    providers: Vec<Box<dyn Provider>>,
    allowed: Allowed,
}

impl Secrets {
    /// Asks these providers, in this order.
    pub fn new(providers: Vec<Box<dyn Provider>>) -> Self {
        Self {
            providers,
            allowed: Allowed::default(),
        }
    }

    /// No secrets at all, and who might name them: for those who only judge definitions.
    pub fn judging(options: &Options) -> Result<Self, OptionsError> {
        Ok(Self {
            providers: Vec::new(),
            allowed: Allowed::new(options.allow.as_deref())?,
        })
    }

    /// Whether `[secrets] allow` lets the machine name the secret.
    pub fn allows(&self, machine: &str, name: &str) -> bool {
        self.allowed.allows(machine, name)
    }

    /// The providers that the configuration names.
    pub fn from_options(options: &Options, clock: &Arc<dyn Clock>) -> Result<Self, Error> {
        options.check()?;
        let Options {
            providers,
            dir,
            allow,
            vault,
        } = options;
        let build = |name: &ProviderName| -> Result<Box<dyn Provider>, Error> {
            Ok(match name {
                ProviderName::Env => Box::new(Env::process()),
                ProviderName::File => Box::new(File::new(dir.clone().ok_or(OptionsError::NoDirectory)?)),
                ProviderName::Vault => Box::new(Vault::new(vault, client(clock)?)?),
            })
        };
        Ok(Self {
            providers: providers.iter().map(build).collect::<Result<_, _>>()?,
            allowed: Allowed::new(allow.as_deref())?,
        })
    }

    /// The value of the secret at the first provider that has it. A provider that fails is an error: a later one may
    /// hold another value.
    pub async fn get(&self, name: &str) -> Result<String, SecretError> {
        check_name(name)?;
        for provider in &self.providers {
            if let Some(value) = provider.get(name).await? {
                return Ok(value);
            }
        }
        let places: Vec<String> = self.providers.iter().map(|provider| provider.place(name)).collect();
        let places = if places.is_empty() {
            "no provider".to_owned()
        } else {
            places.join(", ")
        };
        Err(SecretError::Missing {
            name: name.to_owned(),
            places,
        })
    }
}

/// Addresses in the configuration are the operator's, and bypass the outbound guard.
fn client(clock: &Arc<dyn Clock>) -> Result<http::Client, Error> {
    Ok(http::Client::new(outbound::Guard::unguarded()?, Arc::clone(clock))?)
}

/// Names are letters, digits and `_`: nothing that could mean a path.
pub(crate) fn check_name(name: &str) -> Result<(), SecretError> {
    let first = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let rest = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if first && rest && name.len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    Err(SecretError::Name {
        name: sprag_core::document::source::shown(name),
    })
}
