//! The methods of a route: each with its handler and what it is, so that neither is without the other.

use axum::handler::Handler;
use axum::routing::{self, MethodRouter};

use super::operation::Operation;
use crate::app::App;

/// The methods of one route.
pub(crate) struct Methods {
    /// Who answers.
    pub(crate) router: MethodRouter<App>,
    /// What is answered, by the method's name in lower case.
    pub(crate) operations: Vec<(&'static str, Operation)>,
}

/// A route that can be read.
pub(crate) fn get<H: Handler<T, App>, T: 'static>(handler: H, operation: Operation) -> Methods {
    Methods {
        router: routing::get(handler),
        operations: vec![("get", operation.complete())],
    }
}

/// A route that does something.
pub(crate) fn post<H: Handler<T, App>, T: 'static>(handler: H, operation: Operation) -> Methods {
    Methods {
        router: routing::post(handler),
        operations: vec![("post", operation.complete())],
    }
}

/// A route that can be set.
pub(crate) fn put<H: Handler<T, App>, T: 'static>(handler: H, operation: Operation) -> Methods {
    Methods {
        router: routing::put(handler),
        operations: vec![("put", operation.complete())],
    }
}

impl Methods {
    /// The same route, which can also be read.
    pub(crate) fn get<H: Handler<T, App>, T: 'static>(self, handler: H, operation: Operation) -> Self {
        let Self { router, operations } = self;
        Self {
            router: router.get(handler),
            operations,
        }
        .with("get", operation)
    }

    /// The same route, which also does something.
    pub(crate) fn post<H: Handler<T, App>, T: 'static>(self, handler: H, operation: Operation) -> Self {
        let Self { router, operations } = self;
        Self {
            router: router.post(handler),
            operations,
        }
        .with("post", operation)
    }

    /// The same route, which can also be set.
    pub(crate) fn put<H: Handler<T, App>, T: 'static>(self, handler: H, operation: Operation) -> Self {
        let Self { router, operations } = self;
        Self {
            router: router.put(handler),
            operations,
        }
        .with("put", operation)
    }

    /// The same route, which can also be deleted.
    pub(crate) fn delete<H: Handler<T, App>, T: 'static>(self, handler: H, operation: Operation) -> Self {
        let Self { router, operations } = self;
        Self {
            router: router.delete(handler),
            operations,
        }
        .with("delete", operation)
    }

    fn with(mut self, method: &'static str, operation: Operation) -> Self {
        self.operations.push((method, operation.complete()));
        self
    }
}
