//! How many requests of each class run at once.
//!
//! A class that is full refuses with 503 and `Retry-After`; it takes nothing from the others. So programs that wait for work,
//! streams, readers of lists and `?wait` never lock out ordinary requests, and nothing locks out health checks and
//! operators. A request takes its permit once its body is whole, and holds it until its answer is made. Bodies that
//! still arrive are bounded by [`crate::listen::arrivals`], bytes of answers that wait to be written by [`crate::listen::flight`].
//!
//! The classes together are smaller than the number of connections: [`crate::listen::seats`] relies on it.

use axum::extract::Request;
use axum::http::Method;
use sprag_engine::requests::{self, Refusal};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::listen::arrivals::ARRIVING_MAX;
use crate::problem::Problem;
use crate::request::query::is_given;

/// Health checks.
const HEALTH_MAX: usize = 64;
/// Requests of operators.
const OPERATORS_MAX: usize = 128;
/// Pages of lists, those included that wait for their turn to read.
const LISTS_MAX: usize = 256;
/// Requests with `?wait`.
const WAITS_MAX: usize = 512;
/// Programs that ask for work; the engine lets slightly fewer wait.
const POLLS_MAX: usize = 2_048;
/// Everything else.
const ORDINARY_MAX: usize = 1_536;

/// All of them, and the bodies that arrive. Streams have a bound of their own.
pub(crate) const ALL_MAX: usize =
    HEALTH_MAX + OPERATORS_MAX + LISTS_MAX + WAITS_MAX + POLLS_MAX + ORDINARY_MAX + ARRIVING_MAX;

/// What a request is, as far as its bounds are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// A health check.
    Health,
    /// Metrics, and what operators need when everything else is full.
    Operator,
    /// A page of a list.
    List,
    /// A request that waits for an execution to close.
    Wait,
    /// A program that asks for work.
    Poll,
    /// A live stream.
    Stream,
    /// A read of one thing.
    Read,
    /// Everything else.
    Write,
}

impl Class {
    /// The class of a request, by its method and path.
    pub(crate) fn of(request: &Request) -> Self {
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        Self::at(is_read, request.uri().path(), request.uri().query())
    }

    fn at(is_read: bool, path: &str, query: Option<&str>) -> Self {
        let Some(path) = path.strip_prefix("/v1/") else {
            let is_health = matches!(path, "/healthz" | "/readyz");
            return if is_health { Self::Health } else { Self::Operator };
        };
        let (resource, rest) = path.split_once('/').unwrap_or((path, ""));
        let waits = || is_given(query, "wait");
        match resource {
            "stream" => Self::Stream,
            "executions" if is_read && rest.ends_with("/stream") => Self::Stream,
            "executions" if waits() => Self::Wait,
            "runners" => Self::Poll,
            "executions" | "actions" | "dead-letters" | "jobs" | "machines" if is_read && rest.is_empty() => Self::List,
            "executions" if is_read && rest.ends_with("/history") => Self::List,
            "jobs" if is_read && rest.ends_with("/items") => Self::List,
            // Large, and so counted like other reads.
            "workers" if is_read && rest.ends_with("/logs") => Self::Read,
            "system" | "kill-switches" | "limits" | "jobs" | "workers" => Self::Operator,
            _ if is_read => Self::Read,
            _ => Self::Write,
        }
    }
}

/// The permits of every class.
pub(crate) struct Admission {
    health: Semaphore,
    operators: Semaphore,
    lists: Semaphore,
    waits: Semaphore,
    polls: Semaphore,
    ordinary: Semaphore,
}

impl Default for Admission {
    fn default() -> Self {
        Self {
            health: Semaphore::new(HEALTH_MAX),
            operators: Semaphore::new(OPERATORS_MAX),
            lists: Semaphore::new(LISTS_MAX),
            waits: Semaphore::new(WAITS_MAX),
            polls: Semaphore::new(POLLS_MAX),
            ordinary: Semaphore::new(ORDINARY_MAX),
        }
    }
}

