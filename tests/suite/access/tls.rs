//! TLS: who is let in, certificates that are replaced under load, and handshakes that never end.

use std::io::Read as _;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use sprag_tests::{Authority, Certified, Client, Product, Valid, binary, certificate_at, store, wait};

use super::{GUARD, text};

/// A server that speaks TLS, with more settings.
fn up(folder: &Path, shows: &Certified, more: &[(&str, &str)]) -> Product {
    let mut command = Command::new(binary("sprag"));
    command
        .args([
            "up",
            "--listen",
            "127.0.0.1:0",
            "--store",
            &store::url(&folder.join("sprag.db")),
        ])
        .env("SPRAG_LISTEN_TLS_CERTIFICATE", &shows.certificate)
        .env("SPRAG_LISTEN_TLS_KEY", &shows.key)
        .envs(more.iter().copied())
        .current_dir(folder);
    Product::start_by(command).unwrap()
}

/// `sprag system` against a server by https, with these options.
fn system(server: SocketAddr, options: &[&str]) -> Output {
    system_at("https", server, options)
}

fn system_at(scheme: &str, server: SocketAddr, options: &[&str]) -> Output {
    Command::new(binary("sprag"))
        .args(["system", "--no-retry", "--server", &format!("{scheme}://{server}")])
        .args(options)
        .output()
        .unwrap()
}

fn path(file: &Path) -> &str {
    file.to_str().unwrap()
}

#[test]
fn off_loopback_a_server_needs_authentication_and_tls_or_a_network_that_is_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path(), "ca");
    let (certificate, key) = authority.issue("server", Valid::Now).texts();
    let tls = [
        ("SPRAG_LISTEN_TLS_CERTIFICATE", certificate.as_str()),
        ("SPRAG_LISTEN_TLS_KEY", key.as_str()),
    ];
    let check = |arguments: &[&str], environment: &[(&str, &str)]| {
        // Checked only: nothing that is wrongly accepted may listen there.
        let arguments = [&["up", "--check", "--listen", "0.0.0.0:7400"], arguments].concat();
        let mut command = Command::new(binary("sprag"));
        command
            .args(arguments)
            .envs(environment.iter().copied())
            .current_dir(folder.path());
        command.output().unwrap()
    };
    let trusted = [("SPRAG_AUTH_PLAIN_TEXT", "accept")];
    for (arguments, environment, says) in [
        (&[][..], &[][..], "turn on authentication"),
        (&[][..], &tls[..], "turn on authentication"),
        (
            &["--auth", "token"][..],
            &[][..],
            "name a certificate in `[listen.tls]`",
        ),
        (&["--auth", "token"][..], &tls[..1], "has a `certificate` and no `key`"),
        (
            &["--auth", "token"][..],
            &[tls[0], ("SPRAG_LISTEN_TLS_KEY", "/none")][..],
            "`/none` cannot be read",
        ),
        (
            &["--auth", "token"][..],
            &[tls[0], ("SPRAG_LISTEN_TLS_KEY", &certificate)][..],
            "as a private key",
        ),
    ] {
        let refused = check(arguments, environment);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(text(&refused.stderr).contains(says), "{says}: {refused:?}");
    }
    for environment in [&tls[..], &trusted[..]] {
        let accepted = check(&["--auth", "token"], environment);
        assert!(accepted.status.success(), "{accepted:?}");
    }
    assert!(!folder.path().join("sprag.db").exists());
}

#[test]
fn both_sides_check_certificates_and_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, other) = (
        Authority::new(folder.path(), "ca"),
        Authority::new(folder.path(), "other"),
    );
    let server = authority.issue("server", Valid::Now);
    let (alex, stranger, late) = (
        authority.issue("alex", Valid::Now),
        other.issue("stranger", Valid::Now),
        authority.issue("late", Valid::Before),
    );
    let ca = authority.file();
    let product = up(folder.path(), &server, &[("SPRAG_LISTEN_TLS_CLIENT_CA", path(&ca))]);
    let as_client = |shown: &Certified| {
        let (certificate, key) = shown.texts();
        system(
            product.address(),
            &["--ca", path(&ca), "--client-cert", &certificate, "--client-key", &key],
        )
    };
    let good = as_client(&alex);
    assert!(good.status.success(), "{good:?}");
    for (refused, says) in [
        (
            system(product.address(), &["--ca", path(&ca)]),
            "show one with --client-cert FILE",
        ),
        (as_client(&stranger), "UnknownCA"),
        (as_client(&late), "CertificateExpired"),
        (
            system(product.address(), &["--ca", path(&other.file())]),
            "name the certificate of the authority with --ca FILE",
        ),
        (system(product.address(), &[]), "error[server-untrusted]"),
        (
            system(product.address(), &["--client-cert", "x"]),
            "give both --client-cert and --client-key",
        ),
        (system(product.address(), &["--ca", "/none"]), "`/none` cannot be read"),
    ] {
        assert!(!refused.status.success(), "{refused:?}");
        assert!(text(&refused.stderr).contains(says), "{says}: {refused:?}");
    }
    // Plain HTTP is told what to do.
    let plain = product.client().get("/healthz").unwrap();
    assert_eq!(plain.status, 400);
    assert!(plain.body.as_str().unwrap().contains("https://"), "{plain:?}");
    let told = system_at("http", product.address(), &[]);
    let https = format!("write https://{}", product.address());
    assert!(text(&told.stderr).contains(&https), "{told:?}");
    drop(product);

    let product = up(folder.path(), &late, &[]);
    let expired = system(product.address(), &["--ca", path(&ca)]);
    assert!(text(&expired.stderr).contains("Expired"), "{expired:?}");
    drop(product);
    let product = up(folder.path(), &server, &[]);
    assert!(
        system(product.address(), &["--ca", path(&ca)]).status.success(),
        "nobody is asked for a certificate"
    );
    drop(product);
    let product = Product::start(&folder.path().join("plain.db"), &[]);
    let told = system(product.address(), &["--ca", path(&ca)]);
    let http = format!("write http://{}", product.address());
    assert!(text(&told.stderr).contains(&http), "{told:?}");
}

