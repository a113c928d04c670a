//! `sprag service reload`.

use std::fmt::Write as _;

use sprag_wire::{NotStartable, Reloaded};

use super::Supervisor;
use crate::client::Why;
use crate::failure::Exit;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    why: Why,
    #[command(flatten)]
    supervisor: Supervisor,
}

/// Has the file read again. A file that is not valid changes nothing.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.supervisor.client()?;
    let document = client.post(&["workers", "reload"]).why(&arguments.why).send().await?;
    output.show(&document, text)?;
    Ok(Exit::Done)
}

fn text(reloaded: &Reloaded) -> String {
    let Reloaded {
        added,
        changed,
        removed,
        unchanged,
        rules,
        not_startable,
    } = reloaded;
    let mut text = String::new();
    for (word, paths) in [("added", added), ("changed", changed), ("removed", removed)] {
        for path in paths {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{word} {path}");
        }
    }
    for NotStartable { path, reason } in not_startable {
        let _ = writeln!(
            text,
            "not startable: {path}: {reason}; its running process keeps the old definition"
        );
    }
    let _ = writeln!(text, "unchanged: {unchanged}");
    if *rules > 0 {
        let _ = writeln!(text, "new, changed or removed rules: {rules}");
    }
    text
}