impl Admission {
    /// A permit for a request, or why there is none. Streams need none here.
    pub(crate) fn enter(&self, class: Class) -> Result<Option<SemaphorePermit<'_>>, Problem> {
        let (permits, most, what) = match class {
            Class::Stream => return Ok(None),
            Class::Health => (&self.health, HEALTH_MAX, "health checks"),
            Class::Operator => (&self.operators, OPERATORS_MAX, "requests of operators"),
            Class::List => (&self.lists, LISTS_MAX, "requests for lists"),
            Class::Wait => (&self.waits, WAITS_MAX, "requests with `wait`"),
            Class::Poll => (&self.polls, POLLS_MAX, "requests for work"),
            Class::Read | Class::Write => (&self.ordinary, ORDINARY_MAX, "requests"),
        };
        match permits.try_acquire() {
            Ok(permit) => Ok(Some(permit)),
            Err(_) => Err(overloaded(format!(
                "{most} {what} are already in progress; try again in a moment"
            ))),
        }
    }
}

/// The refusal of a request for which there is no room now.
pub(crate) fn overloaded(detail: String) -> Problem {
    Refusal::new(requests::Code::Overloaded, detail).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_request_has_its_class() {
        let get = |path, query| Class::at(true, path, query);
        let post = |path, query| Class::at(false, path, query);
        assert_eq!(get("/healthz", None), Class::Health);
        assert_eq!(get("/readyz", None), Class::Health);
        for path in [
            "/metrics",
            "/",
            "/v1/system",
            "/v1/workers",
            "/v1/limits/a",
            "/v1/jobs/x",
        ] {
            assert_eq!(get(path, None), Class::Operator, "{path}");
        }
        for path in [
            "/v1/kill-switches",
            "/v1/kill-switches/x/release",
            "/v1/jobs/x/pause",
            "/v1/system/backup",
        ] {
            assert_eq!(post(path, None), Class::Operator, "{path}");
        }
        for path in [
            "/v1/executions",
            "/v1/actions",
            "/v1/dead-letters",
            "/v1/jobs",
            "/v1/machines",
        ] {
            assert_eq!(get(path, Some("limit=1000")), Class::List, "{path}");
        }
        assert_eq!(get("/v1/executions/x/history", None), Class::List);
        assert_eq!(get("/v1/jobs/x/items", None), Class::List);
        assert_eq!(get("/v1/executions/x", Some("wait=30s")), Class::Wait);
        assert_eq!(post("/v1/executions", Some("wait=30s")), Class::Wait);
        assert_eq!(get("/v1/executions/x", Some("a=b&%77ai%74=30s")), Class::Wait);
        assert_eq!(get("/v1/executions/x", Some("waits=30s&a=wait=")), Class::Read);
        assert_eq!(post("/v1/runners/lease", None), Class::Poll);
        assert_eq!(get("/v1/stream", None), Class::Stream);
        assert_eq!(get("/v1/executions/x/stream", None), Class::Stream);
        assert_eq!(get("/v1/executions/x", None), Class::Read);
        assert_eq!(get("/v1/workers/a/logs", None), Class::Read);
        assert_eq!(post("/v1/executions", None), Class::Write);
        assert_eq!(post("/v1/attempts/x/heartbeat", None), Class::Write);
    }

    #[test]
    fn a_full_class_refuses_and_leaves_the_others_alone() {
        let admission = Admission::default();
        let held: Vec<_> = (0..POLLS_MAX).map(|_| admission.enter(Class::Poll).unwrap()).collect();
        assert!(admission.enter(Class::Poll).is_err());
        for class in [
            Class::Health,
            Class::Operator,
            Class::List,
            Class::Wait,
            Class::Read,
            Class::Write,
            Class::Stream,
        ] {
            assert!(admission.enter(class).is_ok(), "{class:?}");
        }
        drop(held);
        assert!(admission.enter(Class::Poll).is_ok());
    }
}
