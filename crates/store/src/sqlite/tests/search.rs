//! Searches walk the index that narrows them most, in order, and stay quick among very many rows.

use std::time::{Duration, Instant};

use rusqlite::{Connection, params_from_iter};
use sprag_core::filter::{Resource, condition};

use super::super::search::{Bounds, SearchedTable, probe, statement, walks};
use super::super::{executions, jobs};
use super::File;
use crate::conformance::fixtures::{Opened, SUCCEEDED, action, execution, keyed};
use crate::page::Page;
use crate::records::{Action, Execution, ExecutionStatus};
use crate::traits::{Mutation, SCAN_MAX, Search};

fn migrated() -> (File, Connection) {
    let file = File::new();
    drop(file.store());
    let connection = Connection::open(file.path()).unwrap();
    (file, connection)
}

fn plan(connection: &Connection, sql: &str, values: Vec<rusqlite::types::Value>) -> String {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let steps = statement
        .query_map(params_from_iter(values), |row| row.get::<_, String>(3))
        .unwrap();
    steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
}

/// The plans of all walks that a filter allows, each with its probe's.
fn plans(connection: &Connection, table: SearchedTable, text: &str) -> Vec<(String, String)> {
    let resource = match table {
        SearchedTable::Execution => Resource::Executions,
        SearchedTable::Action => Resource::Actions,
    };
    let condition = condition(text, resource).unwrap();
    let bounds = Bounds::of(&condition, None).unwrap();
    let mut all = walks(table, &condition);
    all.push(super::super::search::Walk::whole(table));
    let plans = all.iter().map(|walk| {
        let (sql, values) = statement(table, walk, &condition, &bounds, SCAN_MAX);
        let (counting, counted) = probe(walk, &bounds, SCAN_MAX);
        (plan(connection, &sql, values), plan(connection, &counting, counted))
    });
    plans.collect()
}

/// Filters, each with the walk that narrows it most.
const WALKS: [(SearchedTable, &str, &str); 16] = [
    (
        SearchedTable::Execution,
        "version = 1",
        "sqlite_autoindex_execution_1 (id>? AND id<?)",
    ),
    (
        SearchedTable::Execution,
        "createdAt > \"2026-01-01\"",
        "sqlite_autoindex_execution_1 (id>? AND id<?)",
    ),
    (
        SearchedTable::Execution,
        "key = \"k\"",
        "execution_by_key (key=? AND id>? AND id<?)",
    ),
    (
        SearchedTable::Execution,
        "machine = \"m\"",
        "execution_machine (machine=? AND id>? AND id<?)",
    ),
    (
        SearchedTable::Execution,
        "status = \"paused\"",
        "execution_open (status=? AND id>? AND id<?)",
    ),
    (
        SearchedTable::Execution,
        "tag = \"t\"",
        "PRIMARY KEY (tag=? AND execution>? AND execution<?)",
    ),
    (
        SearchedTable::Action,
        "executionId = \"exe_00000000000000000000000000\"",
        "action_execution (execution=? AND id>? AND id<?)",
    ),
    (
        SearchedTable::Action,
        "errorType = \"timeout\"",
        "action_error (error_kind=? AND id>? AND id<?)",
    ),
    (
        SearchedTable::Action,
        "tag = \"t\"",
        "PRIMARY KEY (tag=? AND action>? AND action<?)",
    ),
    (
        SearchedTable::Execution,
        "status = \"cancelled\"",
        "execution_cancelled (id>? AND id<?)",
    ),
    (
        SearchedTable::Action,
        "actionId = \"a\"",
        "action_name (action_id=? AND id>? AND id<?)",
    ),
    (
        SearchedTable::Action,
        "status = \"dead\"",
        "action_dead (id>? AND id<?)",
    ),
    (
        SearchedTable::Action,
        "status = \"skipped\"",
        "action_over (status=? AND id>? AND id<?)",
    ),
    (
        SearchedTable::Action,
        "status = \"dead\" AND machine = \"m\"",
        "action_dead_machine (machine=? AND id>? AND id<?)",
    ),
    (
        SearchedTable::Action,
        "status = \"dead\" AND actionId = \"a\"",
        "action_dead_name (action_id=? AND id>? AND id<?)",
    ),
    (
        SearchedTable::Action,
        "status = \"dead\" AND fingerprint = \"00aa\"",
        "action_dead_fingerprint (fingerprint=? AND id>? AND id<?)",
    ),
];

