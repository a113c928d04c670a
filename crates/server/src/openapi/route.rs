//! A route: its path, and each of its methods with who may use it, its handler and its operation. A method without one of
//! them does not compile.

use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter};

use super::operation::Operation;
use crate::access::rule::Rule;
use crate::access::scope::Target;
use crate::app::App;
use crate::nodes::owner::OwnerFirst;

/// A path with its methods.
pub(crate) struct Route {
    /// The path, with its parameters in braces.
    pub(crate) path: &'static str,
    /// The handlers.
    pub(crate) router: MethodRouter<App>,
    /// The operations, by the method's name in lower case.
    pub(crate) operations: Vec<(&'static str, Operation)>,
    /// Whether another node is asked first when the route is read.
    pub(crate) owner_first: Option<OwnerFirst>,
    /// What a request that does something is about, for callers whose token is narrowed.
    pub(crate) target: Option<Target>,
}

/// A route at `path`, without methods yet.
pub(crate) fn at(path: &'static str) -> Route {
    Route {
        path,
        router: MethodRouter::new(),
        operations: Vec::new(),
        owner_first: None,
        target: None,
    }
}

/// A method that has a handler, and no operation yet.
#[must_use = "`is` adds the method to its route"]
pub(crate) struct Handled {
    route: Route,
    method: &'static str,
    rule: Rule,
}

impl Route {
    /// The same route, which can also be read.
    pub(crate) fn get<H: Handler<T, App>, T: 'static>(self, rule: Rule, handler: H) -> Handled {
        self.on(MethodFilter::GET, "get", rule, handler)
    }

    /// The same route, which also does something.
    pub(crate) fn post<H: Handler<T, App>, T: 'static>(self, rule: Rule, handler: H) -> Handled {
        self.on(MethodFilter::POST, "post", rule, handler)
    }

    /// The same route, which can also be set.
    pub(crate) fn put<H: Handler<T, App>, T: 'static>(self, rule: Rule, handler: H) -> Handled {
        self.on(MethodFilter::PUT, "put", rule, handler)
    }

    /// The same route, which can also be deleted.
    pub(crate) fn delete<H: Handler<T, App>, T: 'static>(self, rule: Rule, handler: H) -> Handled {
        self.on(MethodFilter::DELETE, "delete", rule, handler)
    }

    fn on<H: Handler<T, App>, T: 'static>(
        self,
        filter: MethodFilter,
        method: &'static str,
        rule: Rule,
        handler: H,
    ) -> Handled {
        let router = self.router.on(filter, handler);
        Handled {
            route: Self { router, ..self },
            method,
            rule,
        }
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
}

impl Handled {
    /// The route, whose method is this operation.
    pub(crate) fn is(self, operation: Operation) -> Route {
        let Self {
            mut route,
            method,
            rule,
        } = self;
        route.operations.push((method, operation.complete(method, rule)));
        route
    }
}
