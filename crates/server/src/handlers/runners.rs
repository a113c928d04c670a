//! Programs outside this process: they ask for work, say that they are alive, and say how it ended.

use axum::extract::{Extension, State};
use serde_json::json;
use sprag_core::access::ScopeKind;
use sprag_core::action::{ActionError, Done, Failure, Outcome};
use sprag_core::ids::AttemptId;
use sprag_core::text::check_key;
use sprag_engine::leases::{LEASE_SECONDS_DEFAULT, LEASE_SECONDS_MAX, LEASED_MAX, NAMES_MAX, Poll, Wants};
use sprag_engine::requests::{self, Refusal};
use sprag_wire as wire;

use crate::access::rule::RUNNER;
use crate::access::scope::{Asker, Target};
use crate::app::App;
use crate::handlers::reply::{Answer, ok};
use crate::nodes::polls::{self, PassedOn};
use crate::openapi::{ONCE, Operation, Route, Shape, at, text};
use crate::problem::Problem;
use crate::request::body::{Body, Fields, FromFields};
use crate::request::once::answered;
use crate::request::path::Id;
use crate::request::query::{Nothing, Query, WAIT_MAX};

/// The group.
pub(crate) const RESOURCE: &str = "runners";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// What a program says of its attempt.
fn of_attempt(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary)
        .path("id", Shape::of::<AttemptId>(), "The id of the leased attempt.")
        .writes()
        .refuses([
            requests::Code::AttemptUnknown,
            requests::Code::AttemptSuperseded,
            requests::Code::SecretUnavailable,
            requests::Code::VariablesTooLarge,
        ])
}

/// How a program ends its attempt.
fn ends(id: &'static str, summary: &'static str) -> Operation {
    of_attempt(id, summary)
        .header(
            ONCE,
            text(),
            "Not needed, and ignored: an attempt ends once. If you send the same request within a day, you get the first \
             answer.",
        )
        .answers::<wire::Finished>(200, "The outcome of the attempt.")
}

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/runners/lease").post(RUNNER, lease).is(operation("leaseAttempts", "Lease attempts for an external runner")
        .body::<Asks>()
        .header(
            ONCE,
            text(),
            "Accepted and ignored: a repeat gets other attempts. If you lose an answer, its attempts end when their \
         leases expire.",
        )
        .answers::<wire::Leased>(200, "The leased attempts; empty if there is no work.")
        .writes()).about(Target::Handler),
        at("/v1/attempts/{id}/heartbeat").post(RUNNER, heartbeat).is(of_attempt("heartbeatAttempt", "Extend the lease of an attempt")
        .body::<wire::HeartbeatRequest>()
        .header(ONCE, text(), "Accepted and ignored: you can send a heartbeat again.")
        .answers::<wire::Heartbeat>(200, "The new end of the lease.")).about(Target::Handler),
        at("/v1/attempts/{id}/complete").post(RUNNER, complete).is(ends("completeAttempt", "Report that an attempt is done").body::<wire::CompleteRequest>()).about(Target::Handler),
        at("/v1/attempts/{id}/fail").post(RUNNER, fail).is(ends("failAttempt", "Report that an attempt failed").body::<Failed>()).about(Target::Handler),
    ]
}

/// The longest type of an error, in bytes.
pub(crate) const ERROR_TYPE_BYTES_MAX: usize = 64;

/// What a program asks for.
pub(crate) struct Asks(Poll);

impl FromFields for Asks {
    type Shape = wire::LeaseRequest;

    fn read(fields: &mut Fields) -> Option<Self> {
        let runner = fields.text("runner");
        let runner = runner.filter(|runner| name(fields, "/runner", runner));
        let kinds = names(fields, "types");
        if kinds.is_empty() {
            fields.refuse(
                "/types",
                "`types` is missing: name at least one type that the program serves",
            );
        }
        let most = u64::try_from(LEASED_MAX).unwrap_or(u64::MAX);
        let max = fields.whole("max", 1, most).unwrap_or(1);
        let seconds = fields
            .whole("leaseSeconds", 1, LEASE_SECONDS_MAX)
            .unwrap_or(LEASE_SECONDS_DEFAULT);
        let wait = fields.millis("wait", 0).unwrap_or(0);
        let longest = u64::try_from(WAIT_MAX.as_millis()).unwrap_or(u64::MAX);
        Some(Self(Poll {
            wants: Wants {
                runner,
                kinds,
                tags: names(fields, "tags"),
            },
            max: usize::try_from(max).unwrap_or(LEASED_MAX),
            wait_millis: wait.min(longest),
            lease_millis: seconds * 1_000,
        }))
    }
}

/// A list of names.
fn names(fields: &mut Fields, field: &'static str) -> Vec<String> {
    let mut names = fields.texts(field);
    if names.len() > NAMES_MAX {
        let detail = format!("{} names are too many: at most {NAMES_MAX}", names.len());
        fields.refuse(&format!("/{field}"), &detail);
        names.truncate(NAMES_MAX);
    }
    for (position, text) in names.iter().enumerate() {
        name(fields, &format!("/{field}/{position}"), text);
    }
    names
}