#[test]
fn every_indexed_field_has_its_walk_in_order_by_id() {
    let (_file, connection) = migrated();
    for (table, text, wanted) in WALKS {
        let plans = plans(&connection, table, text);
        assert!(
            plans.iter().any(|(walk, _)| walk.contains(wanted)),
            "{text}: {plans:#?}"
        );
        for (walk, probe) in &plans {
            assert!(!walk.contains("TEMP B-TREE FOR ORDER"), "{text}: {walk}");
            assert!(probe.contains("SEARCH") || text.contains("version"), "{text}: {probe}");
        }
    }
}

#[test]
fn several_open_statuses_are_sorted_and_therefore_walked_only_when_they_are_few() {
    let (_file, connection) = migrated();
    for (table, text, index) in [
        (
            SearchedTable::Execution,
            "status IN (\"paused\", \"failed\")",
            "execution_open",
        ),
        (
            SearchedTable::Action,
            "status IN (\"queued\", \"retrying\")",
            "action_open",
        ),
        (SearchedTable::Action, "status = \"queued\"", "action_open"),
    ] {
        let plans = plans(&connection, table, text);
        assert!(plans[0].0.contains(index), "{plans:?}");
        assert!(plans[0].0.contains("TEMP B-TREE FOR ORDER"), "{plans:?}");
        assert!(plans[0].1.contains("COVERING INDEX"), "{plans:?}");
    }
}

#[test]
fn jobs_and_their_items_are_found_by_key() {
    let (_file, connection) = migrated();
    let nothing = |count: usize| vec![rusqlite::types::Value::Null; count];
    for (sql, count, expected) in [
        (jobs::GET, 1, "(id=?)"),
        (jobs::DELETE, 1, "(id=?)"),
        (jobs::LIST, 2, "(id<?)"),
        (jobs::ITEMS, 3, "(job=? AND number>?)"),
        (jobs::DELETE_ITEMS, 2, "(job=? AND number<?)"),
        (executions::PUT_TAG, 2, ""),
    ] {
        let plan = plan(&connection, sql, nothing(count));
        assert!(plan.contains(expected), "{sql}: {plan}");
    }
}

#[test]
fn texts_of_filters_never_become_part_of_a_statement() {
    let hostile = "x' OR '1'='1'; DROP TABLE execution; --";
    let text = format!("machine = \"{hostile}\" OR tag IN (\"{hostile}\") OR NOT key != \"{hostile}\"");
    let condition = condition(&text, Resource::Executions).unwrap();
    let bounds = Bounds::of(&condition, None).unwrap();
    let mut all = walks(SearchedTable::Execution, &condition);
    all.push(super::super::search::Walk::whole(SearchedTable::Execution));
    for walk in all {
        let (sql, values) = statement(SearchedTable::Execution, &walk, &condition, &bounds, SCAN_MAX);
        assert!(!sql.contains("DROP") && !sql.contains('\''), "{sql}");
        assert_eq!(sql.matches('?').count(), values.len(), "{sql}");
    }
}

