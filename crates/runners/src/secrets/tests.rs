//! Secrets by name, in the order of the providers.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use super::*;
use crate::testing::bounded;

fn env(pairs: &'static [(&'static str, &'static str)]) -> Box<dyn Provider> {
    let find = |name: &str| {
        pairs
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| OsString::from(value))
    };
    Box::new(Env::from_fn(find))
}

fn file(directory: &Path) -> Box<dyn Provider> {
    Box::new(File::new(directory.to_owned()))
}

async fn get(providers: Vec<Box<dyn Provider>>, name: &str) -> Result<String, SecretError> {
    bounded(Secrets::new(providers).get(name)).await
}

#[tokio::test]
async fn a_secret_is_a_variable_with_our_prefix_and_nothing_else_of_the_environment_is() {
    let variables = &[
        ("SPRAG_SECRET_CRM_TOKEN", "t0ken"),
        ("HOME", "/root"),
        ("CRM_TOKEN", "no"),
    ];
    assert_eq!(get(vec![env(variables)], "crm_token").await.unwrap(), "t0ken");
    assert!(get(vec![env(variables)], "HOME").await.is_err());
}

#[tokio::test]
async fn a_secret_is_a_file_without_its_final_line_break() {
    let directory = tempfile::tempdir().unwrap();
    for (content, expected) in [
        ("t0ken", "t0ken"),
        ("t0ken\n", "t0ken"),
        ("t0ken\r\n", "t0ken"),
        ("a\nb\n\n", "a\nb\n"),
    ] {
        std::fs::write(directory.path().join("crm_token"), content).unwrap();
        assert_eq!(
            get(vec![file(directory.path())], "crm_token").await.unwrap(),
            expected,
            "{content:?}"
        );
    }
}

#[tokio::test]
async fn providers_are_asked_in_the_listed_order() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a"), "from file").unwrap();
    std::fs::write(directory.path().join("b"), "from file").unwrap();
    let variables = &[("SPRAG_SECRET_A", "from env")];
    assert_eq!(
        get(vec![env(variables), file(directory.path())], "a").await.unwrap(),
        "from env"
    );
    assert_eq!(
        get(vec![file(directory.path()), env(variables)], "a").await.unwrap(),
        "from file"
    );
    assert_eq!(
        get(vec![env(variables), file(directory.path())], "b").await.unwrap(),
        "from file"
    );
}

#[tokio::test]
async fn a_missing_secret_names_every_place_where_it_was_looked_for() {
    let directory = tempfile::tempdir().unwrap();
    let error = get(vec![env(&[]), file(directory.path())], "crm_token")
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("`SPRAG_SECRET_CRM_TOKEN`"), "{error}");
    assert!(
        error.contains(&directory.path().join("crm_token").display().to_string()),
        "{error}"
    );
}

#[tokio::test]
async fn names_cannot_be_paths() {
    let directory = tempfile::tempdir().unwrap();
    let inner = directory.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(directory.path().join("outer"), "x").unwrap();
    let long = "a".repeat(129);
    for name in [
        "../outer",
        "/etc/passwd",
        "..",
        ".",
        "",
        "a/b",
        "a\0b",
        "1a",
        "a-b",
        "a.b",
        "ä",
        long.as_str(),
    ] {
        let asked = get(vec![file(&inner)], name).await;
        assert!(matches!(asked, Err(SecretError::Name { .. })), "{name}: {asked:?}");
        assert!(
            file(&inner).get(name).await.is_err(),
            "the provider itself takes {name}"
        );
        assert!(env(&[]).get(name).await.is_err(), "the provider itself takes {name}");
    }
}

#[tokio::test]
async fn what_cannot_be_a_secret_is_an_error_that_does_not_show_it() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| std::fs::write(directory.path().join(name), content).unwrap();
    write("large", &vec![b'x'; VALUE_BYTES_MAX + 1]);
    write("largest", &vec![b'x'; VALUE_BYTES_MAX]);
    write("binary", b"hunter2\xff");
    std::fs::create_dir(directory.path().join("folder")).unwrap();
    let ask = async |name: &str| get(vec![file(directory.path())], name).await;
    assert!(matches!(ask("large").await, Err(SecretError::TooLarge { .. })));
    assert_eq!(ask("largest").await.unwrap().len(), VALUE_BYTES_MAX);
    let binary = ask("binary").await.unwrap_err();
    assert!(
        matches!(binary, SecretError::NotText { .. }) && !format!("{binary:?}").contains("hunter2"),
        "{binary:?}"
    );
    assert!(matches!(ask("folder").await, Err(SecretError::Unreadable { .. })));
    let bytes = Env::from_fn(|_| Some(OsString::from_vec(b"hunter2\xff".to_vec())));
    let binary = get(vec![Box::new(bytes)], "a").await.unwrap_err();
    assert!(
        matches!(binary, SecretError::NotText { .. }) && !format!("{binary:?}").contains("hunter2"),
        "{binary:?}"
    );
}

#[tokio::test]
async fn a_provider_that_fails_is_not_passed_over() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("a")).unwrap();
    let asked = get(vec![file(directory.path()), env(&[("SPRAG_SECRET_A", "old")])], "a").await;
    assert!(matches!(asked, Err(SecretError::Unreadable { .. })), "{asked:?}");
}

#[tokio::test]
async fn options_name_the_providers() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("token"), "from file").unwrap();
    let parse = |text: serde_json::Value| serde_json::from_value::<Options>(text);
    let clock: Arc<dyn Clock> = Arc::new(sprag_core::clock::Manual::default());
    let options = parse(serde_json::json!({"providers": ["env", "file"], "dir": directory.path()})).unwrap();
    assert_eq!(
        bounded(Secrets::from_options(&options, &clock).unwrap().get("token"))
            .await
            .unwrap(),
        "from file"
    );
    let options = parse(serde_json::json!({"providers": ["file"]})).unwrap();
    assert_eq!(options.check(), Err(OptionsError::NoDirectory));
    assert!(Secrets::from_options(&options, &clock).is_err());
    let vault = serde_json::json!({"address": "https://vault.example", "path": "sprag", "token": "t"});
    let options = parse(serde_json::json!({"providers": ["vault"], "vault": vault})).unwrap();
    assert!(Secrets::from_options(&options, &clock).is_ok());
    assert!(parse(serde_json::json!({"providers": ["vaults"]})).is_err());
    assert!(parse(serde_json::json!({"directory": "/x"})).is_err());
}

#[tokio::test]
async fn the_environment_of_this_process_can_be_asked() {
    let provider = Env::process();
    assert_eq!(provider.get("surely_not_set_anywhere").await.unwrap(), None);
}
