//! Addresses the guard refuses, in every spelling.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use sprag_core::action::outcome::Verdict;
use sprag_core::action::runner::BoxFuture;
use url::Url;

use super::*;

fn options(allow: &[&str]) -> Options {
    Options {
        allow: allow.iter().map(ToString::to_string).collect(),
    }
}

fn guard(allow: &[&str]) -> Guard {
    Guard::new(&options(allow)).unwrap()
}

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

/// A resolver that gives its answers one after the other.
struct Scripted(Mutex<VecDeque<Vec<IpAddr>>>);

impl Scripted {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        Arc::new(Self(Mutex::new(answers.iter().map(parse).collect())))
    }
}

impl Lookup for Scripted {
    fn lookup<'a>(&'a self, _host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let answer = self.0.lock().unwrap().pop_front();
        Box::pin(async move { answer.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound)) })
    }
}

#[test]
fn addresses_off_the_public_internet_are_refused() {
    let refused = [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",
        "169.254.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.0.192",
        "192.0.2.7",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.9",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "[::]",
        "[::1]",
        "[::7f00:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:10.0.0.1]",
        "[::ffff:169.254.169.254]",
        "[::ffff:0:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b::a9fe:a9fe]",
        "[64:ff9b::808:808]",
        "[64:ff9b:1::1]",
        "[100::1]",
        "[2001::1]",
        "[2001:0:53aa:64c:0:7877:f5d0:1234]",
        "[2001:2::1]",
        "[2001:10::1]",
        "[2001:db8::1]",
        "[2002:7f00:1::]",
        "[2002:808:808::1]",
        "[3fff::1]",
        "[4000::1]",
        "[5f00::1]",
        "[fc00::1]",
        "[fd00:ec2::254]",
        "[fdff::1]",
        "[fe80::1]",
        "[fec0::1]",
        "[ff02::1]",
    ];
    for host in refused {
        assert!(
            guard(&[]).check_url(&url(&format!("http://{host}/"))).is_err(),
            "{host} passed"
        );
    }
}

#[test]
fn public_addresses_pass() {
    let passed = [
        "1.1.1.1",
        "8.8.8.8",
        "11.0.0.1",
        "100.63.255.255",
        "100.128.0.1",
        "126.255.255.255",
        "128.0.0.1",
        "169.253.255.255",
        "172.15.255.255",
        "172.32.0.1",
        "192.0.1.1",
        "192.167.255.255",
        "198.17.255.255",
        "198.20.0.1",
        "223.255.255.255",
        "[2606:4700:4700::1111]",
        "[2001:4860:4860::8888]",
        "[2a00::1]",
        "[::ffff:8.8.8.8]",
    ];
    for host in passed {
        let checked = guard(&[]).check_url(&url(&format!("http://{host}/")));
        assert!(checked.is_ok(), "{host}: {checked:?}");
    }
}

#[tokio::test]
async fn odd_spellings_of_loopback_are_seen_for_what_they_are() {
    let spellings = [
        "2130706433",
        "0x7f000001",
        "0x7F.1",
        "0177.0.0.1",
        "017700000001",
        "127.1",
        "127.0.1",
        "0x7f.0.0.0x1",
        "１２７.0.0.1",
        "%31%32%37.0.0.1",
        "127。0。0。1",
        "127.0.0.1.",
        "0",
    ];
    for host in spellings {
        let parsed = url(&format!("http://{host}/"));
        assert!(guard(&[]).check_url(&parsed).is_err(), "{host} passed as {parsed}");
        let checked = guard(&[]).check_tcp(host, 80).await;
        assert!(
            matches!(checked, Err(GuardError::Refused { .. })),
            "{host}: {checked:?}"
        );
    }
    for host in ["::1", "[::1]", "::ffff:7f00:1", "0:0:0:0:0:0:0:1"] {
        let checked = guard(&[]).check_tcp(host, 80).await;
        assert!(
            matches!(checked, Err(GuardError::Refused { .. })),
            "{host}: {checked:?}"
        );
    }
}