#[test]
fn what_was_stored_before_there_were_searches_is_found_too() {
    let file = File::new();
    let old = Execution {
        tags: vec!["red".to_owned(), "red".to_owned(), "hot".to_owned()],
        ..keyed(1, "k")
    };
    let mut store = Opened::new(&file).unwrap();
    store.commit(&[Mutation::InsertExecution(old.clone())]).unwrap();
    drop(store);
    let connection = Connection::open(file.path()).unwrap();
    connection
        .execute_batch(
            "DROP TABLE execution_tag; DROP TABLE action_tag; DROP TABLE job; DROP TABLE job_item; \
             DROP INDEX execution_by_key; DROP INDEX action_error; DROP INDEX action_dead_machine; \
             DROP INDEX action_dead_name; DROP TABLE fact; DROP TABLE audit; DROP TABLE catalog_version; DROP TABLE plan; \
             DROP INDEX execution_cancelled; DROP INDEX action_over; DROP INDEX action_name; \
             DROP INDEX action_dead_fingerprint; DROP INDEX action_dead_group; DROP INDEX timer_schedule; \
             ALTER TABLE action DROP COLUMN fingerprint; \
             ALTER TABLE action DROP COLUMN died_at; DELETE FROM schema_migration WHERE version >= 3",
        )
        .unwrap();
    drop(connection);
    let store = Opened::new(&file).unwrap();
    for text in ["tag = \"hot\"", "tag = \"red\"", "key = \"k\""] {
        let found = store.reader.find_executions(&Search {
            condition: condition(text, Resource::Executions).unwrap(),
            page: Page::first(9),
            scan: SCAN_MAX,
        });
        assert_eq!(found.unwrap().rows, std::slice::from_ref(&old), "{text}");
    }
}

#[test]
fn tags_go_with_what_they_belong_to_and_with_nothing_else() {
    let file = File::new();
    let tags = vec!["red".to_owned(), "hot".to_owned()];
    let closed = |number| Execution {
        status: ExecutionStatus::Completed,
        tags: tags.clone(),
        ..execution(number)
    };
    let (gone, kept) = (closed(1), closed(2));
    let mut store = Opened::new(&file).unwrap();
    for execution in [&gone, &kept] {
        let action = Action {
            tags: tags.clone(),
            status: SUCCEEDED,
            ..action(execution, 10)
        };
        let rows = [
            Mutation::InsertExecution(execution.clone()),
            Mutation::InsertAction(action),
        ];
        store.commit(&rows).unwrap();
    }
    store.commit(&[Mutation::DeleteExecution(gone.id)]).unwrap();
    drop(store);
    let connection = Connection::open(file.path()).unwrap();
    for table in ["execution_tag", "action_tag"] {
        let sql = format!("SELECT count(*) FROM {table}");
        let left: usize = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
        assert_eq!(left, tags.len(), "{table}");
    }
}

/// Enough rows that a page which looked at all of them would be noticed.
const MANY: u64 = 60_000;
/// A page's time, with much room for a machine that is busy with something else.
const QUICK: Duration = Duration::from_millis(500);

#[test]
#[expect(clippy::disallowed_methods, reason = "how long a page takes is what is measured")]
fn a_page_among_very_many_closed_executions_is_quick_whatever_it_looks_for() {
    let file = File::new();
    let mut store = Opened::new(&file).unwrap();
    for chunk in 0..MANY / 5_000 {
        let one = |number: u64| Execution {
            status: if number.is_multiple_of(1_000) {
                ExecutionStatus::Cancelled
            } else {
                ExecutionStatus::Completed
            },
            machine: if number.is_multiple_of(2) {
                "order".to_owned()
            } else {
                "refund".to_owned()
            },
            ..execution(number)
        };
        let rows = (chunk * 5_000..(chunk + 1) * 5_000).map(|number| Mutation::InsertExecution(one(number)));
        store.commit(&rows.collect::<Vec<_>>()).unwrap();
    }
    for text in [
        "machine = \"order\" AND status = \"completed\"",
        "machine = \"order\" AND status = \"cancelled\"",
        "status = \"cancelled\" AND version != 1",
        "machine = \"nobody\"",
        "status = \"paused\"",
    ] {
        let mut search = Search {
            condition: condition(text, Resource::Executions).unwrap(),
            page: Page::first(100),
            scan: SCAN_MAX,
        };
        loop {
            let began = Instant::now();
            let found = store.reader.find_executions(&search).unwrap();
            assert!(began.elapsed() < QUICK, "{text}: {:?}", began.elapsed());
            println!("{text}: {} rows in {:?}", found.rows.len(), began.elapsed());
            let Some(next) = found.next.filter(|_| found.rows.len() < 100) else {
                break;
            };
            search.page.after = Some(next);
        }
    }
}
