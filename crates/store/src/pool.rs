//! Connections for readers, by kind of read: each kind has its own, so a read by id never waits for a scan.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::page::ReadKind;

/// The connections of a store's readers that are free.
#[derive(Debug)]
pub(crate) struct ReaderPool<C> {
    points: Idle<C>,
    scans: Idle<C>,
}

#[derive(Debug)]
struct Idle<C> {
    connections: Mutex<Vec<C>>,
    returned: Condvar,
}

impl<C> Idle<C> {
    fn connections(&self) -> MutexGuard<'_, Vec<C>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C> ReaderPool<C> {
    /// As many connections of each kind as reads of it may run at once.
    pub(crate) fn new<E>(mut connect: impl FnMut(ReadKind) -> Result<C, E>) -> Result<Self, E> {
        let mut idle = |kind: ReadKind| {
            let connections = (0..kind.width()).map(|_| connect(kind)).collect::<Result<_, _>>()?;
            Ok(Idle {
                connections: Mutex::new(connections),
                returned: Condvar::new(),
            })
        };
        Ok(Self {
            points: idle(ReadKind::Point)?,
            scans: idle(ReadKind::Scan)?,
        })
    }

    fn idle(&self, kind: ReadKind) -> &Idle<C> {
        match kind {
            ReadKind::Point => &self.points,
            ReadKind::Scan => &self.scans,
        }
    }

    /// A connection; waits until one is free.
    pub(crate) fn take(&self, kind: ReadKind) -> C {
        let idle = self.idle(kind);
        let mut connections = idle.connections();
        loop {
            if let Some(connection) = connections.pop() {
                return connection;
            }
            connections = idle.returned.wait(connections).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns a connection.
    pub(crate) fn put(&self, kind: ReadKind, connection: Option<C>) {
        let idle = self.idle(kind);
        idle.connections().extend(connection);
        idle.returned.notify_one();
    }
}
