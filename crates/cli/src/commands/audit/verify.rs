//! `sprag audit verify`: checks the chains of a server, or of a database file without one, against exported heads.
//!
//! Every chain is read from its newest entry to its oldest, a page at a time.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::json;
use sprag_core::integrity::audit::{Broken, Entry, Head, Verifier};
use sprag_store::Page;
use sprag_store::sqlite::AuditFile;
use sprag_wire::{AuditEntry, AuditHeads, Page as Listed};

use crate::client::{Client, Remote};
use crate::failure::{Exit, Failure};
use crate::output::{self, Output};

/// Entries that are read at once.
const PAGE: usize = 1_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Check this database file; no server is asked
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Check against exported heads
    #[arg(long, value_name = "FILE")]
    heads: Option<PathBuf>,
    #[command(flatten)]
    remote: Remote,
}

/// Checks everything, and names the first broken entry of each chain.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { store, heads, remote } = arguments;
    let exported = match heads {
        Some(path) => exported(path)?,
        None => Vec::new(),
    };
    let mut verifier = Verifier::new(exported.iter().copied());
    let chains = match store {
        Some(path) => offline(&file(path), &mut verifier)?,
        None => online(&remote.client()?, &exported, &mut verifier).await?,
    };
    match verifier.finish() {
        Ok(entries) => {
            let found = json!({"entries": entries, "chains": chains, "heads": exported.len()});
            output.show(&found, |_: &serde_json::Value| {
                format!(
                    "{entries} entries in {chains} chains are whole; {} heads checked\n",
                    exported.len()
                )
            })?;
            Ok(Exit::Done)
        }
        Err(broken) => Err(refusal(&broken).into()),
    }
}

/// A path, or the address of a file.
fn file(path: &Path) -> PathBuf {
    match path.to_str().and_then(|text| text.strip_prefix("sqlite:")) {
        Some(rest) => PathBuf::from(rest),
        None => path.to_owned(),
    }
}

/// Checks a file. How many chains it has.
fn offline(path: &Path, verifier: &mut Verifier) -> anyhow::Result<usize> {
    let file = AuditFile::open(path).with_context(|| format!("`{}` cannot be checked", path.display()))?;
    let shards = file.shards()?;
    for &shard in &shards {
        let mut after = None;
        loop {
            let page = file.chain(shard, &Page::new(after, PAGE))?;
            page.rows.iter().for_each(|entry| verifier.add(entry));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    Ok(shards.len())
}

/// Checks a server. How many chains it has.
async fn online(client: &Client, exported: &[Head], verifier: &mut Verifier) -> anyhow::Result<usize> {
    let heads: AuditHeads = output::read(client.get(&["audit", "heads"]).send().await?)?;
    let mut shards: BTreeSet<u32> = heads.heads.iter().map(|head| head.shard).collect();
    shards.extend(exported.iter().map(|head| head.shard));
    for &shard in &shards {
        let filter = format!("shard = {shard}");
        let mut cursor: Option<String> = None;
        loop {
            let request = client.get(&["audit"]).query("filter", Some(&filter));
            let request = request.query("limit", Some(PAGE)).query("cursor", cursor.as_ref());
            let page: Listed<AuditEntry> = output::read(request.send().await?)?;
            for entry in page.data {
                verifier.add(&Entry::try_from(entry)?);
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
    }
    Ok(heads.heads.len())
}

/// The heads of a file: any number of exports, one after the other.
fn exported(path: &Path) -> anyhow::Result<Vec<Head>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("`{}` cannot be read", path.display()))?;
    let mut heads = Vec::new();
    for export in serde_json::Deserializer::from_str(&text).into_iter::<AuditHeads>() {
        let export = export.with_context(|| format!("`{}` is no export of heads", path.display()))?;
        for head in export.heads {
            heads.push(Head::try_from(head)?);
        }
    }
    if heads.is_empty() {
        return Err(Failure::invalid(format!("`{}` has no heads", path.display()))
            .note("export some with `sprag audit heads`")
            .into());
    }
    Ok(heads)
}

fn refusal(broken: &[Broken]) -> Failure {
    let mut lines = broken.iter().map(Broken::to_string);
    let first = lines.next().unwrap_or_default();
    let failure = Failure::new(first).code("audit-broken");
    lines.fold(failure, Failure::note)
}
