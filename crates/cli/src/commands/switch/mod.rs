//! `sprag switch`: kill switches.

mod list;
mod off;
mod on;
mod show;

use sprag_wire::{HeldBySwitch, Switch, SwitchRelease, SwitchedActions};

use crate::failure::Exit;
use crate::output::{Output, Table, instant, span};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List the switches that are on
    #[command(after_help = "Examples:\n  sprag switch list")]
    List(list::Arguments),
    /// Set a switch: no attempt in its scope starts
    #[command(
        after_help = "Examples:\n  sprag switch on machine:order --reason \"charges twice\"\n  sprag switch on type:webhook --mode cancel --for 2h --reason \"outage\""
    )]
    On(on::Arguments),
    /// Show a switch: what waits for it, and what runs in its scope
    #[command(after_help = "Examples:\n  sprag switch show swi_01m7kydswteqea2dygh6x7t50q")]
    Show(show::Arguments),
    /// Release a switch: waiting actions start again, or are cancelled
    #[command(
        after_help = "Examples:\n  sprag switch off swi_01m7kydswteqea2dygh6x7t50q --rate 10/1s\n  sprag switch off swi_01m7kydswteqea2dygh6x7t50q --held skip --reason handled"
    )]
    Off(off::Arguments),
}

impl Command {
    pub(crate) async fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::List(arguments) => list::run(&arguments, output).await,
            Self::On(arguments) => on::run(&arguments, output).await,
            Self::Show(arguments) => show::run(&arguments, output).await,
            Self::Off(arguments) => off::run(&arguments, output).await,
        }
    }
}

/// A switch, one fact a line.
fn text(switch: &Switch) -> String {
    let mut table = Table::bare();
    table.pair("id", switch.id.to_string());
    table.pair("scope", &switch.scope);
    table.pair("mode", switch.mode.to_string());
    table.pair("status", switch.status.to_string());
    table.pair("reason", &switch.reason);
    table.pair("by", &switch.by);
    table.pair("since", switch.since.to_string());
    if let Some(expires_at) = switch.expires_at {
        table.pair("expiresAt", expires_at.to_string());
    }
    if let Some(SwitchRelease { at, held, rate }) = &switch.release {
        let rate = rate.map_or_else(String::new, |rate| {
            format!(" at {} per {}", rate.count, span(rate.per_millis))
        });
        table.pair("released", format!("{at}, {held}{rate}"));
    }
    table.text()
}

/// What a switch holds: counts, and the newest ones.
fn held(held: &HeldBySwitch) -> String {
    let HeldBySwitch { queued, running } = held;
    part("waiting", queued) + &part("running in its scope", running)
}

fn part(name: &str, actions: &SwitchedActions) -> String {
    let SwitchedActions { total, more, first } = actions;
    let more = if *more { " or more" } else { "" };
    let head = format!("\n{name}: {total}{more}\n");
    if first.is_empty() {
        return head;
    }
    let mut table = Table::new(&["ACTION", "MACHINE", "NAME", "TYPE", "DUE"]).optional(&["TYPE", "DUE"]);
    for action in first {
        table.row([
            action.id.to_string(),
            action.machine.clone(),
            action.action_id.clone(),
            action.kind.clone(),
            instant(action.run_at),
        ]);
    }
    head + &table.text()
}
