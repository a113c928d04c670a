//! Jobs and searches by condition, as the lane and the readers see them.

use sprag_core::filter::{Condition, Field, Resource, condition};
use sprag_core::ids::{JobId, scatter};

use super::fixtures::{DEAD, Opened, SHARD, action, at, execution, inserts, keyed};
use super::{Check, Subject, checks};
use crate::page::{Page, Paged};
use crate::records::{Action, Execution, ExecutionStatus, Job, JobItem, JobResult, JobStatus};
use crate::traits::{Error, Mutation, SCAN_MAX, Search};

/// What jobs and lists rely on.
pub const JOBS: &[Check] = checks![
    jobs_are_put_and_listed_newest_first,
    open_jobs_and_those_beyond_the_kept_ones_are_found,
    items_are_read_in_pages_and_deleted_up_to_a_number,
    an_item_is_inserted_once,
    a_refused_commit_brings_deleted_items_back,
    searches_find_what_meets_the_condition_page_by_page,
    a_search_looks_at_a_bounded_number_of_rows_a_page,
    tags_are_found_by_any_of_them_and_never_change,
];

fn job(number: u64, status: JobStatus) -> Job {
    Job {
        id: JobId::compose(at(number), sprag_core::ids::Slot(0), scatter(number)),
        kind: "retryDeadLetters".to_owned(),
        status,
        created_at: at(number),
        updated_at: at(number),
        body: format!("{{\"job\":{number}}}").into_bytes(),
    }
}

fn item(job: &Job, number: u64, result: JobResult) -> JobItem {
    JobItem {
        job: job.id,
        number,
        action: action(&execution(1), number).id,
        result,
        detail: (result != JobResult::Done).then(|| format!("because {number}")),
    }
}

fn jobs_are_put_and_listed_newest_first(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let mut jobs: Vec<Job> = (1..=9).map(|number| job(number, JobStatus::Running)).collect();
    store.commit(&jobs.iter().cloned().map(Mutation::PutJob).collect::<Vec<_>>())?;
    jobs[4].status = JobStatus::Cancelled;
    jobs[4].updated_at = at(99);
    jobs[4].body = b"changed".to_vec();
    store.commit(&[Mutation::PutJob(jobs[4].clone())])?;
    jobs.reverse();
    assert_eq!(store.reader.jobs(&Page::first(100))?.rows, jobs);
    assert_eq!(store.reader.jobs(&Page::first(2))?.rows, jobs[..2]);
    assert_eq!(store.reader.jobs(&Page::new(Some(jobs[2].id), 3))?.rows, jobs[3..6]);
    assert_eq!(store.reader.job(jobs[4].id)?, Some(jobs[4].clone()));
    store.commit(&[Mutation::DeleteJob(jobs[4].id)])?;
    assert_eq!(store.reader.job(jobs[4].id)?, None);
    Ok(())
}

fn open_jobs_and_those_beyond_the_kept_ones_are_found(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let jobs: Vec<Job> = (1..=12)
        .zip(JobStatus::ALL.into_iter().cycle())
        .map(|(number, status)| job(number, status))
        .collect();
    store.commit(&jobs.iter().cloned().map(Mutation::PutJob).collect::<Vec<_>>())?;
    let open: Vec<Job> = jobs.iter().filter(|job| job.status.is_open()).cloned().collect();
    assert_eq!(store.lane.open_jobs(SHARD)?, open);
    let over: Vec<&Job> = jobs.iter().rev().filter(|job| !job.status.is_open()).collect();
    assert_eq!(store.lane.job_beyond(SHARD, 0)?.as_ref(), Some(over[0]));
    assert_eq!(store.lane.job_beyond(SHARD, 5)?.as_ref(), Some(over[5]));
    assert_eq!(store.lane.job_beyond(SHARD, 6)?, None);
    Ok(())
}

