//! TLS against a real server: whom the client trusts, and what it says when it does not.
//!
//! The certificates under `fixtures/tls` are for `127.0.0.1` and `localhost`, signed by a root whose key was thrown
//! away.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderMap;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sprag_core::action::error::kind;
use sprag_core::action::outcome::Verdict;

use crate::http::Request;
use crate::testing::{self, bounded, client, error};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/tls");

/// Serves one connection: `204` to whoever completes the handshake.
fn serve(host: &str) -> String {
    let certificate = CertificateDer::from_pem_file(format!("{FIXTURES}/leaf.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(format!("{FIXTURES}/leaf.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let listener = TcpListener::bind((host, 0)).unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut stream = StreamOwned::new(ServerConnection::new(Arc::new(config)).unwrap(), stream);
        // The handshake fails where the client does not trust us.
        if matches!(stream.read(&mut [0; 1024]), Ok(1..)) {
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
        }
    });
    url
}

async fn send(url: &str) -> Result<u16, Box<sprag_core::action::outcome::Outcome>> {
    let request = Request {
        method: super::method("GET").unwrap(),
        url: super::url(url).unwrap(),
        headers: HeaderMap::new(),
        body: None,
        timeout: Duration::from_secs(30),
    };
    bounded(client().send(request)).await.map(|reply| reply.status())
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_refused_before_anything_leaves() {
    let outcome = send(&serve("127.0.0.1")).await.unwrap_err();
    assert_eq!(
        (outcome.verdict(), error(&outcome).kind.as_str()),
        (Verdict::NotDone, kind::NETWORK_ERROR)
    );
    assert!(error(&outcome).message.contains("certificate"), "{outcome:?}");
}

#[test]
fn a_certificate_that_the_machine_trusts_is_accepted_for_its_own_name_only() {
    let name = "http::tls_tests::a_certificate_that_the_machine_trusts_is_accepted_for_its_own_name_only";
    if !testing::is_child(name, &[("SSL_CERT_FILE", format!("{FIXTURES}/root.pem"))]) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        assert_eq!(send(&serve("127.0.0.1")).await.unwrap(), 204);
        let elsewhere = send(&serve("127.0.0.2")).await.unwrap_err();
        assert!(
            error(&elsewhere).message.contains("not valid for name"),
            "{elsewhere:?}"
        );
    });
}

#[test]
fn a_machine_that_trusts_nobody_still_has_a_client_and_calls_nobody() {
    let name = "http::tls_tests::a_machine_that_trusts_nobody_still_has_a_client_and_calls_nobody";
    let nothing = [("SSL_CERT_FILE", "/dev/null".to_owned())];
    if !testing::is_child(name, &nothing) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let outcome = send(&serve("127.0.0.1")).await.unwrap_err();
        assert_eq!(outcome.verdict(), Verdict::NotDone, "{outcome:?}");
    });
}
