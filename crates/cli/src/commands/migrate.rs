//! `sprag migrate`: moves everything that a stopped server's file holds into a `PostgreSQL` database.
//!
//! What is said at the end was read back from the database and compared with the file, row by row.

use serde_json::{Value, json};
use sprag_store::postgres;
use sprag_store::transfer::{MoveProgress, MoveSummary, Phase, Transfer, TransferError, transfer};

use crate::config::StoreAddress;
use crate::failure::{Exit, Failure};
use crate::output::{self, Output, Progress, Table};

/// Digits of a digest that are printed; all of them are in `--output json`.
const DIGITS: usize = 16;

const MORE: &str = "\
Stop the server first, and name an empty database. At the end the command
compares both sides row by row. If the move is interrupted, run the same
command again: it continues where it stopped. Until the move ends, no server
starts on the database.

The file keeps its data and is marked as moved. Start the server on the
database. No server starts on the file, because two servers would do the same
work (`sqlite:PATH?moved=allow` overrides this).

Examples:
  sprag migrate sqlite:./sprag.db postgres://sprag@localhost/sprag";

#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub(crate) struct Arguments {
    /// The file: sqlite:PATH
    #[arg(value_name = "FROM")]
    from: String,
    #[arg(
        value_name = "TO",
        env = "SPRAG_STORE",
        hide_env = true,
        help = "The database: postgres://USER@HOST/DATABASE [default: SPRAG_STORE]"
    )]
    to: String,
}

/// Moves the file's contents, and says what was moved.
pub(crate) fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { from, to } = arguments;
    let (from, to) = (address("FROM", from)?, address("TO", to)?);
    let (Some(path), StoreAddress::Postgres(database)) = (from.file(), &to) else {
        let detail = format!("`{from}` cannot be moved to `{to}`: a file is moved to a PostgreSQL database");
        let failure = Failure::invalid(detail).note("write `sprag migrate sqlite:PATH postgres://USER@HOST/DATABASE`");
        return Err(failure.into());
    };
    let mut watch = Watch::new();
    let moved = transfer(
        &Transfer {
            from: path,
            to: database,
            shards: postgres::SHARDS,
            now: output::now(),
        },
        &mut |step| watch.step(step),
    );
    let moved = moved.map_err(|error| not_moved(&error))?;
    watch.end(&moved);
    output.show(&document(&from, &to, &moved), text)?;
    if output == Output::Text {
        output::note(&format!(
            "start the server with `sprag up --store {to}`; {from} is marked as moved, and no server starts on it any more"
        ));
    }
    Ok(Exit::Done)
}

fn address(name: &str, text: &str) -> Result<StoreAddress, Failure> {
    StoreAddress::of(text).map_err(|(detail, remedy)| Failure::invalid(format!("{name}: {detail}")).note(remedy))
}

fn not_moved(error: &TransferError) -> Failure {
    let failure = match error {
        TransferError::Missing { .. } | TransferError::NotEmpty { .. } | TransferError::Done { .. } => {
            Failure::invalid(error.to_string())
        }
        _ => Failure::new(error.to_string()),
    };
    failure.code(error.code()).caused_by(error)
}

/// Shows how far the move has come.
struct Watch {
    progress: Progress,
    pages: u64,
}

impl Watch {
    fn new() -> Self {
        Self {
            progress: Progress::new(),
            pages: 0,
        }
    }

    fn step(&mut self, step: MoveProgress<'_>) {
        let MoveProgress {
            phase,
            table,
            rows,
            all,
        } = step;
        let text = match phase {
            Phase::Copying => format!("copying {table}: {rows} of {all} rows"),
            Phase::Verifying => format!("comparing {table}: {rows} of {all} rows"),
            Phase::Releasing => "the file is marked as moved; opening the database to servers".to_owned(),
        };
        self.progress.show(&text, Some((rows, all)));
        self.pages += 1;
        failpoint(self.pages);
    }

    fn end(&mut self, moved: &MoveSummary) {
        let rows: u64 = moved.tables.iter().map(|table| table.rows).sum();
        self.progress.end(&format!("{rows} rows"));
    }
}

/// Ends the process after a chosen page, as a power failure would, in builds that can.
#[cfg(feature = "failpoints")]
fn failpoint(pages: u64) {
    if std::env::var("SPRAG_FAILPOINT").is_ok_and(|text| text == format!("after-page:{pages}")) {
        std::process::abort();
    }
}

#[cfg(not(feature = "failpoints"))]
fn failpoint(_: u64) {}

fn document(from: &StoreAddress, to: &StoreAddress, moved: &MoveSummary) -> Value {
    let MoveSummary { tables, resumed } = moved;
    let tables: Vec<Value> = tables
        .iter()
        .map(|table| json!({"name": table.name, "rows": table.rows, "digest": table.digest}))
        .collect();
    json!({"from": from.to_string(), "to": to.to_string(), "tables": tables, "resumedRows": resumed})
}

fn text(document: &Value) -> String {
    let mut table = Table::new(&["TABLE", "ROWS", "SHA-256 BEGINS"]);
    for moved in document["tables"].as_array().into_iter().flatten() {
        let digest = moved["digest"].as_str().unwrap_or_default();
        table.row([
            moved["name"].as_str().unwrap_or_default().to_owned(),
            moved["rows"].to_string(),
            digest.get(..DIGITS).unwrap_or(digest).to_owned(),
        ]);
    }
    format!(
        "moved and compared, row by row: {} is what {} was\n{}",
        output::plain(document["to"].as_str().unwrap_or_default()),
        output::plain(document["from"].as_str().unwrap_or_default()),
        table.text()
    )
}
