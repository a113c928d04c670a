//! Dead letters: actions that wait for a person.

use axum::extract::State;
use serde_json::Value;
use sprag_core::action::Status;
use sprag_core::document::patch;
use sprag_core::filter::{Comparison, Condition, Constant, Field, Relation, Resource};
use sprag_core::ids::ActionId;
use sprag_core::time::Timestamp;
use sprag_core::time::duration::Millis;
use sprag_engine::jobs::{ArchiveAll, CANARY_MAX, RATE_MAX, RetryAll};
use sprag_engine::requests::{self, Archive, RetryDead};
use sprag_wire as wire;

use super::jobs;
use crate::access::rule::{OPERATOR, VIEWER};
use crate::access::scope::Target;
use crate::app::App;
use crate::handlers::reply::{Answer, accepted, ok};
use crate::openapi::{Operation, Route, Shape, at, text};
use crate::problem::{Code, Problem};
use crate::request::body::{Body, Fields, FromFields, NoFields};
use crate::request::once::{Change, Once, answered};
use crate::request::path::Id;
use crate::request::query::{FromParams, Nothing, Page, Params, Query, Rows};

/// The group.
pub(crate) const RESOURCE: &str = "dead letters";

/// An operation on one dead letter.
fn one(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
        .path("id", Shape::of::<ActionId>(), "The action's id.")
        .reads()
        .answers::<wire::Action>(200, "The action.")
        .refuses([requests::Code::ActionUnknown])
}

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/dead-letters").get(VIEWER, list).is(list_operation()),
        at("/v1/dead-letters/groups").get(VIEWER, groups).is(Operation::new(
            RESOURCE,
            "groupDeadLetters",
            "Group dead letters by cause: the groups that grow most first",
        )
        .query("machine", text(), "Only of this machine.")
        .query("actionId", text(), "Only of actions with this `actionId`.")
        .query("error", text(), "Only with this type of error.")
        .paged()
        .answers::<wire::DeadLetterGroups>(200, "The groups, each counted up to 10,000.")
        .reads()),
        at("/v1/dead-letters/retry")
            .post(OPERATOR, retry_all)
            .is(retry_all_operation()),
        at("/v1/dead-letters/archive")
            .post(OPERATOR, archive_all)
            .is(Operation::new(
                jobs::RESOURCE,
                "archiveDeadLetters",
                "Archive all dead letters that match a filter, in a job",
            )
            .body::<wire::ArchiveAllRequest>()
            .answers::<wire::Job>(202, "The new job.")
            .located()
            .answers::<wire::DryRun>(200, "With `dryRun`: what the job would do.")
            .writes()
            .once()
            .audited()
            .refuses([
                requests::Code::FilterInvalid,
                requests::Code::NameInvalid,
                requests::Code::JobsFull,
            ])),
        at("/v1/dead-letters/{id}").get(VIEWER, show).is(Operation::new(
            RESOURCE,
            "showDeadLetter",
            "Show the case file: cause, request, similar failures, and suggested fix",
        )
        .path("id", Shape::of::<ActionId>(), "The action's id.")
        .reads()
        .answers::<wire::CaseFile>(200, "The case file.")
        .refuses([requests::Code::ActionUnknown])
        .refuses([Code::DeadLetterUnknown])),
        at("/v1/dead-letters/{id}/retry")
            .post(OPERATOR, retry)
            .is(retry_operation())
            .about(Target::Action),
        at("/v1/dead-letters/{id}/archive")
            .post(OPERATOR, archive)
            .is(one("archiveDeadLetter", "Archive a dead letter")
                .body::<NoFields>()
                .writes()
                .once()
                .audited()
                .refuses([requests::Code::StatusConflict]))
            .about(Target::Action),
    ]
}

fn list_operation() -> Operation {
    Operation::new(RESOURCE, "listDeadLetters", "List dead letters, newest first")
        .query("type", text(), "Only of this type.")
        .query("machine", text(), "Only of this machine.")
        .query("error", text(), "Only with this type of last error.")
        .query("tag", text(), "Only with this tag.")
        .query("fingerprint", text(), "Only with this fingerprint.")
        .query(
            "olderThan",
            Shape::of::<wire::Duration>(),
            "Only if dead for longer than this.",
        )
        .query(
            "newerThan",
            Shape::of::<wire::Duration>(),
            "Only if dead for less than this.",
        )
        .filtered()
        .paged()
        .answers::<wire::Page<wire::Action>>(200, "The dead letters.")
        .reads()
}

