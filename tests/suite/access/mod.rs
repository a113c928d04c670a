//! Who gets in, in the real binary: tokens, their own and those of an OpenID provider, certificates, and guessers.

mod oidc;
mod refused;
mod tls;
mod tokens;

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use sprag_tests::{Product, binary, store, wait};

const GUARD: Duration = Duration::from_mins(1);

/// `sprag up` that asks its callers, with more arguments.
fn up(folder: &Path, more: &[&str]) -> Product {
    let mut command = Command::new(binary("sprag"));
    command
        .args(["up", "--auth", "token", "--listen", "127.0.0.1:0"])
        .args(["--store", &store::url(&folder.join("sprag.db"))])
        .args(more)
        .current_dir(folder);
    Product::start_by(command).unwrap()
}

/// A command of ours against a server, with a token.
fn sprag(product: &Product, token: &str, arguments: &[&str]) -> Output {
    Command::new(binary("sprag"))
        .args(arguments)
        .env("SPRAG_SERVER", format!("http://{}", product.address()))
        .env("SPRAG_TOKEN", token)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// The first token, once it is in its file.
fn first(file: &Path) -> String {
    wait::until("the file of the first token", GUARD, || {
        let text = std::fs::read_to_string(file).ok()?;
        text.ends_with('\n').then(|| text.trim().to_owned())
    })
}
