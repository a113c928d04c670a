//! `sprag restore`: puts a backup in the place of a server's store, while the server is stopped.
//!
//! The restored database is held before any process can open it: a switch over everything is in it when it takes its place.
//! A `PostgreSQL` database is restored by its own tools: `--mark` holds it in the same way.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;
use sprag_core::clock::{Clock as _, System};
use sprag_core::time::Timestamp;
use sprag_engine::read::restored::{self, Hold};
use sprag_store::sqlite::{Existing, Restore, RestoreError, restore};
use sprag_store::{LaneStore, postgres};
use sprag_wire::{RestoreReport, RestoredEffect};

use super::up::store;
use crate::config::{ConfigFile, Environment, Given, Settings, StoreAddress};
use crate::failure::{Exit, Failure};
use crate::output::{self, Output, Table};

/// Who holds a restored database.
const WHO: &str = "restore";
/// Effects that are printed; all of them are in the store and in `--output json`.
const PRINTED_MAX: usize = 50;

const EXAMPLES: &str = "\
Examples:
  sprag restore sprag-2026-11-15.db --store sqlite:./sprag.db
  sprag restore --mark --store postgres://sprag@localhost/sprag";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The backup file
    #[arg(required_unless_present = "mark")]
    file: Option<PathBuf>,
    /// Mark a store that other tools have restored:{n}stop all effects, revoke tokens and approvals
    #[arg(long, conflicts_with_all = ["file", "force"])]
    mark: bool,
    /// Target: sqlite:PATH, with --mark also postgres:…{n}[default: the store of `sprag up`]
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    #[command(flatten)]
    config: ConfigFile,
    /// Replace an existing database
    #[arg(long)]
    force: bool,
}

/// Restores the backup and says which effects may repeat.
pub(crate) fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        file,
        mark: _,
        store,
        config,
        force,
    } = arguments;
    let given = Given {
        config: config.path(),
        store: store.as_deref(),
        ..Given::default()
    };
    let settings = Settings::load(&given, &Environment::process())?;
    let report = match file {
        Some(file) => {
            let existing = if *force { Existing::Replace } else { Existing::Refuse };
            restored_from(file, &settings, existing)?
        }
        None => marked(&settings)?,
    };
    let mut document = serde_json::to_value(&report)?;
    document["store"] = json!(settings.store.to_string());
    output.show(&document, text)?;
    if output == Output::Text {
        output::note(&format!(
            "the kill switch {} stops all effects; check the list, run `sprag up`, then: sprag switch off {}",
            report.switch, report.switch
        ));
        output::note(
            "no token and no approval of the backup counts; with `[auth]`, `sprag up` prints a new admin token",
        );
    }
    Ok(Exit::Done)
}

/// Puts the backup in the place of the store.
fn restored_from(file: &Path, settings: &Settings, existing: Existing) -> anyhow::Result<RestoreReport> {
    let store = &settings.store;
    let path = store.file().ok_or_else(|| not_a_file(store))?;
    let restored = restore(&Restore {
        from: file,
        to: path,
        existing,
    });
    let mut restoring = restored.map_err(|error| not_restored(&error))?;
    let report = match restoring.lane() {
        Some(lane) => held(lane, 1, settings)?,
        None => return Err(Failure::new("the copy of the backup no longer exists; run the command again").into()),
    };
    restoring.finish().map_err(|error| not_restored(&error))?;
    Ok(report)
}

/// Holds a store that is in its place already.
fn marked(settings: &Settings) -> anyhow::Result<RestoreReport> {
    let address = &settings.store;
    if let Some(path) = address.file().filter(|path| !path.exists()) {
        let detail = format!("there is no database at `{}`; check the file name", path.display());
        return Err(Failure::invalid(detail).code("backup-missing").into());
    }
    let mut opened = store::open(address, postgres::SHARDS)?;
    held(&mut *opened.lane, opened.shards, settings)
}

fn held(lane: &mut dyn LaneStore, shards: u32, settings: &Settings) -> anyhow::Result<RestoreReport> {
    let entropy = getrandom::u64().map_err(|error| Failure::new(format!("no entropy: {error}")))?;
    let now = System::start(Timestamp::default()).now();
    Ok(restored::hold(
        lane,
        Hold {
            now,
            entropy,
            by: WHO,
            shards,
            approval: &settings.engine.approval,
        },
    )?)
}

/// A backup is a file, and takes the place of one.
fn not_a_file(store: &StoreAddress) -> anyhow::Error {
    Failure::invalid(format!(
        "`{store}` is not a file, and `sprag restore` restores files only"
    ))
    .code("restore-unsupported")
    .note("restore a dump of the database with `pg_restore`, then run `sprag restore --mark`")
    .note("restore the backup of a file to a file first, then move it with `sprag migrate sqlite:FILE postgres://…`")
    .into()
}

fn not_restored(error: &RestoreError) -> Failure {
    let failure = match error {
        RestoreError::Exists { .. } => Failure::invalid(error.to_string()).note("add --force to replace it"),
        RestoreError::Missing { .. } | RestoreError::Irregular { .. } | RestoreError::Same { .. } => {
            Failure::invalid(error.to_string())
        }
        _ => Failure::new(error.to_string()),
    };
    failure.code(error.code()).caused_by(error)
}

/// What was restored, and where.
#[derive(Deserialize)]
struct Restored {
    store: String,
    #[serde(flatten)]
    report: RestoreReport,
}

fn text(restored: &Restored) -> String {
    let Restored { store, report } = restored;
    let taken = match report.taken_at {
        None => "an unknown time".to_owned(),
        Some(taken_at) => output::instant(taken_at),
    };
    let head = format!("restored {store} as of {taken}\n");
    match report.total {
        0 => format!("{head}the backup has no open action, so no effect in it can repeat\n"),
        total => format!("{head}{}", effects(&report.effects, total)),
    }
}

/// The list of effects, cut where it gets long.
fn effects(effects: &[RestoredEffect], total: u64) -> String {
    let mut table =
        Table::new(&["ACTION", "MACHINE", "NAME", "TYPE", "STATUS", "BECAUSE", "KEY"]).optional(&["KEY", "TYPE"]);
    for effect in effects.iter().take(PRINTED_MAX) {
        table.row([
            effect.id.to_string(),
            effect.machine.clone(),
            effect.action_id.clone(),
            effect.kind.clone(),
            effect.status.to_string(),
            effect.because.to_string(),
            effect.idempotency_key.clone(),
        ]);
    }
    let printed = u64::try_from(PRINTED_MAX).unwrap_or(u64::MAX);
    let rest = match total.saturating_sub(printed) {
        0 => String::new(),
        rest => format!("and {rest} more: --output json, or GET /v1/system/restored\n"),
    };
    format!(
        "{total} effects may repeat, or may have happened since:\n{}{rest}",
        table.text()
    )
}
