//! `sprag backup`: everything a running server remembers, as one file.
//!
//! The file appears under its name only when it is complete and on disk.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};

use sprag_store::{private, sqlite};

use crate::client::{Remote, Why};
use crate::failure::{Exit, Failure};
use crate::output::{self, Output, Progress};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The file to write
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    why: Why,
    #[command(flatten)]
    remote: Remote,
}

/// Takes a backup of the server.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments { to, force, why, remote } = arguments;
    if to.exists() && !force {
        return Err(Failure::invalid(format!("`{}` already exists", to.display()))
            .code("file-exists")
            .note("name another file, or add --force to replace it")
            .into());
    }
    let client = remote.client()?;
    let part = part_of(to);
    let file = private::create_anew(&part).with_context(|| format!("`{}` cannot be written", part.display()))?;
    let mut writing = Writing::new(file);
    let received = client
        .post(&["system", "backup"])
        .json(&json!({}))
        .why(why)
        .download(|chunk, total| writing.add(chunk, total))
        .await;
    let finished = received
        .map_err(anyhow::Error::from)
        .and_then(|()| Ok(writing.finish(&part, to)?));
    if let Err(error) = finished {
        // A file that is not complete must not be mistaken for a backup.
        let _ = fs::remove_file(&part);
        return Err(error);
    }
    let bytes = writing.written;
    output.show(
        &json!({"file": to.display().to_string(), "bytes": bytes}),
        |_: &Value| format!("{}: {bytes} bytes\n", output::plain(&to.display().to_string())),
    )?;
    Ok(Exit::Done)
}

/// Where the file grows.
fn part_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

/// A file that grows, with how far it has come.
struct Writing {
    file: File,
    /// The first bytes, which say what kind of file it is.
    head: Vec<u8>,
    written: u64,
    shown: Option<u64>,
    progress: Progress,
}

impl Writing {
    fn new(file: File) -> Self {
        Self {
            file,
            head: Vec::with_capacity(sqlite::HEADER_BYTES),
            written: 0,
            shown: None,
            progress: Progress::new(),
        }
    }

    fn add(&mut self, chunk: &[u8], total: Option<u64>) -> io::Result<()> {
        self.file.write_all(chunk)?;
        let room = sqlite::HEADER_BYTES.saturating_sub(self.head.len());
        self.head.extend(chunk.iter().take(room));
        self.written += u64::try_from(chunk.len()).unwrap_or(0);
        let percent = total.and_then(|total| self.written.saturating_mul(100).checked_div(total));
        // A line for every piece would be too much output.
        if percent != self.shown {
            self.shown = percent;
            let share = total.map(|total| (self.written, total));
            self.progress.show(&format!("{} bytes", self.written), share);
        }
        Ok(())
    }

    /// A database of Sprag, on disk first, then under its name.
    fn finish(&mut self, part: &Path, to: &Path) -> io::Result<()> {
        self.progress.end(&format!("{} bytes", self.written));
        if !sqlite::is_backup(&self.head) {
            return Err(io::Error::other("the server's answer is not a database of Sprag"));
        }
        self.file.sync_all()?;
        fs::rename(part, to)?;
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }
}