/// Requests under way, and what became of them.
#[derive(Default)]
struct Load {
    over: AtomicBool,
    served: AtomicU64,
}

impl Load {
    /// Sends requests until it is over, each on a connection of its own or all on one.
    fn send(&self, connections: Connections, connect: impl Fn() -> Client) {
        let mut client = connect();
        while !self.over.load(Ordering::SeqCst) {
            if connections == Connections::Many {
                client = connect();
            }
            let status = client.get("/readyz").map(|answer| answer.status);
            if !matches!(status, Ok(200)) {
                self.over.store(true, Ordering::SeqCst);
                panic!("a request failed: {status:?}");
            }
            self.served.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn until_more(&self, count: u64) {
        let goal = self.served.load(Ordering::SeqCst) + count;
        wait::until("more requests", GUARD, || {
            let is_over = self.over.load(Ordering::SeqCst);
            (is_over || self.served.load(Ordering::SeqCst) >= goal).then_some(())
        });
        assert!(!self.over.load(Ordering::SeqCst), "a request failed");
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Connections {
    One,
    Many,
}

/// Ends the load also when something panics.
struct Over<'a>(&'a Load);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::SeqCst);
    }
}

#[test]
fn certificates_are_replaced_under_load_and_no_request_fails() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path(), "ca");
    let certified = ["first", "second", "third"].map(|name| authority.issue(name, Valid::Now));
    let [first, second, third] = certified.each_ref().map(Certified::leaf);
    let product = up(folder.path(), &certified[0], &[]);
    let tls = authority.client(None);
    let shown = || certificate_at(product.address(), &tls);
    let until_shown = |expected: &[u8]| {
        wait::until("the new certificate", GUARD, || (shown() == expected).then_some(()));
    };
    assert_eq!(shown(), first);
    let load = Load::default();
    std::thread::scope(|scope| {
        for connections in [Connections::One, Connections::One, Connections::Many, Connections::Many] {
            let (load, tls, address) = (&load, &tls, product.address());
            scope.spawn(move || load.send(connections, || Client::new(address).secured(Arc::clone(tls))));
        }
        let _over = Over(&load);
        load.until_more(20);
        certified[0].replace_by(&certified[1]);
        until_shown(&second);
        load.until_more(20);
        // The key of another certificate: the pair does not fit.
        std::fs::copy(&certified[2].key, &certified[0].key).unwrap();
        wait::until("the refusal of the files", GUARD, || {
            product.log().contains("cannot be used with the key").then_some(())
        });
        load.until_more(20);
        assert_eq!(shown(), second, "what was in use stays");
        std::fs::write(&certified[0].certificate, "broken").unwrap();
        wait::until("the refusal of the file", GUARD, || {
            product.log().contains("cannot be read as certificates").then_some(())
        });
        assert_eq!(shown(), second);
        certified[0].replace_by(&certified[2]);
        until_shown(&third);
        load.until_more(20);
    });
    println!(
        "{:?} requests while certificates were replaced, none failed",
        load.served
    );
}

/// Connections that say nothing. More than handshakes may be in progress.
const SILENT: usize = 700;
/// Less than a handshake may take.
const NUMBER_GUARD: Duration = Duration::from_secs(5);
/// Handshakes that may be.
const HANDSHAKES_MAX: usize = 512;

#[test]
fn handshakes_that_never_end_are_bounded_in_number_and_time_and_disturb_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path(), "ca");
    let product = up(folder.path(), &authority.issue("server", Valid::Now), &[]);
    let tls = authority.client(None);
    let silent: Vec<TcpStream> = (0..SILENT)
        .map(|_| {
            let stream = TcpStream::connect(product.address()).unwrap();
            stream.set_nonblocking(true).unwrap();
            stream
        })
        .collect();
    let open = || {
        let is_open = |mut stream: &TcpStream| match stream.read(&mut [0]) {
            Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
            Ok(_) => false,
        };
        silent.iter().filter(|stream| is_open(stream)).count()
    };
    for _ in 0..20 {
        let answer = Client::new(product.address()).secured(Arc::clone(&tls)).get("/readyz");
        assert_eq!(answer.unwrap().status, 200);
    }
    // Before any of them is over time.
    wait::until("the oldest handshakes to end", NUMBER_GUARD, || {
        (open() <= HANDSHAKES_MAX).then_some(())
    });
    wait::until("all of them to end", GUARD, || (open() == 0).then_some(()));
    let answer = Client::new(product.address()).secured(tls).get("/readyz");
    assert_eq!(answer.unwrap().status, 200);
}
