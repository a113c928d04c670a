//! Configuration: what is read from where, what is refused, and how it is said.

use super::environment::Environment;
use super::file;
use super::layers::{Layers, Problem};
use super::settings::{Given, Settings, StoreAddress};
use super::{Invalid, annotated};

/// What is wrong with a file, as it is printed.
fn problems_of(text: &str) -> Vec<String> {
    let shown = |problem: &Problem| {
        format!(
            "{}: {}: {} ({})",
            problem.place, problem.code, problem.detail, problem.remedy
        )
    };
    file::read("sprag.toml", text, &mut Layers::default())
        .iter()
        .map(shown)
        .collect()
}

fn settings(toml: &str, environment: &[(&str, &str)], given: Given<'_>) -> anyhow::Result<Settings> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sprag.toml");
    std::fs::write(&path, toml).unwrap();
    Settings::load(
        &Given {
            config: Some(&path),
            ..given
        },
        &Environment::of(environment),
    )
}

fn refused(toml: &str, environment: &[(&str, &str)], given: Given<'_>) -> Vec<Problem> {
    let error = settings(toml, environment, given).unwrap_err();
    match error.downcast::<Invalid>() {
        Ok(Invalid { problems }) => problems,
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_name_and_its_place() {
    assert_eq!(
        problems_of("[outbound]\nallwo = []\n"),
        ["sprag.toml:2:1: unknown-key: unknown key `allwo` (did you mean `allow`?)"]
    );
    assert_eq!(
        problems_of("# ü\n  [outbuond]\n"),
        ["sprag.toml:2:4: unknown-section: unknown section `outbuond` (did you mean `outbound`?)"]
    );
}

#[test]
fn everything_wrong_is_said_at_once() {
    let problems = problems_of("exec = 1\n[listen]\naddress = 7400\n[limits]\ninbox = 0\nxyzzy = 1\n");
    let places: Vec<&str> = problems
        .iter()
        .map(|problem| problem.split(": ").next().unwrap())
        .collect();
    assert_eq!(
        places,
        ["sprag.toml:1:8", "sprag.toml:3:11", "sprag.toml:5:9", "sprag.toml:6:1"]
    );
}

#[test]
fn toml_that_does_not_parse_is_a_problem_with_a_place() {
    let problems = problems_of("[listen]\naddress = \n");
    assert!(problems[0].starts_with("sprag.toml:2:"), "{problems:?}");
}

#[test]
fn the_printed_default_is_what_holds_without_a_file() {
    let printed = settings(&annotated(), &[], Given::default()).unwrap();
    let nothing = settings("", &[], Given::default()).unwrap();
    // The audit tells a file that has them all from none.
    let digest = printed.digest.clone();
    assert_ne!(digest, nothing.digest);
    assert_eq!(format!("{printed:?}"), format!("{:?}", Settings { digest, ..nothing }));
}

#[test]
fn flags_win_over_the_environment_and_the_environment_over_the_file() {
    let toml = "[store]\nurl = \"sqlite:file.db\"\n[listen]\naddress = \"127.0.0.1:1\"\n[limits]\ninbox = 7\n";
    let environment = [
        ("SPRAG_STORE", "sqlite:environment.db"),
        ("SPRAG_LISTEN", "127.0.0.1:2"),
    ];
    let given = Given {
        store: Some("sqlite:flag.db"),
        ..Given::default()
    };
    let settings = settings(toml, &environment, given).unwrap();
    assert_eq!(settings.store, StoreAddress::Sqlite("flag.db".into()));
    assert_eq!(settings.listen.port(), 2);
    assert_eq!(settings.engine.limits.inbox, 7);
}

#[test]
fn lists_in_the_environment_are_separated_by_commas() {
    let environment = [
        ("SPRAG_OUTBOUND_ALLOW", "127.0.0.0/8, 10.0.0.0/8"),
        ("SPRAG_EXEC_ALLOW", ""),
    ];
    let settings = settings("", &environment, Given::default()).unwrap();
    assert_eq!(settings.runners.outbound.allow, ["127.0.0.0/8", "10.0.0.0/8"]);
    assert!(settings.runners.exec.allow.is_empty());
}

#[test]
fn a_wrong_value_names_the_layer_it_came_from() {
    let problems = refused(
        "[exec]\nallow = [\"../sh\"]\n",
        &[("SPRAG_LIMITS_INBOX", "many")],
        Given::default(),
    );
    let places: Vec<String> = problems.iter().map(|problem| problem.place.to_string()).collect();
    assert!(places[0].ends_with("sprag.toml:2:9"), "{places:?}");
    assert_eq!(
        places[1], "SPRAG_LIMITS_INBOX",
        "what stands in the file comes first, in its order"
    );
    let given = Given {
        listen: Some("7400"),
        ..Given::default()
    };
    assert_eq!(refused("", &[], given)[0].place.to_string(), "--listen");
}

#[test]
fn a_database_is_named_by_its_url_and_shown_without_its_password() {
    let given = |store| Given {
        store: Some(store),
        ..Given::default()
    };
    let settings = settings("", &[], given("postgres://sprag:hidden@db.example/sprag")).unwrap();
    assert_eq!(settings.store.kind(), "postgres");
    assert_eq!(settings.store.to_string(), "postgres://sprag@db.example:5432/sprag");
    let problems = refused("", &[], given("postgres://db.example/sprag?sslmode=maybe"));
    assert!(problems[0].detail.contains("`maybe`"), "{problems:?}");
    assert!(problems[0].remedy.contains("docs/postgresql.md"), "{problems:?}");
}

#[test]
fn the_file_provider_needs_its_directory() {
    assert_eq!(
        refused("[secrets]\nproviders = [\"file\"]\n", &[], Given::default()).len(),
        1
    );
    let problems = problems_of("[secrets]\nproviders = [\"fiel\"]\n");
    assert!(problems[0].contains("did you mean `file`?"), "{problems:?}");
    assert!(
        settings(
            "[secrets]\nproviders = [\"file\"]\ndir = \"/run/secrets\"\n",
            &[],
            Given::default()
        )
        .is_ok()
    );
}

#[test]
fn services_are_read_with_their_tables_and_checked_where_they_stand() {
    let read = settings(
        "[services.crm]\nbaseUrl = \"https://crm/api\"\ntimeout = 5000\nheaders = { X-Tenant = \"acme\", X-N = 7 }\n\
         [services.crm.authentication]\ntype = \"oauth2\"\ntokenEndpoint = \"https://login/t\"\nclientId = \"me\"\n\
         clientSecret = \"{{secrets.crm}}\"\nscope = [\"a\", \"b\"]\n",
        &[],
        Given::default(),
    );
    let services = read.unwrap().runners.api_call.services;
    let crm = &services["crm"];
    assert_eq!((crm.base_url.as_str(), crm.timeout), ("https://crm/api", Some(5_000)));
    assert_eq!(crm.headers["X-N"], 7);
    assert_eq!(
        crm.authentication.as_ref().unwrap()["scope"],
        serde_json::json!(["a", "b"])
    );
    let problems = refused(
        "[services.a]\nbaseURL = \"https://x\"\n[services.b]\nbaseUrl = \"x\"\nheaders = \"y\"\n\
         [services.c]\nbaseUrl = \"https://x\"\nauthentication = { type = \"bearer\", tokn = \"x\" }\n\
         [services.d]\nbaseUrl = \"https://x\"\ntimeout = 0\nheaders = [\"y\"]\n",
        &[],
        Given::default(),
    );
    let lines: Vec<_> = problems
        .iter()
        .map(|problem| format!("{}: {} ({})", problem.place, problem.detail, problem.remedy))
        .collect();
    let said = lines.join("\n");
    for part in [
        ":2:1: unknown key `baseURL` (did you mean `baseUrl`?)",
        ":1:11: `[services.a]` has no `baseUrl` (add `baseUrl = ",
        ":4:11: `[services.b] baseUrl`: the text is not a URL",
        ":5:11: `headers` must be a table",
        ":8:18: `[services.c] authentication`: `tokn`: unknown key `tokn` (did you mean `token`?)",
        ":8:18: `[services.c] authentication`: `token`: `token` is missing",
        ":11:11: `0` is not a whole number from 1 to 86400000",
        ":12:11: `headers` must be a table",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
}

#[test]
fn a_slip_of_the_pen_in_the_environment_is_noticed_and_a_secret_is_not() {
    let environment = Environment::of(&[
        ("SPRAG_OUTBOUND_ALOW", "x"),
        ("SPRAG_SECRET_STORE", "x"),
        ("SPRAG_SERVICE_PORT_HTTP_PROTO", "x"),
        ("SPRAG_STORE", "sqlite:x.db"),
    ]);
    assert_eq!(
        environment.doubtful(),
        [("SPRAG_OUTBOUND_ALOW", "SPRAG_OUTBOUND_ALLOW")]
    );
}

/// Everything that is said of a file, a line each.
fn said(toml: &str) -> String {
    let problems = refused(toml, &[], Given::default());
    let lines = problems
        .iter()
        .map(|problem| format!("{}: {} ({})", problem.place, problem.detail, problem.remedy));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn entries_with_names_of_their_own_are_read_and_checked_where_they_stand() {
    let key = "[signers.issuer]\nkey = \"{{secrets.issuer_key}}\"\n";
    let read = settings(
        &format!("[chains.base]\nrpc = \"https://node/{{{{secrets.x}}}}\"\nchainId = 8453\n{key}"),
        &[],
        Given::default(),
    );
    let mint = read.unwrap().runners.mint;
    assert_eq!(mint.chains["base"].chain_id, Some(8453));
    assert_eq!(mint.signers["issuer"].key, "{{secrets.issuer_key}}");
    let wrong = said(
        "[chains.base]\nrcp = \"x\"\n[chains.two]\nrpc = \"ftp://x\"\n[signers]\nissuer = 1\n[signers.s]\nkey = \"0x12\"\n\
         [contracts.c]\nchain = \"bse\"\naddress = \"0x1\"\nabi = \"[]\"\n",
    );
    for part in [
        ":2:1: unknown key `rcp` (did you mean `rpc`?)",
        ":1:9: `[chains.base]` has no `rpc`",
        ":4:7: `[chains.two] rpc`",
        "`signers.issuer` is a section",
        "`[signers.s] key`",
        ":10:9: `[contracts.c] chain`",
        "did you mean `base`?",
    ] {
        assert!(wrong.contains(part), "{part} is not in\n{wrong}");
    }
    assert!(!wrong.contains("0x12"), "a key in clear is not repeated: {wrong}");
}

#[test]
fn providers_are_sections_inside_a_section_each_known_by_name() {
    let toml = "[providers.twilio]\naccount = \"AC1\"\ntoken = \"{{secrets.t}}\"\n[providers.smtp]\nhost = \"mail\"\nport = 25\n";
    let variables = [("SPRAG_PROVIDERS_TWILIO_FROM", "+15557122661")];
    let read = settings(toml, &variables, Given::default()).unwrap().runners.providers;
    assert_eq!(read.twilio.unwrap().from.as_deref(), Some("+15557122661"));
    assert_eq!(read.smtp.unwrap().port, Some(25));
    assert_eq!(read.sendgrid, None);
    let wrong = said(
        "[providers.twillio]\naccount = \"x\"\n[providers.smtp]\nhots = \"x\"\nport = 0\n\
         [providers.sendgrid]\nfrom = \"nobody\"\nkey = \"{{env.HOME}}\"\n[providers.twilio]\naccount = \"AC1\"\n",
    );
    for part in [
        ":1:12: unknown section `twillio` (did you mean `twilio`?)",
        ":4:1: unknown key `hots` (did you mean `host`?)",
        ":5:8: `0` is not a whole number from 1 to 65535",
        "`[providers.sendgrid] key`",
        ":10:11: `[providers.twilio] token`: it is missing",
    ] {
        assert!(wrong.contains(part), "{part} is not in\n{wrong}");
    }
}

#[test]
fn a_vault_is_a_section_beside_the_keys_of_secrets() {
    let toml = "[secrets]\nproviders = [\"env\", \"vault\"]\n[secrets.vault]\naddress = \"https://vault\"\npath = \"sprag\"\n\
         token = \"t\"\n";
    let variables = [("SPRAG_SECRETS_VAULT_MOUNT", "kv")];
    let read = settings(toml, &variables, Given::default()).unwrap().secrets;
    assert_eq!((read.providers.len(), read.vault.mount.as_deref()), (2, Some("kv")));
    let wrong = said(
        "[secrets]\nproviders = [\"vault\"]\nprovidres = []\n[secrets.vault]\nadress = \"x\"\npath = \"../sys\"\n",
    );
    for part in [
        ":3:1: unknown key `providres` (did you mean `providers`?)",
        ":5:1: unknown key `adress` (did you mean `address`?)",
        ":2:13: `[secrets.vault] address`",
    ] {
        assert!(wrong.contains(part), "{part} is not in\n{wrong}");
    }
    let path = toml.replace("\"sprag\"", "\"../sys\"");
    assert!(said(&path).contains(":5:8: `[secrets.vault] path`: `../sys` is not a path"));
    assert!(said("[secrets]\nvault = 1\n").contains("`secrets.vault` is a section"));
}

#[test]
fn an_account_for_envelopes_is_a_provider_like_the_others() {
    let toml = "[providers.docusign]\naccount = \"1\"\nintegrationKey = \"k\"\nuser = \"u\"\nprivateKey = \"{{secrets.key}}\"\n";
    let variables = [("SPRAG_PROVIDERS_DOCUSIGN_AUTH_URL", "https://account-d.docusign.com")];
    let read = settings(toml, &variables, Given::default()).unwrap().runners.providers;
    let docusign = read.docusign.unwrap();
    assert_eq!(docusign.auth_url.as_deref(), Some("https://account-d.docusign.com"));
    let wrong = said(&toml.replace("{{secrets.key}}", "hunter2"));
    assert!(
        wrong.contains(":5:14: `[providers.docusign] privateKey`") && !wrong.contains("hunter2"),
        "{wrong}"
    );
    assert!(said("[providers.docusign]\nurl = \"https://x\"\n").contains("privateKey`: it is missing"));
}

#[test]
fn a_nul_is_refused_wherever_it_stands() {
    for (text, line) in [
        ("[store]\nurl = \"sqlite:a\\u0000b\"\n", 2),
        ("[secrets]\nproviders = [\"file\"]\ndir = \"/run\\u0000\"\n", 3),
        ("[exec]\nallow = [\"/bin/cat\", \"/bin/\\u0000sh\"]\n", 2),
        ("[services.crm]\nbaseUrl = \"https://x/\\u0000\"\n", 2),
        ("[[alerts]]\nname = \"a\\u0000\"\n", 2),
    ] {
        let problems = problems_of(text);
        let [problem] = problems.as_slice() else {
            panic!("{problems:?}")
        };
        assert!(problem.starts_with(&format!("sprag.toml:{line}:")), "{problem}");
        assert!(
            problem.contains("holds a NUL character (leave it out)") && problem.contains("\\0"),
            "{problem}"
        );
    }
    let given = Given {
        store: Some("sqlite:a\0b"),
        ..Given::default()
    };
    let problems = refused("", &[], given);
    assert_eq!(problems[0].place.to_string(), "--store");
    assert!(problems[0].detail.contains("NUL"), "{problems:?}");
    let problems = refused(
        "[store]\nurl = \"postgres://u@localhost/d%00\"\n",
        &[],
        Given::default(),
    );
    assert!(problems[0].detail.contains("NUL"), "{problems:?}");
}

#[test]
fn a_store_in_memory_is_refused_with_what_to_use_instead() {
    for url in ["sqlite::memory:", "sqlite://:memory:", "sqlite:file:x?mode=memory"] {
        let given = Given {
            store: Some(url),
            ..Given::default()
        };
        let problems = refused("", &[], given);
        assert_eq!(problems[0].place.to_string(), "--store");
        assert!(problems[0].detail.contains("must outlive the process"), "{problems:?}");
        assert!(problems[0].remedy.contains("sprag up --demo"), "{problems:?}");
    }
}

#[test]
fn what_programs_and_machines_may_have_is_checked_where_it_is_written() {
    for (text, word) in [
        (
            "[exec]\nenv = [\"BASH_ENV\"]\n",
            "can make an allowed program run other code",
        ),
        ("[exec]\nenv = [\"A B\"]\n", "is not the name of a variable"),
        ("[exec]\nuser = \"\"\n", "`[exec] user`"),
        ("[secrets]\nallow = [\"billing\"]\n", "MACHINE=SECRET"),
    ] {
        let problems = refused(text, &[], Given::default());
        assert!(problems[0].detail.contains(word), "{problems:?}");
        assert!(problems[0].place.to_string().contains("sprag.toml:2:"), "{problems:?}");
    }
    let made = settings(
        "[exec]\nenv = [\"LANG\"]\nuser = \"runner\"\n",
        &[("SPRAG_SECRETS_ALLOW", "billing=stripe, *=shared")],
        Given::default(),
    )
    .unwrap();
    assert_eq!(made.runners.exec.env, ["LANG"]);
    assert_eq!(made.runners.exec.user.as_deref(), Some("runner"));
    assert_eq!(made.secrets.allow.unwrap(), ["billing=stripe", "*=shared"]);
    assert_eq!(settings("", &[], Given::default()).unwrap().secrets.allow, None);
}