fn retry_all_operation() -> Operation {
    Operation::new(
        jobs::RESOURCE,
        "retryDeadLetters",
        "Retry all dead letters that match a filter, in a job",
    )
    .body::<Bulk>()
    .answers::<wire::Job>(202, "The new job.")
    .located()
    .answers::<wire::DryRun>(200, "With `dryRun`: what the job would do.")
    .writes()
    .once()
    .audited()
    .refuses([
        requests::Code::FilterInvalid,
        requests::Code::NameInvalid,
        requests::Code::JobsFull,
    ])
}

fn retry_operation() -> Operation {
    one(
        "retryDeadLetter",
        "Retry a dead letter: unchanged, with another configuration, with a patch, or on another version",
    )
    .body::<Retry>()
    .writes()
    .once()
    .audited()
    .refuses([
        requests::Code::StatusConflict,
        requests::Code::VersionUnknown,
        requests::Code::EditInvalid,
    ])
}

pub(crate) struct ListParams {
    condition: Condition,
    older: Option<Millis>,
    newer: Option<Millis>,
    page: Page,
}

impl FromParams for ListParams {
    const KNOWN: &'static [&'static str] = &[
        "type",
        "machine",
        "error",
        "tag",
        "fingerprint",
        "olderThan",
        "newerThan",
        "filter",
        "limit",
        "cursor",
    ];

    fn read(params: &mut Params) -> Self {
        let given = [
            Some(Condition::number(Field::Status, Status::Dead.number())),
            params.condition("type", Field::Type),
            params.condition("machine", Field::Machine),
            params.condition("error", Field::ErrorType),
            params.condition("tag", Field::Tag),
            params.condition("fingerprint", Field::Fingerprint),
        ];
        let filter = params.filter(Resource::DeadLetters);
        Self {
            condition: given.into_iter().flatten().fold(filter, Condition::and),
            older: params.duration("olderThan"),
            newer: params.duration("newerThan"),
            page: params.page("dead-letters"),
        }
    }
}

/// `GET /v1/dead-letters`: newest first.
pub(crate) async fn list(State(app): State<App>, Query(params): Query<ListParams>) -> Answer {
    let ListParams {
        condition,
        older,
        newer,
        page,
    } = params;
    let now = app.engine.now();
    let ages = [
        older.map(|age| died(Relation::Less, now, age)),
        newer.map(|age| died(Relation::GreaterOrEqual, now, age)),
    ];
    let condition = ages.into_iter().flatten().fold(condition, Condition::and);
    let (after, room, rows) = (page.after()?, app.flight.page().await?, Rows::default());
    let found = app
        .engine
        .read()
        .find_actions(condition, after, page.limit(), rows.writer())
        .await?;
    Ok(page.answer(&rows, found.next, room))
}

pub(crate) struct GroupsParams {
    machine: Option<String>,
    action_id: Option<String>,
    error: Option<String>,
    page: Page,
}

impl FromParams for GroupsParams {
    const KNOWN: &'static [&'static str] = &["machine", "actionId", "error", "limit", "cursor"];

    fn read(params: &mut Params) -> Self {
        Self {
            machine: params.text("machine"),
            action_id: params.text("actionId"),
            error: params.text("error"),
            page: params.page("dead-letter-groups"),
        }
    }
}

impl GroupsParams {
    fn means(&self, group: &wire::DeadLetterGroup) -> bool {
        let error = group.error.as_ref().map(|error| &error.kind);
        let is = |wanted: &Option<String>, found: Option<&String>| wanted.is_none() || wanted.as_ref() == found;
        is(&self.machine, Some(&group.machine)) && is(&self.action_id, Some(&group.action_id)) && is(&self.error, error)
    }
}

/// `GET /v1/dead-letters/groups`: by cause.
pub(crate) async fn groups(State(app): State<App>, Query(params): Query<GroupsParams>) -> Answer {
    let found = app.engine.look_up().letter_groups().await?;
    let meant = found.groups.iter().filter(|group| params.means(group));
    let part = params.page.limited_part(meant.cloned().collect())?;
    Ok(ok(&wire::DeadLetterGroups {
        data: part.data,
        next_cursor: part.next_cursor,
        more: found.more,
    }))
}

/// Before or after an instant that long ago.
fn died(relation: Relation, now: Timestamp, age: Millis) -> Condition {
    Condition::Is(Comparison {
        field: Field::DiedAt,
        relation,
        constants: vec![Constant::Number(now.as_millis().saturating_sub_unsigned(age.get()))],
    })
}

