//! Which servers and databases are taken, and by how many at once.

use sprag_tests::Postgres;

use super::super::{Address, Intake, OpenError, SHARDS, migrations};
use super::{Database, open, options};
use crate::records::{Fact, FactKind};
use crate::sqlite;
use crate::traits::Readers;

#[test]
fn steps_have_the_numbers_and_names_of_the_files() {
    let known: Vec<(u32, &str)> = migrations::MIGRATIONS
        .iter()
        .map(|known| (known.version, known.name))
        .collect();
    assert_eq!(known, sqlite::migrations::known());
}

#[test]
fn many_nodes_may_open_an_empty_database_at_once() {
    if !Postgres::is_installed() {
        return;
    }
    let database = Database::with_shards(SHARDS);
    std::thread::scope(|scope| {
        let nodes: Vec<_> = (0..6)
            .map(|node| {
                // Each would like another number: the first one's counts.
                let options = options_with(&database, SHARDS + node);
                scope.spawn(move || open(&options).map(|store| store.shards))
            })
            .collect();
        let shards: Vec<u32> = nodes.into_iter().map(|node| node.join().unwrap().unwrap()).collect();
        assert!(shards.iter().all(|found| *found == shards[0]), "{shards:?}");
        assert!((SHARDS..SHARDS + 6).contains(&shards[0]), "{shards:?}");
    });
}

fn options_with(database: &Database, shards: u32) -> super::Options {
    super::Options {
        shards,
        ..database.options.clone()
    }
}

#[test]
fn a_database_of_another_program_is_refused_and_left_alone() {
    if !Postgres::is_installed() {
        return;
    }
    let cluster = Postgres::shared();
    let url = cluster.database();
    let name = url.rsplit('/').next().unwrap();
    cluster.sql(name, "CREATE TABLE customers (id integer)");
    let refused = open(&options(&url, 1)).err().unwrap();
    assert!(matches!(refused, OpenError::ForeignDatabase { .. }), "{refused}");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(cluster.sql(name, tables), "1");

    let newer = Database::new();
    drop(newer.store());
    let name = newer.options.address.to_string();
    let name = name.rsplit('/').next().unwrap();
    cluster.sql(name, "INSERT INTO schema_migration VALUES (99, 'later')");
    let refused = open(&newer.options).err().unwrap();
    assert!(
        matches!(refused, OpenError::NewerDatabase { found: 99, .. }),
        "{refused}"
    );
}

#[test]
fn a_server_that_may_lose_what_it_confirmed_is_refused_unless_that_is_waived() {
    if !Postgres::is_installed() {
        return;
    }
    let cluster = Postgres::start_with("-c fsync=off");
    let url = cluster.database();
    let refused = open(&options(&url, 1)).err().unwrap();
    assert_eq!(refused.code(), "database-unsafe");
    assert!(refused.to_string().contains("`fsync=off`"), "{refused}");
    open(&options(&format!("{url}?unsafe=allow"), 1)).unwrap();

    let cluster = Postgres::shared();
    let url = cluster.database();
    let name = url.rsplit('/').next().unwrap();
    cluster.sql(
        "postgres",
        &format!("ALTER DATABASE {name} SET synchronous_commit = off"),
    );
    let refused = open(&options(&url, 1)).err().unwrap();
    assert!(refused.to_string().contains("`synchronous_commit=off`"), "{refused}");
    open(&options(&format!("{url}?unsafe=allow"), 1)).unwrap();
}

#[test]
fn what_cannot_be_reached_or_hold_every_text_is_refused_with_a_remedy() {
    if !Postgres::is_installed() {
        return;
    }
    let refused = open(&options("postgres://sprag@127.0.0.1:1/x", 1)).err().unwrap();
    assert_eq!(refused.code(), "database-unreachable");
    let cluster = Postgres::shared();
    cluster.sql(
        "postgres",
        "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0",
    );
    let refused = open(&options(&cluster.url("latin"), 1)).err().unwrap();
    assert_eq!(refused.code(), "database-unsuitable");
    assert!(refused.to_string().contains("ENCODING 'UTF8'"), "{refused}");
    let nobody = cluster.url("postgres").replace("sprag@", "nobody@");
    let refused = open(&options(&nobody, 1)).err().unwrap();
    assert!(
        refused.to_string().contains("role \"nobody\" does not exist"),
        "{refused}"
    );
    assert!(refused.to_string().contains("`createuser nobody`"), "{refused}");
    let missing = open(&options(&cluster.url("nowhere"), 1)).err().unwrap();
    assert!(missing.to_string().contains("`createdb -O sprag nowhere`"), "{missing}");
    let none = open(&options(&cluster.url("postgres"), 0)).err().unwrap();
    assert_eq!(none.code(), "shards-invalid");
}

#[test]
fn a_backup_is_left_to_the_tools_of_the_server() {
    if !Postgres::is_installed() {
        return;
    }
    let store = Database::new().store();
    let mark = Fact {
        kind: FactKind::Restored,
        key: "backup".to_owned(),
        body: Vec::new(),
    };
    let refused = store.readers.snapshot(&mark).err().unwrap();
    assert!(refused.to_string().contains("pg_dump"), "{refused}");
}

#[test]
fn a_user_that_may_not_create_tables_is_told_what_would_let_it() {
    if !Postgres::is_installed() {
        return;
    }
    let (cluster, database) = (Postgres::shared(), Database::new());
    let name = database.name();
    cluster.sql(
        &name,
        "CREATE ROLE guest LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC",
    );
    let guest = cluster.url(&name).replace("sprag@", "guest@");
    let refused = open(&options(&guest, 1)).err().unwrap();
    assert_eq!(refused.code(), "database-rights");
    for remedy in [
        format!("`createdb -O guest {name}`"),
        format!("ALTER DATABASE \"{name}\" OWNER TO \"guest\""),
    ] {
        assert!(refused.to_string().contains(&remedy), "{refused}");
    }
    let moved = Intake::open(&guest.parse::<Address>().unwrap(), 1, b"a file")
        .err()
        .unwrap();
    assert_eq!(moved.code(), "database-rights");
}
