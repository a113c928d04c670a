//! Tokens: the first one, those for others, those that do not count, and what survives `kill -9`.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use sprag_core::clock::System;
use sprag_core::time::Timestamp;
use sprag_tests::wait;

use super::{GUARD, first, sprag, text, up};

#[test]
fn the_first_token_creates_others_and_all_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("admin.token");
    std::fs::write(&file, "readable for all").unwrap();
    let arguments = ["--admin-token-file", file.to_str().unwrap()];
    let product = up(folder.path(), &arguments);
    let admin = first(&file);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!product.log().contains(&admin), "it is in the file only");

    let bare = sprag(&product, "", &["exec", "list"]);
    assert_eq!(bare.status.code(), Some(1));
    assert!(text(&bare.stderr).contains("token-missing"), "{bare:?}");
    let created = sprag(&product, &admin, &["token", "create", "dashboard", "--role", "viewer"]);
    assert!(created.status.success(), "{created:?}");
    let viewer = text(&created.stdout);
    assert!(viewer.starts_with("sprag_") && !text(&created.stderr).contains(&viewer));
    assert!(sprag(&product, &viewer, &["exec", "list"]).status.success());
    let refused = sprag(&product, &viewer, &["token", "list"]);
    assert!(text(&refused.stderr).contains("role-missing"), "{refused:?}");
    product.kill();

    std::fs::remove_file(&file).unwrap();
    let product = up(folder.path(), &arguments);
    assert!(sprag(&product, &viewer, &["exec", "list"]).status.success());
    let listed = sprag(&product, &admin, &["token", "list", "--output", "json"]);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let tokens = listed["data"].as_array().unwrap();
    assert_eq!(tokens.len(), 2, "a second start creates no other: {listed}");
    assert!(!file.exists());
    let id = tokens.iter().find(|token| token["name"] == "dashboard").unwrap()["id"]
        .as_str()
        .unwrap();
    let revoked = sprag(&product, &admin, &["token", "revoke", id]);
    assert!(revoked.status.success(), "{revoked:?}");
    let refused = sprag(&product, &viewer, &["exec", "list"]);
    assert!(text(&refused.stderr).contains("token-invalid"), "{refused:?}");
    assert!(product.terminate(GUARD).success());
}

#[test]
fn the_first_token_is_printed_once_where_no_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let product = up(folder.path(), &[]);
    let printed = product.first_token();
    assert!(sprag(&product, &printed, &["token", "list"]).status.success());
    assert_eq!(product.log().matches("shown only now").count(), 1);
}

#[test]
fn wrong_missing_expired_and_revoked_tokens_are_refused_and_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let product = up(folder.path(), &[]);
    let admin = product.first_token();
    let create = |name: &str, more: &[&str]| {
        let arguments = [&["token", "create", name, "--role", "viewer"], more].concat();
        let created = sprag(&product, &admin, &arguments);
        assert!(created.status.success(), "{created:?}");
        text(&created.stdout)
    };
    let (good, revoked) = (create("good", &[]), create("revoked", &[]));
    let ends = System::start(Timestamp::default());
    let soon = sprag_core::clock::Clock::now(&ends).plus(1_500).to_string();
    let expiring = create("expiring", &["--expires", &soon]);
    let status = |token: &str| {
        let answer = product.client().showing(token).get("/v1/executions").unwrap();
        (
            answer.status,
            answer.body["code"].as_str().unwrap_or_default().to_owned(),
        )
    };
    let refused = |code: &str| (401, code.to_owned());
    assert_eq!(status(&good).0, 200);
    let (_, id) = revoked.split_once('_').unwrap();
    let id = format!("tok_{}", id.split('_').next().unwrap());
    assert!(sprag(&product, &admin, &["token", "revoke", &id]).status.success());
    assert_eq!(status(&revoked), refused("token-invalid"));
    wait::until("the token to expire", GUARD, || {
        (status(&expiring).0 != 200).then_some(())
    });
    assert_eq!(status(&expiring), refused("token-invalid"));
    let mut wrong = good.clone().into_bytes();
    let last = wrong.last_mut().unwrap();
    *last = if *last == b'0' { b'1' } else { b'0' };
    assert_eq!(status(std::str::from_utf8(&wrong).unwrap()), refused("token-invalid"));
    assert_eq!(status("sprag_1"), refused("token-invalid"));
    assert_eq!(
        status("eyJhbGciOiJub25lIn0.e30."),
        refused("token-invalid"),
        "no provider is configured"
    );
    let bare = product.client().get("/v1/executions").unwrap();
    assert_eq!((bare.status, bare.body["code"].as_str()), (401, Some("token-missing")));
    assert_eq!(status(&good).0, 200);
}

#[test]
fn a_hundred_bad_tokens_a_second_do_not_disturb_a_good_client_at_the_same_address() {
    let folder = tempfile::tempdir().unwrap();
    let product = up(folder.path(), &[]);
    let admin = product.first_token();
    let created = sprag(&product, &admin, &["token", "create", "good", "--role", "viewer"]);
    let good = text(&created.stdout);
    let over = AtomicBool::new(false);
    let (told, slowed) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut guesser = product.client();
            let mut number = 0_u32;
            while !over.load(Ordering::SeqCst) {
                number += 1;
                let bearer = format!("Bearer sprag_{number}");
                let answer = guesser
                    .get_with("/v1/executions", &[("authorization", &bearer)])
                    .unwrap();
                match answer.status {
                    401 => told.fetch_add(1, Ordering::SeqCst),
                    429 => slowed.fetch_add(1, Ordering::SeqCst),
                    status => panic!("a bad token got {status}"),
                };
                std::thread::park_timeout(Duration::from_millis(10));
            }
        });
        let mut client = product.client().showing(&good);
        let (mut served, mut longest) = (0, Duration::ZERO);
        // Until guesses are slowed down for a while; the good client must not notice.
        while slowed.load(Ordering::SeqCst) < 150 && served < 500_000 {
            let watch = System::start(Timestamp::default());
            let answer = client.get("/v1/executions");
            longest = longest.max(watch.elapsed());
            let status = answer.map(|answer| answer.status);
            if !matches!(status, Ok(200)) {
                over.store(true, Ordering::SeqCst);
                panic!("the good client got {status:?}");
            }
            served += 1;
        }
        over.store(true, Ordering::SeqCst);
        println!("{served} good requests, the longest took {longest:?}; bad ones: {told:?} told, {slowed:?} slowed");
        assert!(longest < Duration::from_secs(5), "{longest:?}");
    });
    assert!(told.load(Ordering::SeqCst) >= 50 && slowed.load(Ordering::SeqCst) >= 150);
}
