//! The registered types of workers, and how to build each.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::worker::Worker;
use crate::worker::erased::{ErasedWorker, TypedWorker};
use crate::worker::snapshot::Identity;

/// Builds workers of one type, with fresh dependencies each time.
pub trait WorkerFactory: Send + Sync + 'static {
    /// The type of worker.
    type Worker: Worker;

    /// A new worker. It must not block. A failure is tried again, with growing pauses.
    fn build(&self, identity: &Identity) -> Result<Self::Worker, BuildError>;
}

impl<W: Worker, F> WorkerFactory for F
where
    F: Fn(&Identity) -> Result<W, BuildError> + Send + Sync + 'static,
{
    type Worker = W;

    fn build(&self, identity: &Identity) -> Result<W, BuildError> {
        self(identity)
    }
}

/// A worker that could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BuildError(pub String);

type Build = Arc<dyn Fn(&Identity) -> Result<Box<dyn ErasedWorker>, BuildError> + Send + Sync>;

/// The types of workers, by name.
#[derive(Clone, Default)]
pub struct Registry {
    factories: BTreeMap<Arc<str>, Build>,
}

impl Registry {
    /// Knows `kind` from now on; an earlier factory of that name is replaced.
    #[must_use]
    pub fn with(mut self, kind: impl Into<String>, factory: impl WorkerFactory) -> Self {
        let build: Build = Arc::new(move |identity: &Identity| {
            let worker = factory.build(identity)?;
            Ok(Box::new(TypedWorker::new(worker)))
        });
        self.factories.insert(kind.into().into(), build);
        self
    }

    /// The names of all types.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.factories.keys().map(AsRef::as_ref)
    }

    pub(crate) fn knows(&self, kind: &str) -> bool {
        self.factories.contains_key(kind)
    }

    /// The name of a type, held once for all its workers.
    pub(crate) fn kind(&self, kind: &str) -> Arc<str> {
        let known = self.factories.get_key_value(kind);
        known.map_or_else(|| Arc::from(kind), |(kind, _)| Arc::clone(kind))
    }

    pub(crate) fn build(&self, identity: &Identity) -> Result<Box<dyn ErasedWorker>, BuildError> {
        match self.factories.get(identity.kind.as_ref()) {
            Some(build) => build(identity),
            None => Err(BuildError(format!("no worker of type `{}` is known", identity.kind))),
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.factories.keys()).finish()
    }
}