#[test]
fn the_refusal_shows_the_line_to_add() {
    let table = [
        ("http://127.0.0.1/", r#"[outbound] allow = ["127.0.0.0/8"]"#),
        ("http://[::1]/", r#"[outbound] allow = ["::1/128"]"#),
        ("http://[::ffff:127.0.0.1]/", r#"[outbound] allow = ["127.0.0.0/8"]"#),
        ("http://10.1.2.3/", r#"[outbound] allow = ["10.1.2.3/32"]"#),
        (
            "http://[64:ff9b::7f00:1]/",
            r#"[outbound] allow = ["64:ff9b::7f00:1/128"]"#,
        ),
    ];
    for (address, line) in table {
        let error = guard(&[]).check_url(&url(address)).unwrap_err();
        assert_eq!(error.line_to_add().unwrap(), line);
        assert!(error.to_string().contains(line), "{error}");
        let outcome = error.outcome();
        assert_eq!(outcome.verdict(), Verdict::NotDone);
        assert!(format!("{outcome:?}").contains("invalid_configuration"), "{outcome:?}");
    }
}

#[test]
fn the_line_that_the_refusal_shows_lifts_it() {
    for address in [
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://192.168.7.9/",
        "http://[fd00::9]/",
        "http://[2002::1]/",
    ] {
        let line = guard(&[]).check_url(&url(address)).unwrap_err().line_to_add().unwrap();
        let entry = line.split('"').nth(1).unwrap();
        assert!(
            guard(&[entry]).check_url(&url(address)).is_ok(),
            "{address} with {line}"
        );
    }
}

#[test]
fn an_allowed_block_is_no_wider_than_written() {
    let guard = guard(&["10.1.0.0/16", "fd00::/16", "192.168.1.1"]);
    for (address, passes) in [
        ("http://10.1.255.255/", true),
        ("http://10.2.0.1/", false),
        ("http://[fd00:1::1]/", true),
        ("http://[fd01::1]/", false),
        ("http://192.168.1.1/", true),
        ("http://192.168.1.2/", false),
        ("http://127.0.0.1/", false),
    ] {
        assert_eq!(guard.check_url(&url(address)).is_ok(), passes, "{address}");
    }
}

#[test]
fn a_bad_entry_is_named_and_a_near_one_corrected() {
    let refused = |entry: &str| Guard::new(&options(&[entry])).err().map(|error| error.to_string());
    for entry in [
        "10.0.0.0/33",
        "::/129",
        "10.0.0.0/",
        "10.0.0/8",
        "10.0.0.0/+8",
        "*.internal",
        "http://x/",
        "",
        "a b",
    ] {
        let text = refused(entry).unwrap_or_else(|| panic!("`{entry}` passed"));
        assert!(text.contains(&format!("`{entry}`")), "{text}");
    }
    assert!(refused("127.0.0.1/8").unwrap().contains("`127.0.0.0/8`"));
    assert_eq!(refused("0.0.0.0/0"), None);
    assert_eq!(refused("crm.internal"), None);
}

#[tokio::test]
async fn one_private_address_among_public_ones_refuses_the_name() {
    let lookup = Scripted::new(&[&["8.8.8.8", "127.0.0.1"]]);
    let guard = Guard::with_lookup(&options(&[]), lookup).unwrap();
    let error = guard.check_tcp("rebind.example", 80).await.unwrap_err();
    assert!(error.to_string().contains("`127.0.0.1` (loopback)"), "{error}");
    assert!(!error.to_string().contains("8.8.8.8"), "{error}");
}

#[tokio::test]
async fn a_name_that_changes_its_answer_is_checked_each_time() {
    let lookup = Scripted::new(&[&["8.8.8.8"], &["169.254.169.254"]]);
    let guard = Guard::with_lookup(&options(&[]), lookup).unwrap();
    assert!(guard.check_tcp("rebind.example", 80).await.is_ok());
    assert!(guard.check_tcp("rebind.example", 80).await.is_err());
}

#[tokio::test]
async fn an_allowed_name_passes_wherever_it_leads_and_no_other_does() {
    let lookup = Scripted::new(&[&["10.0.0.1"], &["10.0.0.1"], &["10.0.0.1"]]);
    let guard = Guard::with_lookup(&options(&["Crm.Internal"]), lookup).unwrap();
    assert!(guard.check_tcp("crm.internal", 80).await.is_ok());
    assert!(guard.check_tcp("CRM.internal.", 80).await.is_ok());
    assert!(guard.check_tcp("evil.crm.internal", 80).await.is_err());
}

#[tokio::test]
async fn a_name_without_an_address_is_a_network_error() {
    let guard = Guard::with_lookup(&options(&[]), Scripted::new(&[&[]])).unwrap();
    for _ in 0..2 {
        let outcome = guard.check_tcp("nowhere.example", 80).await.unwrap_err().outcome();
        assert_eq!(outcome.verdict(), Verdict::NotDone);
        assert!(format!("{outcome:?}").contains("network_error"), "{outcome:?}");
    }
}

proptest! {
    #[test]
    fn every_form_of_a_private_ipv4_address_is_refused(low in 0u32..0x0100_0000, block in prop::sample::select(vec![10u32, 127, 0])) {
        let bits = (block << 24) | low;
        let forms = [bits.to_string(), format!("0x{bits:x}"), format!("0{bits:o}"), format!("[::ffff:{:x}:{:x}]", bits >> 16, bits & 0xffff)];
        for form in forms {
            let parsed = url(&format!("http://{form}/"));
            prop_assert!(guard(&[]).check_url(&parsed).is_err(), "{} passed as {}", form, parsed);
        }
    }

    #[test]
    fn entries_are_read_without_panic(entry: String) {
        let _ = Guard::new(&options(&[&entry]));
    }
}
