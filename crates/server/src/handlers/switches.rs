//! Kill switches: while one is on, nothing in its scope begins.

use axum::extract::State;
use sprag_core::action::Rate;
use sprag_core::ids::SwitchId;
use sprag_core::time::duration::Millis;
use sprag_engine::ScopeNames;
use sprag_engine::queue::control::{Held, Mode, ParseScopeError, REASON_CHARACTERS_MAX, Scope};
use sprag_engine::requests::{self, SwitchOff, SwitchOn};
use sprag_wire as wire;

use crate::access::rule::{OPERATOR, VIEWER};
use crate::app::App;
use crate::handlers::limits::RateFields;
use crate::handlers::reply::{Answer, created, ok, whole};
use crate::openapi::{Operation, Route, Shape, at};
use crate::request::body::{Body, Fields, FromFields};
use crate::request::etag::{IfMatch, tagged};
use crate::request::once::{Once, answered};
use crate::request::path::Id;
use crate::request::query::{Nothing, Query};

/// The group.
pub(crate) const RESOURCE: &str = "kill switches";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// An operation on one switch.
fn one(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary)
        .path("id", Shape::of::<SwitchId>(), "The switch's id.")
        .reads()
        .refuses([requests::Code::SwitchUnknown])
}

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/kill-switches")
            .get(VIEWER, list)
            .is(operation(
                "listSwitches",
                "List the kill switches that are on or being released, oldest first",
            )
            .answers::<wire::Page<wire::Switch>>(200, "The switches.")
            .reads())
            .post(OPERATOR, on)
            .is(on_operation()),
        at("/v1/kill-switches/{id}")
            .get(VIEWER, show)
            .is(one("showSwitch", "Show a kill switch")
                .answers::<wire::Switch>(200, "The switch.")
                .tagged()),
        at("/v1/kill-switches/{id}/held").get(VIEWER, held).is(one(
            "showHeld",
            "Show what a kill switch holds: actions that wait, and attempts that run in its scope",
        )
        .answers::<wire::HeldBySwitch>(200, "What the switch holds.")),
        at("/v1/kill-switches/{id}/release")
            .post(OPERATOR, release)
            .is(one("releaseSwitch", "Release a kill switch")
                .if_match()
                .body::<Off>()
                .answers::<wire::ReleasedSwitch>(200, "The released switch, and what it held.")
                .writes()
                .once()
                .audited()),
    ]
}

fn on_operation() -> Operation {
    operation("putSwitchOn", "Set a kill switch: no attempt in its scope starts")
        .body::<On>()
        .answers::<wire::Switch>(201, "The new switch.")
        .located()
        .tagged()
        .writes()
        .once()
        .audited()
        .refuses([
            requests::Code::MachineUnknown,
            requests::Code::NameInvalid,
            requests::Code::ScopeUnknown,
            requests::Code::SwitchesFull,
        ])
}

/// A switch to put on.
pub(crate) struct On {
    scope: Scope,
    mode: Mode,
    reason: String,
    lasts: Option<u64>,
    names: ScopeNames,
}

impl FromFields for On {
    type Shape = wire::SwitchRequest;

    fn read(fields: &mut Fields) -> Option<Self> {
        let scope = fields.required_text("scope").parse();
        let scope = scope.unwrap_or_else(|error: ParseScopeError| {
            fields.refuse("/scope", &error.to_string());
            Scope::All
        });
        let reason = fields.required_text("reason");
        if reason.trim().is_empty() || reason.chars().count() > REASON_CHARACTERS_MAX {
            let detail = format!(
                "a reason has from 1 to {REASON_CHARACTERS_MAX} characters; tell other operators why the switch is on"
            );
            fields.refuse("/reason", &detail);
        }
        Some(Self {
            scope,
            mode: mode(fields),
            reason,
            lasts: lasts(fields),
            names: match fields.flag("allowUnknown") {
                Some(true) => ScopeNames::Any,
                Some(false) | None => ScopeNames::Known,
            },
        })
    }
}

fn mode(fields: &mut Fields) -> Mode {
    let word = fields.word("mode", &["hold", "cancel"]);
    let mut modes = Mode::ALL.into_iter();
    modes.find(|mode| Some(mode.word()) == word).unwrap_or_default()
}

fn lasts(fields: &mut Fields) -> Option<u64> {
    let text = fields.text("expiresIn")?;
    match Millis::parse(&text) {
        Ok(lasts) if lasts.get() > 0 => Some(lasts.get()),
        Ok(_) => {
            fields.refuse(
                "/expiresIn",
                "must be longer than zero; omit it for a switch without an end",
            );
            None
        }
        Err(problem) => {
            fields.refuse("/expiresIn", &problem.to_string());
            None
        }
    }
}

/// `GET /v1/kill-switches`: those that are on, oldest first.
pub(crate) async fn list(State(app): State<App>, Query(Nothing): Query<Nothing>) -> Answer {
    Ok(whole(app.engine.operate().switches().await?))
}

/// `POST /v1/kill-switches`: once it is answered, no attempt in its scope begins.
pub(crate) async fn on(Query(Nothing): Query<Nothing>, once: Once, Body(body): Body<On>) -> Answer {
    let On {
        scope,
        mode,
        reason,
        lasts,
        names,
    } = body;
    let switch = SwitchOn {
        scope,
        mode,
        reason,
        by: once.asker.caller.principal.to_string(),
        lasts,
    };
    Ok(answered(
        once.engine.operate().switch_on(switch, names, &once.asker).await,
        |view| {
            let location = format!("/v1/kill-switches/{}", view.id);
            tagged(view.revision, created(location, &view))
        },
    ))
}

/// `GET /v1/kill-switches/{id}`
pub(crate) async fn show(State(app): State<App>, Id(id): Id<SwitchId>, Query(Nothing): Query<Nothing>) -> Answer {
    let view = app.engine.operate().switch(id).await?;
    Ok(tagged(view.revision, ok(&view)))
}

/// `GET /v1/kill-switches/{id}/held`
pub(crate) async fn held(State(app): State<App>, Id(id): Id<SwitchId>, Query(Nothing): Query<Nothing>) -> Answer {
    Ok(ok(&app.engine.operate().held(id).await?))
}

/// What becomes of what the switch held.
#[derive(Default)]
pub(crate) struct Off {
    held: Held,
    rate: Option<Rate>,
}

impl FromFields for Off {
    type Shape = wire::ReleaseRequest;

    fn read(fields: &mut Fields) -> Option<Self> {
        // The reason is the caller's, and goes to the audit.
        let reason = fields.text("reason").unwrap_or_default();
        if reason.chars().count() > REASON_CHARACTERS_MAX {
            let detail = format!("a reason has at most {REASON_CHARACTERS_MAX} characters");
            fields.refuse("/reason", &detail);
        }
        Some(Self {
            held: match fields.word("held", &["run", "skip"]) {
                Some("skip") => Held::Skip,
                _ => Held::Run,
            },
            rate: fields.within("rate").map(|RateFields(rate)| rate),
        })
    }
}

/// `POST /v1/kill-switches/{id}/release`
pub(crate) async fn release(
    Id(id): Id<SwitchId>,
    IfMatch(matches): IfMatch,
    Query(Nothing): Query<Nothing>,
    once: Once,
    Body(Off { held, rate }): Body<Off>,
) -> Answer {
    let off = SwitchOff {
        id,
        matches,
        held,
        rate,
    };
    let released = once.engine.operate().switch_off(off, &once.asker).await;
    Ok(answered(released, |view| ok(&view)))
}
