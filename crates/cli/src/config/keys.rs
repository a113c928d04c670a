//! Every key of the configuration, with what it holds.

/// One key.
#[derive(Debug)]
pub(super) struct Key {
    /// The table it stands in.
    pub(super) section: &'static str,
    /// Its name there.
    pub(super) name: &'static str,
    /// The environment variable that overrides it.
    pub(super) variable: &'static str,
    /// What it holds.
    pub(super) kind: Kind,
    /// The default as TOML; none where nothing is set.
    pub(super) default: Option<&'static str>,
    /// What it is for, one comment line each.
    pub(super) about: &'static [&'static str],
}

/// What a key holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A text.
    Text,
    /// A list of texts; in the environment separated by commas.
    Texts,
    /// A list of some of these words.
    Words(&'static [&'static str]),
    /// A whole number in these bounds.
    Whole {
        /// Not less.
        least: u64,
        /// Not more.
        most: u64,
    },
    /// Names with texts, numbers, lists and tables; only the file can have one.
    Table,
}

const MEBIBYTES_64: u64 = 64 * 1024 * 1024;

/// All of them, in the order in which they are printed.
pub(super) static KEYS: &[Key] = &[
    Key {
        section: "listen",
        name: "address",
        variable: "SPRAG_LISTEN",
        kind: Kind::Text,
        default: Some("\"127.0.0.1:7400\""),
        about: &["Where the API answers. Port 0 takes a free one and says which."],
    },
    Key {
        section: "listen",
        name: "hosts",
        variable: "SPRAG_LISTEN_HOSTS",
        kind: Kind::Texts,
        default: Some("[]"),
        about: &["Names the server is addressed by, besides localhost and loopback addresses."],
    },
    Key {
        section: "listen",
        name: "advertise",
        variable: "SPRAG_LISTEN_ADVERTISE",
        kind: Kind::Text,
        default: None,
        about: &[
            "Where other nodes on the same database reach this one: `HOST:PORT`.",
            "The address it listens on if not set.",
        ],
    },
    Key {
        section: "store",
        name: "url",
        variable: "SPRAG_STORE",
        kind: Kind::Text,
        default: Some("\"sqlite:./sprag.db\""),
        about: &[
            "Where everything is remembered: `sqlite:PATH`, a file on a local disk,",
            "or `postgres://USER@HOST/DATABASE`.",
        ],
    },
    Key {
        section: "store",
        name: "shards",
        variable: "SPRAG_STORE_SHARDS",
        kind: Kind::Whole { least: 1, most: 4_096 },
        default: Some("64"),
        about: &[
            "Into how many shards a new PostgreSQL database is divided: what nodes share among",
            "themselves. One that exists keeps those it has; a file has one.",
        ],
    },
    Key {
        section: "outbound",
        name: "allow",
        variable: "SPRAG_OUTBOUND_ALLOW",
        kind: Kind::Texts,
        default: Some("[]"),
        about: &[
            "Networks that addresses in machines may reach although they are private,",
            "loopback or link-local: `[\"127.0.0.0/8\", \"10.1.0.0/16\"]`.",
        ],
    },
    Key {
        section: "exec",
        name: "allow",
        variable: "SPRAG_EXEC_ALLOW",
        kind: Kind::Texts,
        default: Some("[]"),
        about: &["Programs that `exec` actions may start: `[\"/usr/bin/rsync\"]`. None unless listed."],
    },
    Key {
        section: "exec",
        name: "env",
        variable: "SPRAG_EXEC_ENV",
        kind: Kind::Texts,
        default: Some("[]"),
        about: &[
            "Environment variables that `exec` actions may set: `[\"LANG\", \"REPORT_DAY\"]`. None unless listed;",
            "those that make programs run other code (PATH, LD_PRELOAD, BASH_ENV, ...) cannot be listed.",
        ],
    },
    Key {
        section: "exec",
        name: "user",
        variable: "SPRAG_EXEC_USER",
        kind: Kind::Text,
        default: None,
        about: &[
            "The user of this machine that these programs run as, in its own group only.",
            "Needs a server that runs as root. The server's own user if not set.",
        ],
    },
    Key {
        section: "secrets",
        name: "providers",
        variable: "SPRAG_SECRETS_PROVIDERS",
        kind: Kind::Words(&["env", "file", "vault"]),
        default: Some("[\"env\"]"),
        about: &[
            "Who is asked for `secrets.NAME`, in this order: `env` is SPRAG_SECRET_NAME,",
            "`file` is the content of `<dir>/NAME`, `vault` is the key NAME at the path of [secrets.vault].",
        ],
    },
    Key {
        section: "secrets",
        name: "dir",
        variable: "SPRAG_SECRETS_DIR",
        kind: Kind::Text,
        default: None,
        about: &["The directory of the provider `file`."],
    },
    Key {
        section: "secrets",
        name: "allow",
        variable: "SPRAG_SECRETS_ALLOW",
        kind: Kind::Texts,
        default: None,
        about: &[
            "Which machines may name which secrets: `[\"billing=stripe_key\", \"order_*=courier_*\"]`, where `*` at",
            "the end matches any ending. Not set: every machine may name every secret.",
        ],
    },
    provider(
        ("secrets.vault", "address"),
        "SPRAG_SECRETS_VAULT_ADDRESS",
        Kind::Text,
        &["Where the provider `vault` is: `https://vault.example.com:8200`."],
    ),
    provider(
        ("secrets.vault", "mount"),
        "SPRAG_SECRETS_VAULT_MOUNT",
        Kind::Text,
        &["Where its key-value engine, version 2, is mounted; `secret` if not set."],
    ),
    provider(
        ("secrets.vault", "path"),
        "SPRAG_SECRETS_VAULT_PATH",
        Kind::Text,
        &["The path whose keys are the secrets: `apps/sprag`."],
    ),
    provider(
        ("secrets.vault", "token"),
        "SPRAG_SECRETS_VAULT_TOKEN",
        Kind::Text,
        &["Who asks; VAULT_TOKEN of the environment if not set."],
    ),
    provider(
        ("secrets.vault", "namespace"),
        "SPRAG_SECRETS_VAULT_NAMESPACE",
        Kind::Text,
        &["The namespace, where the Vault has any."],
    ),
    Key {
        section: "retention",
        name: "closedDays",
        variable: "SPRAG_RETENTION_CLOSED_DAYS",
        kind: Kind::Whole { least: 1, most: 36_500 },
        default: None,
        about: &[
            "Closed executions that last changed so many days ago are deleted with everything",
            "that belongs to them, unless an action of theirs is open or dead. Not set: kept for ever.",
        ],
    },
    Key {
        section: "telemetry",
        name: "otlpEndpoint",
        variable: "SPRAG_TELEMETRY_OTLP_ENDPOINT",
        kind: Kind::Text,
        default: None,
        about: &[
            "A collector that takes traces by OTLP over HTTP: `\"http://127.0.0.1:4318\"`;",
            "`/v1/traces` is added. Not set: no traces.",
        ],
    },
    Key {
        section: "telemetry",
        name: "serviceName",
        variable: "SPRAG_TELEMETRY_SERVICE_NAME",
        kind: Kind::Text,
        default: Some("\"sprag\""),
        about: &["What this server is called there."],
    },
    provider(
        ("providers.twilio", "account"),
        "SPRAG_PROVIDERS_TWILIO_ACCOUNT",
        Kind::Text,
        &["The account that sends `sms` actions; credentials may be `{{secrets.NAME}}`."],
    ),
    provider(
        ("providers.twilio", "token"),
        "SPRAG_PROVIDERS_TWILIO_TOKEN",
        Kind::Text,
        &["Its token, or the secret of `apiKey`."],
    ),
    provider(
        ("providers.twilio", "apiKey"),
        "SPRAG_PROVIDERS_TWILIO_API_KEY",
        Kind::Text,
        &["The SID of an API key, to be used instead of the account's own token."],
    ),
    provider(
        ("providers.twilio", "from"),
        "SPRAG_PROVIDERS_TWILIO_FROM",
        Kind::Text,
        &["Who sends, unless an action says: a number, a short code or a name."],
    ),
    provider(
        ("providers.twilio", "messagingService"),
        "SPRAG_PROVIDERS_TWILIO_MESSAGING_SERVICE",
        Kind::Text,
        &["The messaging service that sends, in place of `from`."],
    ),
    provider(
        ("providers.twilio", "url"),
        "SPRAG_PROVIDERS_TWILIO_URL",
        Kind::Text,
        &["Where the service is, `https://api.twilio.com` if not set."],
    ),
    provider(
        ("providers.smtp", "host"),
        "SPRAG_PROVIDERS_SMTP_HOST",
        Kind::Text,
        &["The mail server of `email` actions with `provider: smtp`."],
    ),
    provider(
        ("providers.smtp", "port"),
        "SPRAG_PROVIDERS_SMTP_PORT",
        Kind::Whole { least: 1, most: 65_535 },
        &["Its port; 587, 465 or 25 if not set, by `security`."],
    ),
    provider(
        ("providers.smtp", "security"),
        "SPRAG_PROVIDERS_SMTP_SECURITY",
        Kind::Text,
        &["`starttls` if not set, `tls` from the first byte, or `none`."],
    ),
    provider(
        ("providers.smtp", "username"),
        "SPRAG_PROVIDERS_SMTP_USERNAME",
        Kind::Text,
        &["Who logs in; may be `{{secrets.NAME}}`, as the password."],
    ),
    provider(
        ("providers.smtp", "password"),
        "SPRAG_PROVIDERS_SMTP_PASSWORD",
        Kind::Text,
        &["The password."],
    ),
    provider(
        ("providers.smtp", "from"),
        "SPRAG_PROVIDERS_SMTP_FROM",
        Kind::Text,
        &["Who sends, unless an action says: `Sprag <sprag@example.com>`."],
    ),
    provider(
        ("providers.smtp", "ca"),
        "SPRAG_PROVIDERS_SMTP_CA",
        Kind::Text,
        &["A PEM file of certificates that are trusted besides the machine's own."],
    ),
    provider(
        ("providers.sendgrid", "key"),
        "SPRAG_PROVIDERS_SENDGRID_KEY",
        Kind::Text,
        &["The API key; may be `{{secrets.NAME}}`."],
    ),
    provider(
        ("providers.sendgrid", "from"),
        "SPRAG_PROVIDERS_SENDGRID_FROM",
        Kind::Text,
        &["Who sends, unless an action says."],
    ),
    provider(
        ("providers.sendgrid", "url"),
        "SPRAG_PROVIDERS_SENDGRID_URL",
        Kind::Text,
        &["Where the service is, `https://api.sendgrid.com` if not set."],
    ),
    provider(
        ("providers.sendgrid", "templates"),
        "SPRAG_PROVIDERS_SENDGRID_TEMPLATES",
        Kind::Texts,
        &["Names that actions use for the vendor's templates: `[\"notice=d-0123456789abcdef\"]`."],
    ),
    provider(
        ("providers.docusign", "account"),
        "SPRAG_PROVIDERS_DOCUSIGN_ACCOUNT",
        Kind::Text,
        &["The id of the account that sends `docusign_envelope` actions; all of these may be `{{secrets.NAME}}`."],
    ),
    provider(
        ("providers.docusign", "integrationKey"),
        "SPRAG_PROVIDERS_DOCUSIGN_INTEGRATION_KEY",
        Kind::Text,
        &["The integration key."],
    ),
    provider(
        ("providers.docusign", "user"),
        "SPRAG_PROVIDERS_DOCUSIGN_USER",
        Kind::Text,
        &["The id of the user that envelopes are sent for."],
    ),
    provider(
        ("providers.docusign", "privateKey"),
        "SPRAG_PROVIDERS_DOCUSIGN_PRIVATE_KEY",
        Kind::Text,
        &["The integration key's RSA private key in PEM."],
    ),
    provider(
        ("providers.docusign", "url"),
        "SPRAG_PROVIDERS_DOCUSIGN_URL",
        Kind::Text,
        &["Where the account is, `https://www.docusign.net` if not set."],
    ),
    provider(
        ("providers.docusign", "authUrl"),
        "SPRAG_PROVIDERS_DOCUSIGN_AUTH_URL",
        Kind::Text,
        &["Where its tokens come from, `https://account.docusign.com` if not set."],
    ),
    limit(
        "bodyBytes",
        "SPRAG_LIMITS_BODY_BYTES",
        (1024, MEBIBYTES_64),
        "1048576",
        &["The body of a request, in bytes."],
    ),
    limit(
        "messageBytes",
        "SPRAG_LIMITS_MESSAGE_BYTES",
        (1, MEBIBYTES_64),
        "262144",
        &["A message, in bytes."],
    ),
    limit(
        "variablesBytes",
        "SPRAG_LIMITS_VARIABLES_BYTES",
        (1, MEBIBYTES_64),
        "262144",
        &["Variables and results of an execution, in bytes."],
    ),
    limit(
        "jsonDepth",
        "SPRAG_LIMITS_JSON_DEPTH",
        (1, 64),
        "32",
        &["Levels of JSON."],
    ),
    limit(
        "microsteps",
        "SPRAG_LIMITS_MICROSTEPS",
        (1, 1_000_000),
        "1000",
        &["Microsteps in a macrostep."],
    ),
    limit(
        "inbox",
        "SPRAG_LIMITS_INBOX",
        (1, 100_000),
        "1000",
        &["Inputs that wait for one execution."],
    ),
    limit(
        "historyPage",
        "SPRAG_LIMITS_HISTORY_PAGE",
        (1, 10_000),
        "1000",
        &["Entries of a page of history."],
    ),
    limit(
        "attempts",
        "SPRAG_LIMITS_ATTEMPTS",
        (1, 1_000_000),
        "1024",
        &["Attempts under way at once, in all."],
    ),
];

