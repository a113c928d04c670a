//! `sprag token`: what callers show to a server that asks who they are.

mod create;
mod list;
mod revoke;

use sprag_wire::Token;

use crate::failure::Exit;
use crate::output::{Output, Table};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Create a token, and print it once
    #[command(
        after_help = "Examples:\n  sprag token create dashboard --role viewer\n  sprag token create gpu-1 --role runner --type render"
    )]
    Create(Box<create::Arguments>),
    /// List the tokens, without their secrets
    #[command(after_help = "Examples:\n  sprag token list")]
    List(list::Arguments),
    /// Revoke a token at once
    #[command(after_help = "Examples:\n  sprag token revoke tok_01m7kydswteqea2dygh6x7t50q")]
    Revoke(revoke::Arguments),
}

impl Command {
    pub(crate) async fn run(self, output: Output) -> anyhow::Result<Exit> {
        match self {
            Self::Create(arguments) => create::run(&arguments, output).await,
            Self::List(arguments) => list::run(&arguments, output).await,
            Self::Revoke(arguments) => revoke::run(&arguments, output).await,
        }
    }
}

/// The roles of a token, in one cell.
fn roles(token: &Token) -> String {
    let words: Vec<&str> = token.roles.iter().map(|role| role.word()).collect();
    words.join(", ")
}

/// A token, one fact a line.
fn text(token: &Token) -> String {
    let mut table = Table::bare();
    table.pair("id", token.id.to_string());
    table.pair("name", &token.name);
    table.pair("principal", &token.principal);
    table.pair("roles", roles(token));
    let scopes = &token.scopes;
    for (name, names) in [
        ("operations", &scopes.operations),
        ("subjects", &scopes.subjects),
        ("machines", &scopes.machines),
        ("types", &scopes.types),
        ("runners", &scopes.runners),
    ] {
        if let Some(names) = names {
            table.pair(name, names.join(", "));
        }
    }
    if let Some(risk) = token.max_risk {
        table.pair("maxRisk", risk.word());
    }
    table.pair("createdBy", &token.created_by);
    table.pair("createdAt", token.created_at.to_string());
    if let Some(expires_at) = token.expires_at {
        table.pair("expiresAt", expires_at.to_string());
    }
    if let Some(revoked_at) = token.revoked_at {
        table.pair("revokedAt", revoked_at.to_string());
    }
    table.text()
}
