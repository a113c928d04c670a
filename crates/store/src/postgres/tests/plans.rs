//! What a lane asks, it finds by index: also right after the tables were made, when nobody has analysed them.

use std::sync::Arc;

use sprag_tests::Postgres;

use super::super::link::{Link, Role, Target};
use super::super::part::{Form, Text, statement};
use super::super::session::Session;
use super::super::{
    actions, executions, history, idempotency, inbox, lanes, letters, machines, plans, receipts, retention, timers,
};
use super::Database;
use crate::traits::Error;

/// Each statement with the indexes that it must use, and how.
const STATEMENTS: [(&str, &[&str]); 27] = [
    (executions::GET, &["execution_pkey"]),
    (executions::HOLDERS, &["execution_key"]),
    (actions::GET, &["action_pkey"]),
    (
        actions::OPEN_OF,
        &[
            "action_open",
            "(shard = wanted.shard) AND (status = ",
            "(execution = wanted.execution)",
        ],
    ),
    (actions::READY_AFTER, &["action_ready"]),
    (actions::READY_BELOW, &["action_ready"]),
    (actions::LINES, &["action_ready"]),
    (actions::DUE, &["action_due"]),
    (actions::RUNNING, &["action_open"]),
    (actions::OPEN, &["action_open"]),
    (timers::OF, &["timer_pkey"]),
    (timers::DUE, &["timer_due"]),
    (inbox::DEFERRED, &["inbox_pkey", "execution_pkey"]),
    (receipts::GET, &["receipt_pkey"]),
    (idempotency::FIRST_TO_EXPIRE, &["idempotency_expiry"]),
    (machines::NEWEST, &["machine_version_pkey"]),
    (machines::VERSIONS, &["machine_version_pkey"]),
    (machines::BY_DIGEST, &["machine_version_pkey"]),
    (plans::GET, &["plan_pkey"]),
    (plans::OPEN, &["plan_open"]),
    (plans::DUE, &["plan_due"]),
    (machines::NEWEST_FIRST, &["machine_version_pkey"]),
    (history::PAGE_BACK, &["history_pkey"]),
    (letters::GROUPS, &["action_dead_group"]),
    (executions::KEYS, &["execution_by_key"]),
    (timers::UNTIL, &["timer_due"]),
    (timers::SCHEDULES, &["timer_schedule"]),
];

/// Each part of a commit with its parameters beside rows, and the indexes that it must use.
const PARTS: [(Text, usize, &[&str]); 7] = [
    (lanes::FENCE, 5, &["shard_pkey", "lane_pkey"]),
    (executions::UPDATE, 1, &["execution_pkey"]),
    (actions::UPDATE, 1, &["action_pkey"]),
    (history::APPEND, 2, &["history_pkey"]),
    (timers::DELETE, 3, &["timer_pkey"]),
    (machines::EXPECT_NEWEST, 2, &["machine_version_pkey"]),
    (
        retention::DELETE,
        3,
        &[
            "execution_pkey",
            "plan_pkey",
            "machine_version_pkey",
            "history_pkey",
            "action_execution",
            "timer_pkey",
            "inbox_pkey",
            "receipt_pkey",
        ],
    ),
];

/// Those that keep the order of their index need no sorting, however long it is.
const IN_ORDER: [&str; 7] = [
    actions::READY_AFTER,
    actions::READY_BELOW,
    actions::DUE,
    timers::DUE,
    idempotency::FIRST_TO_EXPIRE,
    retention::AGED,
    plans::DUE,
];

/// More than any statement has.
const VALUES_MAX: usize = 100;

#[test]
fn every_question_of_a_lane_is_answered_by_an_index() {
    if !Postgres::is_installed() {
        return;
    }
    let database = Database::new();
    drop(database.store());
    let target = Target {
        config: database.options.address.config.clone(),
        tls: None,
        allows_unsafe: false,
    };
    let mut link = Link::new(Arc::new(target), Role::Lane).unwrap();
    let statements = STATEMENTS.map(|(sql, indexes)| (sql.to_owned(), indexes));
    // Alone, and all of them in one statement; for many rows, and for a single one.
    let parts = [false, true].into_iter().flat_map(|is_one| {
        let form = move |text: Text, rest: usize| Form {
            text,
            is_one,
            values: rest + text.rows.map_or(0, |table| table.values(is_one)),
        };
        let whole = statement(PARTS.map(|(text, rest, _)| form(text, rest)));
        PARTS
            .into_iter()
            .flat_map(move |(text, rest, indexes)| [(statement([form(text, rest)]), indexes), (whole.clone(), indexes)])
    });
    for (sql, indexes) in statements.into_iter().chain(parts) {
        let plan = link.ask(&async |session| plan(session, &sql).await).unwrap();
        assert!(!plan.contains("Seq Scan on"), "{sql}\n{plan}");
        for index in indexes {
            assert!(plan.contains(index), "{index}: {sql}\n{plan}");
        }
    }
    for sql in IN_ORDER {
        let plan = link.ask(&async |session| plan(session, sql).await).unwrap();
        assert!(!plan.contains("Sort"), "{sql}\n{plan}");
    }
}

/// How the server would run a statement that was prepared for any parameters.
async fn plan(session: &Session, sql: &str) -> Result<String, Error> {
    let values = (1..VALUES_MAX)
        .take_while(|number| sql.contains(&format!("${number}")))
        .count();
    let nulls = vec!["NULL"; values].join(", ");
    session.run(&format!("PREPARE looked_at AS {sql}")).await?;
    let rows = session
        .once(&format!("EXPLAIN (COSTS OFF) EXECUTE looked_at({nulls})"), &[])
        .await?;
    session.run("DEALLOCATE looked_at").await?;
    let lines: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    Ok(lines.join("\n"))
}