/// A key of a provider of services or of secrets: without a default, since one that is not set up is not there.
const fn provider(
    (section, name): (&'static str, &'static str),
    variable: &'static str,
    kind: Kind,
    about: &'static [&'static str],
) -> Key {
    Key {
        section,
        name,
        variable,
        kind,
        default: None,
        about,
    }
}

const fn limit(
    name: &'static str,
    variable: &'static str,
    (least, most): (u64, u64),
    default: &'static str,
    about: &'static [&'static str],
) -> Key {
    Key {
        section: "limits",
        name,
        variable,
        kind: Kind::Whole { least, most },
        default: Some(default),
        about,
    }
}

/// The sections, each once, in order.
pub(super) fn sections() -> Vec<&'static str> {
    let mut sections: Vec<&str> = Vec::new();
    for key in KEYS {
        if !sections.contains(&key.section) {
            sections.push(key.section);
        }
    }
    sections
}

/// The sections inside the one of that name; none where it has no others inside. It may have keys of its own besides.
pub(super) fn inner(outer: &str) -> Option<Vec<&'static str>> {
    let is_inside = |section: &&str| section.split_once('.').is_some_and(|(first, _)| first == outer);
    let inner: Vec<_> = sections().into_iter().filter(is_inside).collect();
    (!inner.is_empty()).then_some(inner)
}

/// What a section is called inside another.
pub(super) fn last(section: &str) -> &str {
    section.rsplit('.').next().unwrap_or(section)
}

/// The keys of a section.
pub(super) fn of(section: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.section == section)
}

/// How the value of a key without a default could look.
pub(super) fn example(key: &Key) -> String {
    match key.kind {
        Kind::Whole { least, .. } => least.to_string(),
        Kind::Texts | Kind::Words(_) => "[]".to_owned(),
        Kind::Text => "\"\"".to_owned(),
        Kind::Table => "{}".to_owned(),
    }
}
