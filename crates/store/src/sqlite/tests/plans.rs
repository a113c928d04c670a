//! Every statement goes through the index that was made for it, so that no question grows slow with the table.

use rusqlite::types::Null;
use rusqlite::{Connection, params_from_iter};
use sprag_core::ids::{ActionId, ExecutionId};

use super::super::{
    actions, audit, catalog, counts, executions, facts, history, idempotency, inbox, letters, machines, plans,
    receipts, retention, shards, timers,
};
use super::File;
use crate::page::Page;
use crate::records::ExecutionStatus;
use crate::traits::{ActionQuery, ExecutionQuery};

const SOME_ID: [u8; 16] = [7; 16];

/// The steps of a statement's plan, as `SQLite` tells them.
fn plan(connection: &Connection, sql: &str) -> String {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let unbound = vec![Null; statement.parameter_count()];
    let steps = statement
        .query_map(params_from_iter(unbound), |row| row.get::<_, String>(3))
        .unwrap();
    steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
}

#[track_caller]
fn assert_plan(connection: &Connection, sql: &str, expected: &str) {
    let plan = plan(connection, sql);
    assert!(
        plan.contains(expected),
        "`{sql}` is planned as `{plan}`, not as `{expected}`"
    );
}

fn migrated() -> (File, Connection) {
    let file = File::new();
    drop(file.store());
    let connection = Connection::open(file.path()).unwrap();
    (file, connection)
}

#[test]
fn what_is_written_or_loaded_by_key_is_found_by_key() {
    let (_file, connection) = migrated();
    let by_key = [
        (executions::UPDATE, "(id=?)"),
        (executions::UPDATE_STAYING, "(id=?)"),
        (executions::GET, "(id=?)"),
        (executions::IS_RUNNING, "(id=?)"),
        (executions::HOLDER, "execution_key (machine=? AND key=?)"),
        (executions::DELETE_LARGE_VARIABLES, "(execution=?)"),
        (history::HAS, "PRIMARY KEY (execution=? AND sequence=?)"),
        (history::PAGE, "(execution=? AND sequence>?)"),
        (history::PAGE_BACK, "(execution=? AND sequence<?)"),
        (actions::UPDATE, "(id=?)"),
        (actions::GET, "(id=?)"),
        (timers::DELETE, "(execution=? AND visit=? AND timer_index=?)"),
        (timers::OF, "(execution=?)"),
        (inbox::DELETE, "(execution=? AND position=?)"),
        (inbox::OF, "(execution=?)"),
        (inbox::LENGTH, "(execution=?)"),
        (
            inbox::NEXT_EXECUTION,
            "COVERING INDEX sqlite_autoindex_inbox_1 (execution>?)",
        ),
        (receipts::GET, "(execution=? AND message=?)"),
        (receipts::DELETE, "(execution=? AND message=?)"),
        (idempotency::GET, "(scope=?)"),
        (idempotency::DELETE, "(scope=?)"),
        (idempotency::FIRST_TO_EXPIRE, "COVERING INDEX idempotency_expiry"),
        (machines::GET, "(machine=? AND version=?)"),
        (machines::NEWEST, "(machine=?)"),
        (machines::VERSIONS, "(machine=? AND version<?)"),
        (executions::KEYS, "execution_by_key (key>?)"),
        (letters::NEXT, "COVERING INDEX action_dead_group (fingerprint>?)"),
        (
            letters::GROUP,
            "COVERING INDEX action_dead_group (fingerprint=? AND died_at>?)",
        ),
        (
            timers::SCHEDULES,
            "timer_schedule ((due_at,execution,visit,timer_index)>(?,?,?,?) AND due_at<?)",
        ),
        (machines::WITH_DIGEST, "(machine=?)"),
        (shards::EPOCH, "INTEGER PRIMARY KEY (rowid=?)"),
        (facts::GET, "(kind=? AND key=?)"),
        (facts::DELETE, "(kind=? AND key=?)"),
        (facts::OF, "(kind=?)"),
        (catalog::GET, "(kind=? AND name=? AND version=?)"),
        (catalog::GET_NEWEST, "(kind=? AND name=?)"),
        (catalog::LIST, "(kind=? AND name>?)"),
        (plans::GET, "(id=?)"),
        (plans::WAITING, "plan_waiting ((urgency,id)>(?,?))"),
        (plans::OPEN, "plan_open (proposer=?)"),
        (
            plans::DUE,
            "COVERING INDEX plan_due ((decide_by,id)>(?,?) AND decide_by<?)",
        ),
        (retention::DELETE, "(id=?)"),
        (retention::AGED, "(id>? AND id<?)"),
        (retention::AGED, "action_execution (execution=?)"),
        (audit::LIST, "audit_at ((at,chain,sequence)<(?,?,?))"),
        (audit::CHAIN, "(chain=? AND sequence<?)"),
        (audit::HEADS, "(chain=?)"),
    ];
    for (sql, expected) in by_key {
        assert_plan(&connection, sql, expected);
    }
}

