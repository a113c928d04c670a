//! Secrets in the environment: `SPRAG_SECRET_…`, and nothing else of it.

use std::ffi::OsString;

use sprag_core::action::runner::BoxFuture;

use super::{Provider, SecretError, VALUE_BYTES_MAX, check_name};

const PREFIX: &str = "SPRAG_SECRET_";

type Variables = Box<dyn Fn(&str) -> Option<OsString> + Send + Sync>;

/// The provider `env`.
pub struct Env {
    variables: Variables,
}

impl Env {
    /// The environment of this process.
    pub fn process() -> Self {
        Self::from_fn(|name| std::env::var_os(name))
    }

    /// Any other source of variables.
    pub fn from_fn(variables: impl Fn(&str) -> Option<OsString> + Send + Sync + 'static) -> Self {
        Self {
            variables: Box::new(variables),
        }
    }

    fn find(&self, name: &str) -> Result<Option<String>, SecretError> {
        check_name(name)?;
        let Some(value) = (self.variables)(&variable(name)) else {
            return Ok(None);
        };
        let (name, place) = (name.to_owned(), self.place(name));
        if value.len() > VALUE_BYTES_MAX {
            return Err(SecretError::TooLarge { name, place });
        }
        value
            .into_string()
            .map(Some)
            .map_err(|_| SecretError::NotText { name, place })
    }
}

fn variable(name: &str) -> String {
    format!("{PREFIX}{}", name.to_ascii_uppercase())
}

impl Provider for Env {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, SecretError>> {
        Box::pin(std::future::ready(self.find(name)))
    }

    fn place(&self, name: &str) -> String {
        format!("the environment's `{}`", variable(name))
    }
}