fn items_are_read_in_pages_and_deleted_up_to_a_number(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (one, other) = (job(1, JobStatus::Running), job(2, JobStatus::Running));
    let items: Vec<JobItem> = (1..=30)
        .zip(JobResult::ALL.into_iter().cycle())
        .map(|(number, result)| item(&one, number, result))
        .collect();
    let mut mutations: Vec<Mutation> = items.iter().cloned().map(Mutation::InsertJobItem).collect();
    mutations.push(Mutation::InsertJobItem(item(&other, 1, JobResult::Done)));
    store.commit(&mutations)?;
    assert_eq!(store.reader.job_items(one.id, &Page::first(100))?.rows, items);
    assert_eq!(
        store.reader.job_items(one.id, &Page::new(Some(10), 5))?.rows,
        items[10..15]
    );
    store.commit(&[Mutation::DeleteJobItems { job: one.id, up_to: 20 }])?;
    assert_eq!(store.reader.job_items(one.id, &Page::first(100))?.rows, items[20..]);
    assert_eq!(store.reader.job_items(other.id, &Page::first(100))?.rows.len(), 1);
    Ok(())
}

fn an_item_is_inserted_once(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let one = item(&job(1, JobStatus::Running), 1, JobResult::Failed);
    store.commit(&[Mutation::InsertJobItem(one.clone())])?;
    store.refuse(&[Mutation::InsertJobItem(one.clone())]);
    let nul = JobItem {
        number: 2,
        detail: Some("a\0b".to_owned()),
        ..one
    };
    store.refuse(&[Mutation::InsertJobItem(nul)]);
    Ok(())
}

fn a_refused_commit_brings_deleted_items_back(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let one = job(1, JobStatus::Completed);
    let items: Vec<JobItem> = (1..=5).map(|number| item(&one, number, JobResult::Done)).collect();
    let mut mutations = vec![Mutation::PutJob(one.clone())];
    mutations.extend(items.iter().cloned().map(Mutation::InsertJobItem));
    store.commit(&mutations)?;
    store.refuse(&[
        Mutation::DeleteJobItems { job: one.id, up_to: 5 },
        Mutation::DeleteJob(one.id),
        Mutation::InsertJobItem(items[0].clone()),
        Mutation::InsertJobItem(items[0].clone()),
    ]);
    assert_eq!(store.reader.job_items(one.id, &Page::first(100))?.rows, items);
    assert_eq!(store.reader.job(one.id)?, Some(one));
    Ok(())
}

/// Executions of two machines in all statuses, with an action each, some dead.
fn filled(store: &mut Opened) -> Result<(Vec<Execution>, Vec<Action>), Error> {
    let (mut executions, mut actions) = (Vec::new(), Vec::new());
    for (number, status) in (1..=60_u64).zip(ExecutionStatus::ALL.into_iter().cycle()) {
        let machine = if number % 3 == 0 { "refund" } else { "order" };
        let tags = (0..number % 3).map(|tag| format!("tag{tag}")).collect();
        let one = Execution {
            machine: machine.to_owned(),
            status,
            tags,
            ..keyed(number, &format!("k{number}"))
        };
        let mut send = action(&one, 1_000 + number);
        send.status = if number % 4 == 0 { DEAD } else { 4 };
        send.error_kind = (number % 8 == 0).then(|| "timeout".to_owned());
        send.tags.clone_from(&one.tags);
        executions.push(one);
        actions.push(send);
    }
    let mut mutations = inserts(&executions.iter().collect::<Vec<_>>());
    mutations.extend(actions.iter().cloned().map(Mutation::InsertAction));
    store.commit(&mutations)?;
    executions.reverse();
    actions.reverse();
    Ok((executions, actions))
}

/// All that a condition finds, page by page, and how many pages that took.
fn all<T, I: Copy>(
    condition: &Condition,
    (limit, scan): (usize, usize),
    mut find: impl FnMut(&Search<I>) -> Result<Paged<T, I>, Error>,
) -> Result<(Vec<T>, usize), Error> {
    let mut search = Search {
        condition: condition.clone(),
        page: Page::first(limit),
        scan,
    };
    let (mut rows, mut pages) = (Vec::new(), 0);
    loop {
        let found = find(&search)?;
        assert!(found.rows.len() <= limit, "a page holds no more than it may");
        rows.extend(found.rows);
        pages += 1;
        assert!(pages <= 200, "the pages come to an end");
        match found.next {
            Some(next) => search.page.after = Some(next),
            None => return Ok((rows, pages)),
        }
    }
}