#[test]
fn what_belongs_to_an_execution_is_deleted_by_key() {
    let (_file, connection) = migrated();
    for sql in retention::DELETE_BELONGINGS {
        assert_plan(&connection, sql, "(execution=?)");
    }
    for sql in retention::DELETE_PLANS {
        assert_plan(&connection, sql, "(id=?)");
    }
    assert_plan(&connection, retention::DELETE_MACHINE, "(machine=?)");
    assert_plan(&connection, retention::DELETE_TAGS[0], "(tag=? AND execution=?)");
    assert_plan(&connection, retention::DELETE_TAGS[1], "(tag=? AND action=?)");
    assert_plan(&connection, retention::DELETE_TAGS[1], "action_execution (execution=?)");
}

#[test]
fn open_work_is_found_in_the_partial_indexes_alone() {
    let (_file, connection) = migrated();
    let partial = [
        (actions::OPEN_OF, "action_open (status=? AND execution=?)"),
        (
            actions::READY_AFTER,
            "COVERING INDEX action_ready (line=? AND priority=? AND (run_at,id)>(?,?))",
        ),
        (
            actions::READY_BELOW,
            "COVERING INDEX action_ready (line=? AND priority<?)",
        ),
        (actions::FIRST_LINE, "COVERING INDEX action_ready"),
        (actions::NEXT_LINE, "COVERING INDEX action_ready (line>?)"),
        (
            actions::DUE,
            "COVERING INDEX action_due ((run_at,id)>(?,?) AND run_at<?)",
        ),
        (actions::RUNNING, "action_open (status=?)"),
        (counts::OPEN_EXECUTIONS, "COVERING INDEX execution_open"),
        (counts::QUEUED_ACTIONS, "COVERING INDEX action_ready"),
        (counts::DEAD_LETTERS, "COVERING INDEX action_dead"),
        (
            actions::OPEN,
            "COVERING INDEX action_open (status=? AND (execution,id)>(?,?))",
        ),
        (
            timers::DUE,
            "timer_due ((due_at,execution,visit,timer_index)>(?,?,?,?) AND due_at<?)",
        ),
    ];
    for (sql, expected) in partial {
        assert_plan(&connection, sql, expected);
    }
    let sorted = |sql: &str| plan(&connection, sql).contains("TEMP B-TREE");
    assert!(
        partial
            .iter()
            .filter(|(sql, _)| sorted(sql))
            .all(|(sql, _)| [actions::OPEN_OF, actions::RUNNING].contains(sql))
    );
}

#[test]
fn lists_of_executions_are_read_newest_first_without_sorting() {
    let (_file, connection) = migrated();
    let machine = Some("order".to_owned());
    let status = Some(ExecutionStatus::Failed);
    let page = Page::new(Some(ExecutionId::from_bytes(SOME_ID)), 1);
    let queries = [
        (ExecutionQuery::default(), "INDEX sqlite_autoindex_execution_1"),
        (
            ExecutionQuery {
                page,
                ..ExecutionQuery::default()
            },
            "(id<?)",
        ),
        (
            ExecutionQuery {
                machine: machine.clone(),
                ..ExecutionQuery::default()
            },
            "execution_machine (machine=?)",
        ),
        (
            ExecutionQuery {
                machine,
                page,
                ..ExecutionQuery::default()
            },
            "execution_machine (machine=? AND id<?)",
        ),
        (
            ExecutionQuery {
                status,
                ..ExecutionQuery::default()
            },
            "execution_open (status=?)",
        ),
        (
            ExecutionQuery {
                status,
                page,
                ..ExecutionQuery::default()
            },
            "execution_open (status=? AND id<?)",
        ),
    ];
    for (query, expected) in queries {
        let sql = executions::filter(&query, query.page.after.is_some().then_some(&SOME_ID)).sql();
        assert_plan(&connection, &sql, expected);
        assert!(!plan(&connection, &sql).contains("TEMP B-TREE"), "{query:?}");
    }
}

#[test]
fn lists_of_actions_use_what_narrows_them_most() {
    let (_file, connection) = migrated();
    let execution = Some(ExecutionId::from_bytes(SOME_ID));
    let page = Page::new(Some(ActionId::from_bytes(SOME_ID)), 1);
    let queries = [
        (ActionQuery::default(), "INDEX sqlite_autoindex_action_1"),
        (
            ActionQuery {
                page,
                ..ActionQuery::default()
            },
            "(id<?)",
        ),
        (
            ActionQuery {
                execution,
                ..ActionQuery::default()
            },
            "action_execution (execution=?)",
        ),
        (
            ActionQuery {
                execution,
                page,
                ..ActionQuery::default()
            },
            "action_execution (execution=? AND id<?)",
        ),
        (
            ActionQuery {
                status: Some(0),
                ..ActionQuery::default()
            },
            "action_open (status=?)",
        ),
        (
            ActionQuery {
                status: Some(3),
                execution,
                ..ActionQuery::default()
            },
            "action_open (status=? AND execution=?)",
        ),
        (
            ActionQuery {
                status: Some(5),
                ..ActionQuery::default()
            },
            "INDEX action_dead",
        ),
        (
            ActionQuery {
                status: Some(5),
                page,
                ..ActionQuery::default()
            },
            "action_dead (id<?)",
        ),
    ];
    for (query, expected) in queries {
        let execution = query.execution.is_some().then_some(&SOME_ID);
        let before = query.page.after.is_some().then_some(&SOME_ID);
        assert_plan(&connection, &actions::filter(&query, execution, before).sql(), expected);
    }
}
