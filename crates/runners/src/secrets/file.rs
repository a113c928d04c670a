//! Secrets in files, one each, as container platforms mount them.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sprag_core::action::runner::BoxFuture;

use super::{Provider, SecretError, VALUE_BYTES_MAX, check_name};

/// The provider `file`: the content of `<dir>/<name>` without its final line break.
pub struct File {
    directory: PathBuf,
}

impl File {
    /// The files of this directory.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

impl Provider for File {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, SecretError>> {
        Box::pin(async move {
            check_name(name)?;
            let path = self.path(name);
            let read = tokio::task::spawn_blocking(move || read(&path)).await;
            let bytes = read.unwrap_or_else(|_| Err(io::Error::other("the reader stopped")));
            let (name, place) = (name.to_owned(), self.place(name));
            match bytes {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(source) => Err(SecretError::Unreadable { name, place, source }),
                Ok(bytes) if bytes.len() > VALUE_BYTES_MAX => Err(SecretError::TooLarge { name, place }),
                Ok(bytes) => match String::from_utf8(bytes) {
                    Ok(text) => Ok(Some(without_line_break(text))),
                    Err(_) => Err(SecretError::NotText { name, place }),
                },
            }
        })
    }

    fn place(&self, name: &str) -> String {
        format!("`{}`", self.path(name).display())
    }
}

/// Reads at most one byte more than a secret may have. Links are followed: that is how they are mounted.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for a writer.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(VALUE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn without_line_break(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}