fn searches_find_what_meets_the_condition_page_by_page(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (executions, actions) = filled(&mut store)?;
    let created = at(30);
    let filters = [
        "status = \"completed\"".to_owned(),
        "status IN (\"running\", \"paused\") AND machine = \"order\"".to_owned(),
        "machine = \"order\" AND status = \"completed\"".to_owned(),
        "key = \"k7\" OR tag = \"tag1\"".to_owned(),
        "tag = \"tag1\" AND NOT status = \"failed\"".to_owned(),
        format!("createdAt >= \"{created}\" AND createdAt < \"{}\"", at(40)),
        "version > 1".to_owned(),
        "key = \"' OR 1=1; DROP TABLE execution; --\"".to_owned(),
    ];
    for text in filters {
        let condition = parse(&text, Resource::Executions);
        let expected: Vec<Execution> = executions.iter().filter(|row| condition.holds(*row)).cloned().collect();
        for page in [(1, 3), (7, SCAN_MAX), (100, 5), (100, SCAN_MAX)] {
            let (found, _) = all(&condition, page, |search| store.reader.find_executions(search))?;
            assert_eq!(found, expected, "{text}, {page:?}");
        }
    }
    let filters = [
        "status = \"dead\"",
        "status = \"dead\" AND machine = \"refund\"",
        "status = \"dead\" AND actionId = \"send\" AND errorType = \"timeout\"",
        "errorType != \"timeout\" AND tag = \"tag0\"",
        "priority >= 50 AND type = \"webhook\"",
    ];
    for text in filters {
        let condition = parse(text, Resource::Actions);
        let expected: Vec<Action> = actions.iter().filter(|row| condition.holds(*row)).cloned().collect();
        assert!(!expected.is_empty(), "{text}");
        for page in [(1, 3), (7, SCAN_MAX), (100, 5)] {
            let (found, _) = all(&condition, page, |search| store.reader.find_actions(search))?;
            assert_eq!(found, expected, "{text}, {page:?}");
            let (found, _) = all(&condition, page, |search| store.lane.find_actions(search))?;
            assert_eq!(found, expected, "{text}, {page:?}");
        }
    }
    Ok(())
}

fn parse(text: &str, resource: Resource) -> Condition {
    condition(text, resource).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn a_search_looks_at_a_bounded_number_of_rows_a_page(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (executions, _) = filled(&mut store)?;
    let nothing = parse("version = 999", Resource::Executions);
    let (found, pages) = all(&nothing, (10, 20), |search| store.reader.find_executions(search))?;
    assert_eq!(
        (found.len(), pages),
        (0, 4),
        "three pages of twenty rows, and one that finds the end"
    );
    let everything = Search {
        condition: Condition::EVERYTHING,
        page: Page::first(60),
        scan: SCAN_MAX,
    };
    let found = store.reader.find_executions(&everything)?;
    assert_eq!((found.rows, found.next), (executions, None), "a full last page says so");
    let none = store.reader.find_executions(&Search {
        page: Page::first(0),
        ..everything
    })?;
    assert_eq!((none.rows.len(), none.next), (0, None));
    Ok(())
}

fn tags_are_found_by_any_of_them_and_never_change(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let tags = ["red", "red", "", "\"quoted\" [1]", "' --"].map(str::to_owned).to_vec();
    let one = Execution {
        tags: tags.clone(),
        ..execution(1)
    };
    store.commit(&inserts(&[&one, &execution(2)]))?;
    for tag in tags {
        let condition = Condition::text(Field::Tag, tag.clone());
        let (found, _) = all(&condition, (10, 10), |search| store.reader.find_executions(search))?;
        assert_eq!(found, std::slice::from_ref(&one), "{tag}");
    }
    store.refuse(&[Mutation::UpdateExecution {
        execution: Execution {
            tags: Vec::new(),
            ..one.clone()
        },
        variables: crate::traits::Variables::Unchanged,
    }]);
    Ok(())
}