fn name(fields: &mut Fields, pointer: &str, text: &str) -> bool {
    match check_key(text) {
        Ok(()) => true,
        Err(problem) => {
            fields.refuse(pointer, &format!("the name {problem}"));
            false
        }
    }
}

/// Leases carry rendered secrets, so a program gets only what its token covers.
fn covers_poll(caller: &Asker, poll: &Poll) -> Result<(), Problem> {
    for kind in &poll.wants.kinds {
        caller.covers(ScopeKind::Type, kind)?;
    }
    caller.covers(ScopeKind::Runner, poll.wants.runner.as_deref().unwrap_or_default())
}

/// `POST /v1/runners/lease`: work as soon as there is some, or none when the time is up.
pub(crate) async fn lease(
    State(app): State<App>,
    passed_on: Option<Extension<PassedOn>>,
    caller: Asker,
    Query(Nothing): Query<Nothing>,
    Body(Asks(poll)): Body<Asks>,
) -> Answer {
    covers_poll(&caller, &poll)?;
    let leased = async {
        match passed_on {
            Some(Extension(PassedOn)) => polls::ours(&app, poll).await,
            None => polls::lease(&app, poll).await,
        }
    };
    let attempts = tokio::select! {
        biased;
        leased = leased => leased?,
        () = app.closed() => {
            let detail = "the server is stopping; try again in a moment";
            return Err(Refusal::new(requests::Code::ShuttingDown, detail).into());
        }
    };
    Ok(ok(&json!({ "attempts": attempts })))
}

/// `POST /v1/attempts/{id}/heartbeat`
pub(crate) async fn heartbeat(
    State(app): State<App>,
    caller: Asker,
    Id(id): Id<AttemptId>,
    Query(Nothing): Query<Nothing>,
    Body(wire::HeartbeatRequest { checkpoint }): Body<wire::HeartbeatRequest>,
) -> Answer {
    caller.covers_attempt(&app, id).await?;
    Ok(ok(&app.engine.leases().heartbeat(id, checkpoint).await?))
}

/// `POST /v1/attempts/{id}/complete`
pub(crate) async fn complete(
    State(app): State<App>,
    caller: Asker,
    Id(id): Id<AttemptId>,
    Query(Nothing): Query<Nothing>,
    Body(body): Body<wire::CompleteRequest>,
) -> Answer {
    caller.covers_attempt(&app, id).await?;
    let wire::CompleteRequest {
        result,
        cost_estimate,
        metadata,
    } = body;
    let done = Done {
        result: result.unwrap_or_default(),
        event: None,
        cost: cost_estimate,
        metadata: metadata.unwrap_or_default(),
    };
    let asked = app.engine.leases().finish(id, Outcome::Done(done)).await;
    Ok(answered(asked, |finished| ok(&finished)))
}

/// Why the attempt did not succeed.
struct Why {
    error: ActionError,
    /// No other attempt can ever help.
    hopeless: bool,
}

impl FromFields for Why {
    type Shape = wire::ReportedError;

    fn read(fields: &mut Fields) -> Option<Self> {
        let kind = fields.required_text("type");
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if !kind.is_empty() && (kind.len() > ERROR_TYPE_BYTES_MAX || !kind.chars().all(is_word)) {
            let detail = format!(
                "a type has up to {ERROR_TYPE_BYTES_MAX} letters, digits, `_`, `-` and `.`, such as `rate_limit`"
            );
            fields.refuse("/type", &detail);
        }
        Some(Self {
            error: ActionError {
                kind,
                message: fields.text("message").unwrap_or_default(),
                retryable: false,
                code: fields.text("code"),
                details: fields.value("details"),
            },
            hopeless: fields.flag("retryable") == Some(false),
        })
    }
}

/// That it did not succeed.
pub(crate) struct Failed(Outcome);

impl FromFields for Failed {
    type Shape = wire::FailRequest;

    fn read(fields: &mut Fields) -> Option<Self> {
        let why = fields.inside("error");
        let (retry_after, outcome) = (
            fields.millis("retryAfter", 0),
            fields.word("outcome", &["notDone", "unknown"]),
        );
        let Why { error, hopeless } = why?;
        let failure = Failure {
            error,
            retry_after,
            hopeless,
        };
        Some(Self(match outcome {
            Some("notDone") => Outcome::NotDone(failure),
            _ => Outcome::Unknown(failure),
        }))
    }
}

/// `POST /v1/attempts/{id}/fail`
pub(crate) async fn fail(
    State(app): State<App>,
    caller: Asker,
    Id(id): Id<AttemptId>,
    Query(Nothing): Query<Nothing>,
    Body(Failed(outcome)): Body<Failed>,
) -> Answer {
    caller.covers_attempt(&app, id).await?;
    let asked = app.engine.leases().finish(id, outcome).await;
    Ok(answered(asked, |finished| ok(&finished)))
}
