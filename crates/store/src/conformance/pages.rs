//! Pages end at their bytes: at the same rows on every backend, and never without a row while there is one.

use sprag_core::filter::Condition;
use sprag_core::ids::JobId;

use super::Subject;
use super::fixtures::{Opened, action, at, entry, execution, inserts, version};
use crate::page::{PAGE_BYTES_MAX, Page, PageLimit, Paged, Weight};
use crate::records::{Action, Execution, HistoryEntry, Job, JobItem, JobResult, JobStatus, MachineVersion};
use crate::traits::{ActionQuery, Error, ExecutionQuery, Mutation, SCAN_MAX, Search};

/// Rows of a list.
const ROWS: u64 = 20;
/// Bytes of a row: a page holds thirteen of them.
const LARGE: usize = 310_000;

fn large(fill: u8, bytes: usize) -> Vec<u8> {
    vec![fill; bytes]
}

/// Reads a list page by page. Every page is full: its rows fit, and the next row would not have.
fn all_full<T: Weight, C>(
    bytes: usize,
    mut read: impl FnMut(&Page<C>) -> Result<Paged<T, C>, Error>,
) -> Result<Vec<T>, Error> {
    let weight = |rows: &[T]| rows.iter().map(Weight::bytes).sum::<usize>();
    let (mut all, mut before, mut after): (Vec<T>, usize, _) = (Vec::new(), 0, None);
    loop {
        let limit = PageLimit { rows: 1_000, bytes };
        let Paged { rows, next } = read(&Page::new(after, limit))?;
        let Some(first) = rows.first() else {
            panic!("a page that is announced has rows");
        };
        assert!(
            rows.len() == 1 || weight(&rows) <= bytes,
            "a page holds at most its bytes"
        );
        assert!(
            before == 0 || before + first.bytes() > bytes,
            "a page that ends has no room"
        );
        before = weight(&rows);
        all.extend(rows);
        match next {
            Some(next) => after = Some(next),
            None => return Ok(all),
        }
    }
}

/// Executions with large variables, newest first.
fn executions(store: &mut Opened) -> Result<Vec<Execution>, Error> {
    let mut executions = Vec::new();
    for number in 1..=ROWS {
        let one = Execution {
            variables: large(b'v', LARGE),
            ..execution(number)
        };
        store.commit(&inserts(&[&one]))?;
        executions.push(one);
    }
    executions.reverse();
    Ok(executions)
}

pub(super) fn a_page_ends_at_its_bytes(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let expected = executions(&mut store)?;
    let first = store.reader.executions(&ExecutionQuery::default())?;
    assert_eq!(first.rows.len(), PAGE_BYTES_MAX / (LARGE + 100), "the first page");
    let found = all_full(PAGE_BYTES_MAX, |page| {
        store.reader.executions(&ExecutionQuery {
            page: *page,
            ..ExecutionQuery::default()
        })
    })?;
    assert_eq!(found, expected);
    let owner = &expected[0];
    let mut actions: Vec<Action> = (1..=ROWS)
        .map(|number| Action {
            body: large(b'a', LARGE),
            ..action(owner, number)
        })
        .collect();
    for one in &actions {
        store.commit(&[Mutation::InsertAction(one.clone())])?;
    }
    actions.reverse();
    for bytes in [PAGE_BYTES_MAX, 1_000_000, 1] {
        let found = all_full(bytes, |page| {
            store.reader.actions(&ActionQuery {
                page: *page,
                ..ActionQuery::default()
            })
        })?;
        assert_eq!(found, actions, "{bytes}");
    }
    Ok(())
}

pub(super) fn a_search_ends_at_its_bytes(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let expected = executions(&mut store)?;
    for bytes in [PAGE_BYTES_MAX, 1_000_000, 1] {
        let found = all_full(bytes, |page| {
            let found = store.reader.find_executions(&Search {
                condition: Condition::EVERYTHING,
                page: *page,
                scan: SCAN_MAX,
            })?;
            let last = found.rows.last().map(|last| last.id);
            assert_eq!(found.next, found.next.and(last), "it continues after its last row");
            Ok(found)
        })?;
        assert_eq!(found, expected, "{bytes}");
    }
    Ok(())
}

pub(super) fn a_row_larger_than_a_page_is_a_page_of_its_own(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let huge = |number| Execution {
        variables: large(b'v', PAGE_BYTES_MAX + 1),
        ..execution(number)
    };
    let expected = [execution(3), huge(2), execution(1)];
    store.commit(&inserts(&expected.iter().collect::<Vec<_>>()))?;
    let mut after = None;
    for (one, left) in expected.iter().zip([2, 1, 0]) {
        let only = Paged {
            rows: vec![one.clone()],
            next: (left > 0).then_some(one.id),
        };
        let page = Page::new(after, 10);
        let query = ExecutionQuery {
            page,
            ..ExecutionQuery::default()
        };
        assert_eq!(store.reader.executions(&query)?, only);
        let search = Search {
            condition: Condition::EVERYTHING,
            page,
            scan: SCAN_MAX,
        };
        assert_eq!(store.reader.find_executions(&search)?, only);
        after = Some(one.id);
    }
    Ok(())
}

pub(super) fn pages_of_history_items_jobs_and_machines_end_at_their_bytes(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let owner = execution(1);
    let entries: Vec<HistoryEntry> = (1..=ROWS)
        .map(|sequence| HistoryEntry {
            body: large(b'h', 1_000),
            ..entry(&owner, sequence)
        })
        .collect();
    let job = |number: u64| Job {
        id: JobId::compose(at(number), sprag_core::ids::Slot(0), number),
        kind: "retryDeadLetters".to_owned(),
        status: JobStatus::Running,
        created_at: at(number),
        updated_at: at(number),
        body: large(b'j', LARGE),
    };
    let jobs: Vec<Job> = (1..=ROWS).rev().map(job).collect();
    let items: Vec<JobItem> = (1..=ROWS)
        .map(|number| JobItem {
            job: jobs[0].id,
            number,
            action: action(&owner, number).id,
            result: JobResult::Failed,
            detail: Some("d".repeat(LARGE)),
        })
        .collect();
    let machines: Vec<MachineVersion> = (10..10 + ROWS)
        .map(|number| MachineVersion {
            definition: large(b'm', LARGE),
            ..version(&format!("machine-{number}"), 2)
        })
        .collect();
    let older = machines.iter().map(|newest| version(&newest.machine, 1));
    let mut mutations = inserts(&[&owner]);
    mutations.extend(entries.iter().cloned().map(Mutation::AppendHistory));
    mutations.extend(jobs.iter().cloned().map(Mutation::PutJob));
    mutations.extend(items.iter().cloned().map(Mutation::InsertJobItem));
    mutations.extend(older.chain(machines.clone()).map(Mutation::InsertMachineVersion));
    store.commit(&mutations)?;
    for bytes in [PAGE_BYTES_MAX, 5_000, 1] {
        let found = all_full(bytes, |page| store.reader.history(owner.id, page))?;
        assert_eq!(found, entries, "{bytes}");
        let found = all_full(bytes, |page| store.reader.jobs(page))?;
        assert_eq!(found, jobs, "{bytes}");
        let found = all_full(bytes, |page| store.reader.job_items(jobs[0].id, page))?;
        assert_eq!(found, items, "{bytes}");
        let found = all_full(bytes, |page| store.reader.machines(page))?;
        assert_eq!(found, machines, "{bytes}");
    }
    let after = Some("machine-10".to_owned());
    assert_eq!(store.reader.machines(&Page::new(after, 2))?.rows, machines[1..3]);
    Ok(())
}
