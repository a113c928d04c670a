//! Bulk jobs: list, show, hold, end, and what became of each item.

use axum::extract::State;
use sprag_core::filter::{Condition, Field, Resource};
use sprag_core::ids::JobId;
use sprag_engine::requests::{self, CancelJob, PauseJob, ResumeJob};
use sprag_store::records::JobStatus;
use sprag_wire as wire;

use crate::access::rule::{OPERATOR, VIEWER};
use crate::app::App;
use crate::handlers::reply::{Answer, ok};
use crate::openapi::{Operation, Route, Shape, at};
use crate::request::body::NoFields;
use crate::request::once::{Change, answered};
use crate::request::path::Id;
use crate::request::query::{FromParams, Nothing, Page, Params, Query, Rows};

/// The group.
pub(crate) const RESOURCE: &str = "jobs";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// An operation on one job.
fn one(id: &'static str, summary: &'static str) -> Operation {
    operation(id, summary)
        .path("id", Shape::of::<JobId>(), "The job's id.")
        .reads()
        .refuses([requests::Code::JobUnknown])
}

fn shows(operation: Operation) -> Operation {
    operation.answers::<wire::Job>(200, "The job.")
}

/// What a person does to a job.
fn change(id: &'static str, summary: &'static str) -> Operation {
    shows(one(id, summary))
        .body::<NoFields>()
        .writes()
        .once()
        .audited()
        .refuses([requests::Code::StatusConflict])
}

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/jobs")
            .get(VIEWER, list)
            .is(operation("listJobs", "List jobs, newest first")
                .query("status", Shape::of::<wire::JobStatus>(), "Only with this status.")
                .filtered()
                .paged()
                .answers::<wire::Page<wire::Job>>(200, "The jobs.")
                .reads()),
        at("/v1/jobs/{id}")
            .get(VIEWER, show)
            .is(shows(one("showJob", "Show a job and its progress"))),
        at("/v1/jobs/{id}/items").get(VIEWER, items).is(one(
            "listJobItems",
            "List the items of a job with their results, in the order of work",
        )
        .paged()
        .answers::<wire::Page<wire::JobItem>>(200, "The items.")),
        at("/v1/jobs/{id}/pause")
            .post(OPERATOR, pause)
            .is(change("pauseJob", "Pause a job after its current step")),
        at("/v1/jobs/{id}/resume")
            .post(OPERATOR, resume)
            .is(change("resumeJob", "Resume a job")),
        at("/v1/jobs/{id}/cancel")
            .post(OPERATOR, cancel)
            .is(change("cancelJob", "Cancel a job; finished retries stay")),
    ]
}

pub(crate) struct ListParams {
    condition: Condition,
    page: Page,
}

impl FromParams for ListParams {
    const KNOWN: &'static [&'static str] = &["status", "filter", "limit", "cursor"];

    fn read(params: &mut Params) -> Self {
        let status = params.word("status", &JobStatus::ALL, JobStatus::word);
        let filter = params.filter(Resource::Jobs);
        let given = status.map(|status| Condition::number(Field::Status, status as u8));
        Self {
            condition: given.into_iter().fold(filter, Condition::and),
            page: params.page("jobs"),
        }
    }
}

/// `GET /v1/jobs`: newest first.
pub(crate) async fn list(State(app): State<App>, Query(params): Query<ListParams>) -> Answer {
    let ListParams { condition, page } = params;
    let (after, room, rows) = (page.after()?, app.flight.page().await?, Rows::default());
    let found = app
        .engine
        .read()
        .jobs(condition, after, page.limit(), rows.writer())
        .await?;
    Ok(page.answer(&rows, found.next, room))
}

/// `GET /v1/jobs/{id}`
pub(crate) async fn show(State(app): State<App>, Id(id): Id<JobId>, Query(Nothing): Query<Nothing>) -> Answer {
    Ok(ok(&app.engine.read().job(id).await?))
}

pub(crate) struct ItemsParams(Page);

impl FromParams for ItemsParams {
    const KNOWN: &'static [&'static str] = &["limit", "cursor"];

    fn read(params: &mut Params) -> Self {
        Self(params.page("job-items"))
    }
}

/// `GET /v1/jobs/{id}/items`: in the order of work.
pub(crate) async fn items(
    State(app): State<App>,
    Id(id): Id<JobId>,
    Query(ItemsParams(page)): Query<ItemsParams>,
) -> Answer {
    let after = page.after::<u64>()?.unwrap_or(0);
    let (room, rows) = (app.flight.page().await?, Rows::default());
    let found = app
        .engine
        .read()
        .job_items(id, after, page.limit(), rows.writer())
        .await?;
    Ok(page.answer(&rows, found.next, room))
}

/// `POST /v1/jobs/{id}/pause`
pub(crate) async fn pause(Change { id, once, .. }: Change<JobId>) -> Answer {
    Ok(answered(
        once.engine.operate().change_job(id, PauseJob(id), &once.asker).await,
        |view| ok(&view),
    ))
}

/// `POST /v1/jobs/{id}/resume`
pub(crate) async fn resume(Change { id, once, .. }: Change<JobId>) -> Answer {
    Ok(answered(
        once.engine.operate().change_job(id, ResumeJob(id), &once.asker).await,
        |view| ok(&view),
    ))
}

/// `POST /v1/jobs/{id}/cancel`
pub(crate) async fn cancel(Change { id, once, .. }: Change<JobId>) -> Answer {
    Ok(answered(
        once.engine.operate().change_job(id, CancelJob(id), &once.asker).await,
        |view| ok(&view),
    ))
}
