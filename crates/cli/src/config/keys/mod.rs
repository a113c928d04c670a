//! Every key of the configuration, with its type, its default and its meaning.

mod access;

use sprag_core::document::Shape;

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
    pub(super) shape: Shape,
    /// The default as TOML; none where nothing is set.
    pub(super) default: Option<&'static str>,
    /// What it is for, one comment line each.
    pub(super) about: &'static [&'static str],
}

const TEXTS: Shape = Shape::List(&Shape::Text);
const MEBIBYTES_64: u64 = 64 * 1024 * 1024;

/// All of them, in the order in which they are printed.
pub(super) fn all() -> impl Iterator<Item = &'static Key> {
    access::KEYS.iter().chain(KEYS)
}

/// Those that are not about access.
static KEYS: &[Key] = &[
    Key {
        section: "store",
        name: "url",
        variable: "SPRAG_STORE",
        shape: Shape::Text,
        default: Some("\"sqlite:./sprag.db\""),
        about: &[
            "The store: `sqlite:PATH`, a file on a local disk,",
            "or `postgres://USER@HOST/DATABASE`.",
        ],
    },
    Key {
        section: "store",
        name: "shards",
        variable: "SPRAG_STORE_SHARDS",
        shape: Shape::Whole { least: 1, most: 4_096 },
        default: Some("64"),
        about: &[
            "The number of shards of a new PostgreSQL database, which nodes share among themselves.",
            "An existing database keeps its number; a file has one shard.",
        ],
    },
    Key {
        section: "outbound",
        name: "allow",
        variable: "SPRAG_OUTBOUND_ALLOW",
        shape: TEXTS,
        default: Some("[]"),
        about: &[
            "Private, loopback or link-local networks and hosts that machines may reach:",
            "`[\"127.0.0.0/8\", \"10.1.0.0/16\", \"crm.internal\"]`.",
        ],
    },
    Key {
        section: "exec",
        name: "allow",
        variable: "SPRAG_EXEC_ALLOW",
        shape: TEXTS,
        default: Some("[]"),
        about: &["Programs that `exec` actions may run: `[\"/usr/bin/rsync\"]`. No other program runs."],
    },
    Key {
        section: "exec",
        name: "env",
        variable: "SPRAG_EXEC_ENV",
        shape: TEXTS,
        default: Some("[]"),
        about: &[
            "Environment variables that `exec` actions may set: `[\"LANG\", \"REPORT_DAY\"]`.",
            "You cannot list variables that make programs run other code (PATH, LD_PRELOAD, BASH_ENV, ...).",
        ],
    },
    optional(
        ("exec", "user"),
        "SPRAG_EXEC_USER",
        Shape::Text,
        &[
            "The user that runs these programs, in its own group only. The server must run as root.",
            "Default: the server's own user.",
        ],
    ),
    Key {
        section: "secrets",
        name: "providers",
        variable: "SPRAG_SECRETS_PROVIDERS",
        shape: Shape::List(&Shape::Word(&["env", "file", "vault"])),
        default: Some("[\"env\"]"),
        about: &[
            "The providers of `secrets.NAME`, in the order in which Sprag asks them: `env` is SPRAG_SECRET_NAME,",
            "`file` is the content of `<dir>/NAME`, `vault` is the key NAME at the path of [secrets.vault].",
        ],
    },
    optional(
        ("secrets", "dir"),
        "SPRAG_SECRETS_DIR",
        Shape::Text,
        &["The directory of the provider `file`."],
    ),
    optional(
        ("secrets", "allow"),
        "SPRAG_SECRETS_ALLOW",
        TEXTS,
        &[
            "Which machines may use which secrets: `[\"billing=stripe_key\", \"order_*=courier_*\"]`.",
            "`*` at the end matches any ending. Default: every machine may use every secret.",
        ],
    ),
    optional(
        ("secrets.vault", "address"),
        "SPRAG_SECRETS_VAULT_ADDRESS",
        Shape::Text,
        &["The address of the Vault: `https://vault.example.com:8200`."],
    ),
    optional(
        ("secrets.vault", "mount"),
        "SPRAG_SECRETS_VAULT_MOUNT",
        Shape::Text,
        &["The mount of its key-value engine, version 2. Default: `secret`."],
    ),
    optional(
        ("secrets.vault", "path"),
        "SPRAG_SECRETS_VAULT_PATH",
        Shape::Text,
        &["The path that holds the secrets as keys: `apps/sprag`."],
    ),
    optional(
        ("secrets.vault", "token"),
        "SPRAG_SECRETS_VAULT_TOKEN",
        Shape::Text,
        &["The token. Default: the environment variable VAULT_TOKEN."],
    ),
    optional(
        ("secrets.vault", "namespace"),
        "SPRAG_SECRETS_VAULT_NAMESPACE",
        Shape::Text,
        &["The namespace, if the Vault has namespaces."],
    ),
    optional(
        ("retention", "closedDays"),
        "SPRAG_RETENTION_CLOSED_DAYS",
        Shape::Whole { least: 1, most: 36_500 },
        &[
            "Delete closed executions that did not change for this many days, unless they have open actions",
            "or dead letters. Default: keep them for ever.",
        ],
    ),
    Key {
        section: "approval",
        name: "mode",
        variable: "SPRAG_APPROVAL_MODE",
        shape: Shape::Word(&["declared-or-risk", "declared", "all"]),
        default: Some("\"declared-or-risk\""),
        about: &[
            "Which plans need approval: those that an operation declares or whose risk reaches the threshold,",
            "those that an operation declares, or all.",
        ],
    },
    Key {
        section: "approval",
        name: "threshold",
        variable: "SPRAG_APPROVAL_THRESHOLD",
        shape: Shape::Word(&["low", "medium", "high", "critical"]),
        default: Some("\"high\""),
        about: &["The risk from which on a plan needs approval."],
    },
    Key {
        section: "approval",
        name: "quorum",
        variable: "SPRAG_APPROVAL_QUORUM",
        shape: Shape::Whole { least: 1, most: 10 },
        default: Some("1"),
        about: &["How many principals must approve a plan."],
    },
    Key {
        section: "approval",
        name: "selfApproval",
        variable: "SPRAG_APPROVAL_SELF_APPROVAL",
        shape: Shape::Flag,
        default: Some("false"),
        about: &["Whether a proposer may approve: for one person who tries Sprag alone."],
    },
    optional(
        ("approval", "decideWithin"),
        "SPRAG_APPROVAL_DECIDE_WITHIN",
        Shape::Text,
        &[
            "The time in which somebody must decide about a plan, such as \"2h\"; after it, the plan expires.",
            "Default: no limit.",
        ],
    ),
    optional(
        ("approval", "validFor"),
        "SPRAG_APPROVAL_VALID_FOR",
        Shape::Text,
        &["The time after an approval in which steps must begin, such as \"24h\". Default: no limit."],
    ),
    Key {
        section: "mcp",
        name: "hosts",
        variable: "SPRAG_MCP_HOSTS",
        shape: TEXTS,
        default: Some("[]"),
        about: &[
            "The hosts that agents may check with `http_check` and `tcp_check`. The server also refuses such a check of",
            "another host by the role `proposer` alone, unless the plan needs approval.",
        ],
    },
    Key {
        section: "audit",
        name: "reason",
        variable: "SPRAG_AUDIT_REASON",
        shape: TEXTS,
        default: Some("[]"),
        about: &[
            "Decisions that need a reason: verbs such as `\"switch.on\"`, or all verbs of a noun such as `\"switch\"`.",
            "Sprag refuses such a request without a reason.",
        ],
    },
    optional(
        ("audit.heads", "file"),
        "SPRAG_AUDIT_HEADS_FILE",
        Shape::Text,
        &[
            "A file to which Sprag appends the heads of the audit, best on another machine. `sprag audit verify",
            "--heads` reads it. Default: no export.",
        ],
    ),
    Key {
        section: "audit.heads",
        name: "every",
        variable: "SPRAG_AUDIT_HEADS_EVERY",
        shape: Shape::Text,
        default: Some("\"10m\""),
        about: &["How often Sprag looks for new entries to export."],
    },
    Key {
        section: "switches",
        name: "rate",
        variable: "SPRAG_SWITCHES_RATE",
        shape: Shape::Text,
        default: Some("\"100/1s\""),
        about: &["How many actions that a kill switch held start per time, once it is released or expires."],
    },
    optional(
        ("telemetry", "otlpEndpoint"),
        "SPRAG_TELEMETRY_OTLP_ENDPOINT",
        Shape::Text,
        &[
            "A collector of traces by OTLP over HTTP: `\"http://127.0.0.1:4318\"`. Sprag appends `/v1/traces`.",
            "Default: no traces.",
        ],
    ),
    Key {
        section: "telemetry",
        name: "serviceName",
        variable: "SPRAG_TELEMETRY_SERVICE_NAME",
        shape: Shape::Text,
        default: Some("\"sprag\""),
        about: &["The `service.name` of this server in traces."],
    },
    optional(
        ("providers.twilio", "account"),
        "SPRAG_PROVIDERS_TWILIO_ACCOUNT",
        Shape::Text,
        &["The Twilio account for `sms` actions. Credentials may be `{{secrets.NAME}}`."],
    ),
    optional(
        ("providers.twilio", "token"),
        "SPRAG_PROVIDERS_TWILIO_TOKEN",
        Shape::Text,
        &["The token of the account, or the secret of `apiKey`."],
    ),
    optional(
        ("providers.twilio", "apiKey"),
        "SPRAG_PROVIDERS_TWILIO_API_KEY",
        Shape::Text,
        &["The SID of an API key. Default: the account's own token is used."],
    ),
    optional(
        ("providers.twilio", "from"),
        "SPRAG_PROVIDERS_TWILIO_FROM",
        Shape::Text,
        &["The sender, if the action sets none: a number, a short code or a name."],
    ),
    optional(
        ("providers.twilio", "messagingService"),
        "SPRAG_PROVIDERS_TWILIO_MESSAGING_SERVICE",
        Shape::Text,
        &["The messaging service that sends, instead of `from`."],
    ),
    optional(
        ("providers.twilio", "url"),
        "SPRAG_PROVIDERS_TWILIO_URL",
        Shape::Text,
        &["The URL of the service. Default: `https://api.twilio.com`."],
    ),
    optional(
        ("providers.smtp", "host"),
        "SPRAG_PROVIDERS_SMTP_HOST",
        Shape::Text,
        &["The mail server of `email` actions with `provider: smtp`."],
    ),
    optional(
        ("providers.smtp", "port"),
        "SPRAG_PROVIDERS_SMTP_PORT",
        Shape::Whole { least: 1, most: 65_535 },
        &["The port. Default: 587, 465 or 25, by `security`."],
    ),
    optional(
        ("providers.smtp", "security"),
        "SPRAG_PROVIDERS_SMTP_SECURITY",
        Shape::Text,
        &["`starttls` (default), `tls` (encrypted from the start), or `none`."],
    ),
    optional(
        ("providers.smtp", "username"),
        "SPRAG_PROVIDERS_SMTP_USERNAME",
        Shape::Text,
        &["The login; like the password, it may be `{{secrets.NAME}}`."],
    ),
    optional(
        ("providers.smtp", "password"),
        "SPRAG_PROVIDERS_SMTP_PASSWORD",
        Shape::Text,
        &["The password."],
    ),
    optional(
        ("providers.smtp", "from"),
        "SPRAG_PROVIDERS_SMTP_FROM",
        Shape::Text,
        &["The sender, if the action sets none: `Sprag <sprag@example.com>`."],
    ),
    optional(
        ("providers.smtp", "ca"),
        "SPRAG_PROVIDERS_SMTP_CA",
        Shape::Text,
        &["A PEM file of certificates that Sprag trusts besides those of the system."],
    ),
    optional(
        ("providers.sendgrid", "key"),
        "SPRAG_PROVIDERS_SENDGRID_KEY",
        Shape::Text,
        &["The API key; may be `{{secrets.NAME}}`."],
    ),
    optional(
        ("providers.sendgrid", "from"),
        "SPRAG_PROVIDERS_SENDGRID_FROM",
        Shape::Text,
        &["The sender, if the action sets none."],
    ),
    optional(
        ("providers.sendgrid", "url"),
        "SPRAG_PROVIDERS_SENDGRID_URL",
        Shape::Text,
        &["The URL of the service. Default: `https://api.sendgrid.com`."],
    ),
    optional(
        ("providers.sendgrid", "templates"),
        "SPRAG_PROVIDERS_SENDGRID_TEMPLATES",
        TEXTS,
        &["Names for SendGrid's templates, used by actions: `[\"notice=d-0123456789abcdef\"]`."],
    ),
    optional(
        ("providers.docusign", "account"),
        "SPRAG_PROVIDERS_DOCUSIGN_ACCOUNT",
        Shape::Text,
        &["The id of the account for `docusign_envelope` actions. Every key here may be `{{secrets.NAME}}`."],
    ),
    optional(
        ("providers.docusign", "integrationKey"),
        "SPRAG_PROVIDERS_DOCUSIGN_INTEGRATION_KEY",
        Shape::Text,
        &["The integration key."],
    ),
    optional(
        ("providers.docusign", "user"),
        "SPRAG_PROVIDERS_DOCUSIGN_USER",
        Shape::Text,
        &["The id of the user that sends the envelopes."],
    ),
    optional(
        ("providers.docusign", "privateKey"),
        "SPRAG_PROVIDERS_DOCUSIGN_PRIVATE_KEY",
        Shape::Text,
        &["The integration key's RSA private key in PEM."],
    ),
    optional(
        ("providers.docusign", "url"),
        "SPRAG_PROVIDERS_DOCUSIGN_URL",
        Shape::Text,
        &["The base URI of the account. Default: `https://www.docusign.net`."],
    ),
    optional(
        ("providers.docusign", "authUrl"),
        "SPRAG_PROVIDERS_DOCUSIGN_AUTH_URL",
        Shape::Text,
        &["The server that issues tokens. Default: `https://account.docusign.com`."],
    ),
    limit(
        "bodyBytes",
        "SPRAG_LIMITS_BODY_BYTES",
        (1024, MEBIBYTES_64),
        "1048576",
        &["The largest body of a request, in bytes."],
    ),
    limit(
        "messageBytes",
        "SPRAG_LIMITS_MESSAGE_BYTES",
        (1, MEBIBYTES_64),
        "262144",
        &["The largest message, in bytes."],
    ),
    limit(
        "variablesBytes",
        "SPRAG_LIMITS_VARIABLES_BYTES",
        (1, MEBIBYTES_64),
        "262144",
        &["The largest variables of an execution and the largest result of an attempt, in bytes."],
    ),
    limit(
        "jsonDepth",
        "SPRAG_LIMITS_JSON_DEPTH",
        (1, 64),
        "32",
        &["The deepest nesting of JSON."],
    ),
    limit(
        "microsteps",
        "SPRAG_LIMITS_MICROSTEPS",
        (1, 1_000_000),
        "1000",
        &["The most microsteps in a step."],
    ),
    limit(
        "inbox",
        "SPRAG_LIMITS_INBOX",
        (1, 100_000),
        "1000",
        &["The most inputs in the inbox of an execution."],
    ),
    limit(
        "historyPage",
        "SPRAG_LIMITS_HISTORY_PAGE",
        (1, 10_000),
        "1000",
        &["The most entries in a page of history."],
    ),
    limit(
        "attempts",
        "SPRAG_LIMITS_ATTEMPTS",
        (1, 1_000_000),
        "1024",
        &["The most attempts that run at once."],
    ),
];

/// A key without a default: what it sets up is not there unless it is given.
const fn optional(
    (section, name): (&'static str, &'static str),
    variable: &'static str,
    shape: Shape,
    about: &'static [&'static str],
) -> Key {
    Key {
        section,
        name,
        variable,
        shape,
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
        shape: Shape::Whole { least, most },
        default: Some(default),
        about,
    }
}

/// The sections, each once, in order.
pub(super) fn sections() -> Vec<&'static str> {
    let mut sections: Vec<&str> = Vec::new();
    for key in all() {
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
    all().filter(move |key| key.section == section)
}

/// How the value of a key without a default could look.
pub(super) fn example(key: &Key) -> String {
    match key.shape {
        Shape::Whole { least, .. } => least.to_string(),
        Shape::List(_) => "[]".to_owned(),
        Shape::Open => "{}".to_owned(),
        _ => "\"\"".to_owned(),
    }
}