/// `GET /v1/dead-letters/{id}`: the case file.
pub(crate) async fn show(State(app): State<App>, Id(id): Id<ActionId>, Query(Nothing): Query<Nothing>) -> Answer {
    let file = app.engine.read().case_file(id).await?;
    let status = &file.action.status;
    if *status != wire::ActionStatus::Dead {
        let detail = format!("action `{id}` is {status}, not a dead letter; read it as an action");
        return Err(Problem::new(Code::DeadLetterUnknown, detail));
    }
    Ok(ok(&file))
}

/// What another attempt is made with.
pub(crate) struct Retry(wire::RetryRequest);

impl FromFields for Retry {
    type Shape = wire::RetryRequest;

    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self(wire::RetryRequest {
            config: fields.object("config"),
            version: fields.version("version"),
            patch: Some(patch_of(fields)),
        }))
    }
}

/// The operations of a JSON Patch.
fn patch_of(fields: &mut Fields) -> Vec<patch::Operation> {
    let mut operations = Vec::new();
    for (position, value) in fields.list("patch").into_iter().enumerate() {
        match serde_json::from_value(value) {
            Ok(operation) => operations.push(operation),
            Err(error) => fields.refuse(&format!("/patch/{position}"), &error.to_string()),
        }
    }
    operations
}

/// `POST /v1/dead-letters/{id}/retry`: as it is, changed, or on another version.
pub(crate) async fn retry(Change { id, once, body }: Change<ActionId, Retry>) -> Answer {
    let Retry(wire::RetryRequest { config, version, patch }) = body;
    let retry = RetryDead {
        action: id,
        config: config.map(Value::Object),
        version,
        patch: patch.unwrap_or_default(),
    };
    Ok(answered(once.ask(retry).await, |view| ok(&view)))
}

/// A bulk retry, or only what it would do.
pub(crate) struct Bulk {
    retry: RetryAll,
    dry_run: bool,
}

impl FromFields for Bulk {
    type Shape = wire::RetryAllRequest;

    fn read(fields: &mut Fields) -> Option<Self> {
        let retry = RetryAll {
            filter: fields.required_text("filter"),
            config: fields.object("config").map(Value::Object),
            version: fields.version("version"),
            patch: patch_of(fields),
            reason: fields.text("reason"),
            rate: fields.whole("rate", 1, RATE_MAX),
            canary: fields.whole("canary", 1, CANARY_MAX),
            expected: None,
        };
        Some(Self {
            retry,
            dry_run: fields.flag("dryRun").unwrap_or(false),
        })
    }
}

/// `POST /v1/dead-letters/retry`: makes a job that tries all again that meet a filter, or says what it would do.
pub(crate) async fn retry_all(
    State(app): State<App>,
    Query(Nothing): Query<Nothing>,
    once: Once,
    Body(Bulk { mut retry, dry_run }): Body<Bulk>,
) -> Answer {
    if dry_run {
        return Ok(ok(&app.engine.read().dry_run(retry.filter).await?));
    }
    retry.expected = Some(app.engine.read().expect_letters(&retry.filter).await?);
    Ok(answered(once.ask(retry).await, |view| {
        accepted(format!("/v1/jobs/{}", view.id), &view)
    }))
}

/// `POST /v1/dead-letters/archive`: makes a job that archives all that meet a filter, or says what it would do.
pub(crate) async fn archive_all(
    State(app): State<App>,
    Query(Nothing): Query<Nothing>,
    once: Once,
    Body(body): Body<wire::ArchiveAllRequest>,
) -> Answer {
    let wire::ArchiveAllRequest {
        filter,
        reason,
        rate,
        canary,
        dry_run,
    } = body;
    let read = app.engine.read();
    if dry_run == Some(true) {
        return Ok(ok(&read.dry_run(filter).await?));
    }
    let archive = ArchiveAll {
        expected: Some(read.expect_letters(&filter).await?),
        filter,
        reason: Some(reason),
        rate,
        canary,
    };
    Ok(answered(once.ask(archive).await, |view| {
        accepted(format!("/v1/jobs/{}", view.id), &view)
    }))
}

/// `POST /v1/dead-letters/{id}/archive`
pub(crate) async fn archive(Change { id, once, .. }: Change<ActionId>) -> Answer {
    Ok(answered(once.ask(Archive(id)).await, |view| ok(&view)))
}
