//! Every key of the configuration, with its type, its default and its meaning.

use sprag_core::document::Shape::{self, Flag, List, Open, Text, Whole, Word};

use super::alerts;

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

const TEXTS: Shape = List(&Text);
const MEBIBYTES_64: u64 = 64 * 1024 * 1024;

/// Keys by their sections, each with its variable, shape, default and lines about it.
macro_rules! keys {
    ($($section:literal {
        $($name:literal or $variable:literal: $shape:expr, $default:expr => $($about:literal),+;)+
    })+) => {
        &[$($(Key {
            section: $section,
            name: $name,
            variable: $variable,
            shape: $shape,
            default: $default,
            about: &[$($about),+],
        }),+),+]
    };
}

/// All of them, in the order in which they are printed.
pub(super) static KEYS: &[Key] = keys! {
    "listen" {
        "address" or "SPRAG_LISTEN": Text, Some("\"127.0.0.1:7400\"")
            => "The address of the API. With port 0, the server uses a free port and prints it.";
        "hosts" or "SPRAG_LISTEN_HOSTS": TEXTS, Some("[]")
            => "Host names of the server, besides localhost and loopback addresses.";
        "advertise" or "SPRAG_LISTEN_ADVERTISE": Text, None
            => "The address for other nodes on the same database: `HOST:PORT`, or a URL with http or https.",
               "Default: the address of the API.";
    }
    "listen.tls" {
        "certificate" or "SPRAG_LISTEN_TLS_CERTIFICATE": Text, None
            => "The certificate of the server, PEM, followed by those of the authorities between it and its root.",
               "With it, the server speaks TLS only. The server notices when the file changes.";
        "key" or "SPRAG_LISTEN_TLS_KEY": Text, None
            => "The private key of the certificate, PEM.";
        "clientCa" or "SPRAG_LISTEN_TLS_CLIENT_CA": Text, None
            => "The authorities whose certificates clients show, PEM. Default: clients show none.";
        "clients" or "SPRAG_LISTEN_TLS_CLIENTS": Word(&["required", "optional"]), None
            => "`required`, the default: every client must show such a certificate. `optional`: only nodes must.";
    }
    "nodes" {
        "ca" or "SPRAG_NODES_CA": Text, None
            => "The authorities of the certificates of other nodes, PEM. Default: those that the system trusts.";
        "certificate" or "SPRAG_NODES_CERTIFICATE": Text, None
            => "The certificate that this node shows other nodes, PEM, if they ask for one.";
        "key" or "SPRAG_NODES_KEY": Text, None
            => "Its private key, PEM.";
    }
    "auth" {
        "mode" or "SPRAG_AUTH": Word(&["off", "token", "oidc"]), Some("\"off\"")
            => "Who may use the API. `off`: everybody who reaches it, so it listens on loopback only.",
               "`token`: callers with a token; `sprag token create` creates one.",
               "`oidc`: the same, and callers with a token of the provider in [auth.oidc].";
        "metrics" or "SPRAG_AUTH_METRICS": Word(&["viewers", "everybody"]), Some("\"viewers\"")
            => "Who may read /metrics: tokens with the role viewer, or `everybody`.";
        "plainText" or "SPRAG_AUTH_PLAIN_TEXT": Word(&["refuse", "accept"]), Some("\"refuse\"")
            => "`accept`: listen off loopback without [listen.tls], and call other nodes by http. Others in the",
               "network could read the tokens on their way.";
        "requestsPerSecond" or "SPRAG_AUTH_REQUESTS_PER_SECOND": Whole { least: 1, most: 1_000_000 }, Some("20000")
            => "The requests a second that one token, or one principal of a provider, may send.";
    }
    "auth.oidc" {
        "issuer" or "SPRAG_AUTH_OIDC_ISSUER": Text, None
            => "The OpenID provider, exactly as its tokens name it: `https://login.example.com`.";
        "audience" or "SPRAG_AUTH_OIDC_AUDIENCE": Text, None
            => "The audience of tokens for this server.";
        "roleClaim" or "SPRAG_AUTH_OIDC_ROLE_CLAIM": Text, Some("\"roles\"")
            => "The claim with the roles. A path leads into claims: `realm_access.roles`.";
        "roles" or "SPRAG_AUTH_OIDC_ROLES": TEXTS, None
            => "Which role a value of this claim gives: `[\"sprag-admins=admin\", \"on-call=operator\"]`.",
               "Default: the values are the names of roles.";
        "principalClaim" or "SPRAG_AUTH_OIDC_PRINCIPAL_CLAIM": Text, Some("\"sub\"")
            => "The claim with the principal. Choose one that people cannot change themselves.";
        "ca" or "SPRAG_AUTH_OIDC_CA": Text, None
            => "The authorities of the provider's certificate, PEM. Default: those that the system trusts.";
    }
    "agents" {
        "ca" or "SPRAG_AGENTS_CA": Text, None
            => "The authorities of the certificates of load agents, PEM. With it, the server speaks TLS with agents.";
        "certificate" or "SPRAG_AGENTS_CERTIFICATE": Text, None
            => "The certificate that the server shows agents, PEM, if they ask for one.";
        "key" or "SPRAG_AGENTS_KEY": Text, None
            => "Its private key, PEM.";
        "token" or "SPRAG_AGENTS_TOKEN": Text, None
            => "The secret with the token that agents ask for: `\"{{secrets.NAME}}\"`.";
        "results" or "SPRAG_AGENTS_RESULTS": Text, None
            => "A folder for the time series and reports of the newest 50 load tests. Default: none are written.";
    }
    "store" {
        "url" or "SPRAG_STORE": Text, Some("\"sqlite:./sprag.db\"")
            => "The store: `sqlite:PATH`, a file on a local disk,",
               "or `postgres://USER@HOST/DATABASE`.";
        "shards" or "SPRAG_STORE_SHARDS": Whole { least: 1, most: 4_096 }, Some("64")
            => "The number of shards of a new PostgreSQL database, which nodes share among themselves.",
               "An existing database keeps its number; a file has one shard.";
    }
    "outbound" {
        "allow" or "SPRAG_OUTBOUND_ALLOW": TEXTS, Some("[]")
            => "Private, loopback or link-local networks and hosts that machines may reach:",
               "`[\"127.0.0.0/8\", \"10.1.0.0/16\", \"crm.internal\"]`.";
    }
    "exec" {
        "allow" or "SPRAG_EXEC_ALLOW": TEXTS, Some("[]")
            => "Programs that `exec` actions may run: `[\"/usr/bin/rsync\"]`. No other program runs.";
        "env" or "SPRAG_EXEC_ENV": TEXTS, Some("[]")
            => "Environment variables that `exec` actions may set: `[\"LANG\", \"REPORT_DAY\"]`.",
               "You cannot list variables that make programs run other code (PATH, LD_PRELOAD, BASH_ENV, ...).";
        "user" or "SPRAG_EXEC_USER": Text, None
            => "The user that runs these programs, in its own group only. The server must run as root.",
               "Default: the server's own user.";
    }
    "secrets" {
        "providers" or "SPRAG_SECRETS_PROVIDERS": List(&Word(&["env", "file", "vault"])), Some("[\"env\"]")
            => "The providers of `secrets.NAME`, in the order in which Sprag asks them: `env` is SPRAG_SECRET_NAME,",
               "`file` is the content of `<dir>/NAME`, `vault` is the key NAME at the path of [secrets.vault].";
        "dir" or "SPRAG_SECRETS_DIR": Text, None
            => "The directory of the provider `file`.";
        "allow" or "SPRAG_SECRETS_ALLOW": TEXTS, None
            => "Which machines may use which secrets: `[\"billing=stripe_key\", \"order_*=courier_*\"]`.",
               "`*` at the end matches any ending. Default: every machine may use every secret.";
    }
    "secrets.vault" {
        "address" or "SPRAG_SECRETS_VAULT_ADDRESS": Text, None
            => "The address of the Vault: `https://vault.example.com:8200`.";
        "mount" or "SPRAG_SECRETS_VAULT_MOUNT": Text, None
            => "The mount of its key-value engine, version 2. Default: `secret`.";
        "path" or "SPRAG_SECRETS_VAULT_PATH": Text, None
            => "The path that holds the secrets as keys: `apps/sprag`.";
        "token" or "SPRAG_SECRETS_VAULT_TOKEN": Text, None
            => "The token. Default: the environment variable VAULT_TOKEN.";
        "namespace" or "SPRAG_SECRETS_VAULT_NAMESPACE": Text, None
            => "The namespace, if the Vault has namespaces.";
    }
    "retention" {
        "closedDays" or "SPRAG_RETENTION_CLOSED_DAYS": Whole { least: 1, most: 36_500 }, None
            => "Delete closed executions that did not change for this many days, unless they have open actions",
               "or dead letters. Default: keep them for ever.";
    }
    "approval" {
        "mode" or "SPRAG_APPROVAL_MODE": Word(&["declared-or-risk", "declared", "all"]), Some("\"declared-or-risk\"")
            => "Which plans need approval: those that an operation declares or whose risk reaches the threshold,",
               "those that an operation declares, or all.";
        "threshold" or "SPRAG_APPROVAL_THRESHOLD": Word(&["low", "medium", "high", "critical"]), Some("\"high\"")
            => "The risk from which on a plan needs approval.";
        "quorum" or "SPRAG_APPROVAL_QUORUM": Whole { least: 1, most: 10 }, Some("1")
            => "How many principals must approve a plan.";
        "selfApproval" or "SPRAG_APPROVAL_SELF_APPROVAL": Flag, Some("false")
            => "Whether a proposer may approve: for one person who tries Sprag alone.";
        "decideWithin" or "SPRAG_APPROVAL_DECIDE_WITHIN": Text, None
            => "The time that approvers have to decide about a plan, such as \"2h\"; after it, the plan expires.",
               "Default: no limit.";
        "validFor" or "SPRAG_APPROVAL_VALID_FOR": Text, None
            => "The time after an approval in which steps must begin, such as \"24h\". Default: no limit.";
    }
    "mcp" {
        "hosts" or "SPRAG_MCP_HOSTS": TEXTS, Some("[]")
            => "The hosts that agents may check with `http_check` and `tcp_check`. The server also refuses such a check of",
               "another host by the role `proposer` alone, unless the plan needs approval.";
    }
    "audit" {
        "reason" or "SPRAG_AUDIT_REASON": TEXTS, Some("[]")
            => "Decisions that need a reason: verbs such as `\"switch.on\"`, or all verbs of a noun such as `\"switch\"`.",
               "Sprag refuses such a request without a reason.";
    }
    "audit.heads" {
        "file" or "SPRAG_AUDIT_HEADS_FILE": Text, None
            => "A file to which Sprag appends the heads of the audit, best on another machine. `sprag audit verify",
               "--heads` reads it. Default: no file.";
        "action" or "SPRAG_AUDIT_HEADS_ACTION": Open, None
            => "An action definition that sends the heads, as in [[alerts]]. Its templates can use `variables.heads`.",
               "A webhook without a payload sends all of it. Default: none.";
        "every" or "SPRAG_AUDIT_HEADS_EVERY": Text, Some("\"10m\"")
            => "How often Sprag looks for new entries to export.";
    }
    "switches" {
        "rate" or "SPRAG_SWITCHES_RATE": Text, Some("\"100/1s\"")
            => "How many actions that a kill switch held start per time, once it is released or expires.";
    }
    "telemetry" {
        "otlpEndpoint" or "SPRAG_TELEMETRY_OTLP_ENDPOINT": Text, None
            => "A collector of traces by OTLP over HTTP: `\"http://127.0.0.1:4318\"`. Sprag appends `/v1/traces`.",
               "Default: no traces.";
        "serviceName" or "SPRAG_TELEMETRY_SERVICE_NAME": Text, Some("\"sprag\"")
            => "The `service.name` of this server in traces.";
    }
    "providers.twilio" {
        "account" or "SPRAG_PROVIDERS_TWILIO_ACCOUNT": Text, None
            => "The Twilio account for `sms` actions. Credentials may be `{{secrets.NAME}}`.";
        "token" or "SPRAG_PROVIDERS_TWILIO_TOKEN": Text, None
            => "The token of the account, or the secret of `apiKey`.";
        "apiKey" or "SPRAG_PROVIDERS_TWILIO_API_KEY": Text, None
            => "The SID of an API key. Default: the account's own token is used.";
        "from" or "SPRAG_PROVIDERS_TWILIO_FROM": Text, None
            => "The sender, if the action sets none: a number, a short code or a name.";
        "messagingService" or "SPRAG_PROVIDERS_TWILIO_MESSAGING_SERVICE": Text, None
            => "The messaging service that sends, instead of `from`.";
        "url" or "SPRAG_PROVIDERS_TWILIO_URL": Text, None
            => "The URL of the service. Default: `https://api.twilio.com`.";
    }
    "providers.smtp" {
        "host" or "SPRAG_PROVIDERS_SMTP_HOST": Text, None
            => "The mail server of `email` actions with `provider: smtp`.";
        "port" or "SPRAG_PROVIDERS_SMTP_PORT": Whole { least: 1, most: 65_535 }, None
            => "The port. Default: 587, 465 or 25, by `security`.";
        "security" or "SPRAG_PROVIDERS_SMTP_SECURITY": Text, None
            => "`starttls` (default), `tls` (encrypted from the start), or `none`.";
        "username" or "SPRAG_PROVIDERS_SMTP_USERNAME": Text, None
            => "The login; like the password, it may be `{{secrets.NAME}}`.";
        "password" or "SPRAG_PROVIDERS_SMTP_PASSWORD": Text, None
            => "The password.";
        "from" or "SPRAG_PROVIDERS_SMTP_FROM": Text, None
            => "The sender, if the action sets none: `Sprag <sprag@example.com>`.";
        "ca" or "SPRAG_PROVIDERS_SMTP_CA": Text, None
            => "A PEM file of certificates that Sprag trusts besides those of the system.";
    }
    "providers.sendgrid" {
        "key" or "SPRAG_PROVIDERS_SENDGRID_KEY": Text, None
            => "The API key; may be `{{secrets.NAME}}`.";
        "from" or "SPRAG_PROVIDERS_SENDGRID_FROM": Text, None
            => "The sender, if the action sets none.";
        "url" or "SPRAG_PROVIDERS_SENDGRID_URL": Text, None
            => "The URL of the service. Default: `https://api.sendgrid.com`.";
        "templates" or "SPRAG_PROVIDERS_SENDGRID_TEMPLATES": TEXTS, None
            => "Names for SendGrid's templates, used by actions: `[\"notice=d-0123456789abcdef\"]`.";
    }
    "providers.docusign" {
        "account" or "SPRAG_PROVIDERS_DOCUSIGN_ACCOUNT": Text, None
            => "The id of the account for `docusign_envelope` actions. Every key here may be `{{secrets.NAME}}`.";
        "integrationKey" or "SPRAG_PROVIDERS_DOCUSIGN_INTEGRATION_KEY": Text, None
            => "The integration key.";
        "user" or "SPRAG_PROVIDERS_DOCUSIGN_USER": Text, None
            => "The id of the user that sends the envelopes.";
        "privateKey" or "SPRAG_PROVIDERS_DOCUSIGN_PRIVATE_KEY": Text, None
            => "The integration key's RSA private key in PEM.";
        "url" or "SPRAG_PROVIDERS_DOCUSIGN_URL": Text, None
            => "The base URI of the account. Default: `https://www.docusign.net`.";
        "authUrl" or "SPRAG_PROVIDERS_DOCUSIGN_AUTH_URL": Text, None
            => "The server that issues tokens. Default: `https://account.docusign.com`.";
    }
    "limits" {
        "bodyBytes" or "SPRAG_LIMITS_BODY_BYTES": Whole { least: 1024, most: MEBIBYTES_64 }, Some("1048576")
            => "The largest body of a request, in bytes.";
        "messageBytes" or "SPRAG_LIMITS_MESSAGE_BYTES": Whole { least: 1, most: MEBIBYTES_64 }, Some("262144")
            => "The largest message, in bytes.";
        "variablesBytes" or "SPRAG_LIMITS_VARIABLES_BYTES": Whole { least: 1, most: MEBIBYTES_64 }, Some("262144")
            => "The largest variables of an execution and the largest result of an attempt, in bytes.";
        "jsonDepth" or "SPRAG_LIMITS_JSON_DEPTH": Whole { least: 1, most: 64 }, Some("32")
            => "The deepest nesting of JSON.";
        "microsteps" or "SPRAG_LIMITS_MICROSTEPS": Whole { least: 1, most: 1_000_000 }, Some("1000")
            => "The most microsteps in a step.";
        "inbox" or "SPRAG_LIMITS_INBOX": Whole { least: 1, most: 100_000 }, Some("1000")
            => "The most inputs in the inbox of an execution.";
        "historyPage" or "SPRAG_LIMITS_HISTORY_PAGE": Whole { least: 1, most: 10_000 }, Some("1000")
            => "The most entries in a page of history.";
        "attempts" or "SPRAG_LIMITS_ATTEMPTS": Whole { least: 1, most: 1_000_000 }, Some("1024")
            => "The most attempts that run at once.";
    }
};

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
    match key.shape {
        Whole { least, .. } => least.to_string(),
        List(_) => "[]".to_owned(),
        Open => alerts::example(key.name).to_owned(),
        _ => "\"\"".to_owned(),
    }
}
