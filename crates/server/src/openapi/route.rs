//! The methods of a route: each with who may use it, its handler and what it is, so that none is without the others.

use axum::handler::Handler;
use axum::routing::{self, MethodRouter};

use super::operation::Operation;
use crate::access::rule::Rule;
use crate::access::scope::Target;
use crate::app::App;
use crate::nodes::owner::OwnerFirst;

/// The methods of one route.
pub(crate) struct Methods {
    /// Who answers.
    pub(crate) router: MethodRouter<App>,
    /// What is answered, by the method's name in lower case.
    pub(crate) operations: Vec<(&'static str, Operation)>,
    /// Whether another node is asked first when the route is read.
    pub(crate) owner_first: Option<OwnerFirst>,
    /// What a request that does something is about, for callers whose token is narrowed.
    pub(crate) target: Option<Target>,
}

/// A route that can be read.
pub(crate) fn get<H: Handler<T, App>, T: 'static>(rule: Rule, handler: H, operation: Operation) -> Methods {
    Methods {
        router: routing::get(handler),
        operations: vec![("get", operation.complete("get", rule))],
        owner_first: None,
        target: None,
    }
}

/// A route that does something.
pub(crate) fn post<H: Handler<T, App>, T: 'static>(rule: Rule, handler: H, operation: Operation) -> Methods {
    Methods {
        router: routing::post(handler),
        operations: vec![("post", operation.complete("post", rule))],
        owner_first: None,
        target: None,
    }
}

/// A route that can be set.
pub(crate) fn put<H: Handler<T, App>, T: 'static>(rule: Rule, handler: H, operation: Operation) -> Methods {
    Methods {
        router: routing::put(handler),
        operations: vec![("put", operation.complete("put", rule))],
        owner_first: None,
        target: None,
    }
}

impl Methods {
    /// The same route, which can also be read.
    pub(crate) fn get<H: Handler<T, App>, T: 'static>(self, rule: Rule, handler: H, operation: Operation) -> Self {
        self.with("get", operation.complete("get", rule), |router| router.get(handler))
    }

    /// The same route, which also does something.
    pub(crate) fn post<H: Handler<T, App>, T: 'static>(self, rule: Rule, handler: H, operation: Operation) -> Self {
        self.with("post", operation.complete("post", rule), |router| router.post(handler))
    }

    /// The same route, which can also be set.
    pub(crate) fn put<H: Handler<T, App>, T: 'static>(self, rule: Rule, handler: H, operation: Operation) -> Self {
        self.with("put", operation.complete("put", rule), |router| router.put(handler))
    }

    /// The same route, which can also be deleted.
    pub(crate) fn delete<H: Handler<T, App>, T: 'static>(self, rule: Rule, handler: H, operation: Operation) -> Self {
        self.with("delete", operation.complete("delete", rule), |router| {
            router.delete(handler)
        })
    }

    /// The same route, which goes to the owner first when it is read.
    pub(crate) fn owner_first(self, owner_first: OwnerFirst) -> Self {
        Self {
            owner_first: Some(owner_first),
            ..self
        }
    }

    /// The same route, about something that a token can be narrowed to.
    pub(crate) fn about(self, target: Target) -> Self {
        Self {
            target: Some(target),
            ..self
        }
    }

    fn with(
        mut self,
        method: &'static str,
        operation: Operation,
        route: impl FnOnce(MethodRouter<App>) -> MethodRouter<App>,
    ) -> Self {
        self.operations.push((method, operation));
        Self {
            router: route(self.router),
            ..self
        }
    }
}
