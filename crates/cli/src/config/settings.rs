//! The configuration as the server uses it: read from all layers, typed, checked.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sprag_agent::durable::Loads;
use sprag_core::action::Rate;
use sprag_core::clock::Manual;
use sprag_core::integrity::audit::VerbSet;
use sprag_core::time::duration::Millis;
use sprag_engine::queue::Caps;
use sprag_engine::queue::control::DRAIN_DEFAULT;
use sprag_engine::requests::operations::CheckHosts;
use sprag_engine::{Limits, Retention};
use sprag_runners::Registry;
use sprag_runners::api_call::{self, ApiCall};
use sprag_runners::exec::{self, Exec};
use sprag_runners::http::outbound::{self, Guard};
use sprag_runners::mint::{self, BlockchainMint};
use sprag_runners::secrets::{self, ProviderName, VaultOptions};
use sprag_server::{Auth, Tls, Trust};
use sprag_store::postgres;

use super::access;
use super::advertise::Advertise;
use super::agents;
use super::alerts;
use super::approval;
use super::environment::Environment;
use super::file;
use super::heads;
use super::keys;
use super::layers::{self, Invalid, Layers, Place, Problem};
use super::providers;
use crate::commands::registry;
use crate::input;
use crate::telemetry::Endpoint;

/// The file that is read when none is named and it is there.
pub(super) const FILE: &str = "sprag.toml";
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7400);
const DAY_MILLIS: u64 = 24 * 60 * 60 * 1_000;
const STORE: &str = "./sprag.db";
/// What is written behind a file on which a server starts although it was moved to a database.
const MOVED: &str = "moved=allow";
/// What is written behind a file on which a server starts although its write-ahead log is lost.
const LOG_LOST: &str = "log=lost";
const VAULT: &str = "secrets.vault";

/// What the command line says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Given<'a> {
    /// `--config`.
    pub(crate) config: Option<&'a Path>,
    /// `--store`.
    pub(crate) store: Option<&'a str>,
    /// `--listen`.
    pub(crate) listen: Option<&'a str>,
    /// `--advertise`.
    pub(crate) advertise: Option<&'a str>,
    /// `--auth`.
    pub(crate) auth: Option<&'a str>,
}

/// Where everything is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreAddress {
    /// A file.
    Sqlite(PathBuf),
    /// A file, whether or not what it holds was moved to a database.
    MovedSqlite(PathBuf),
    /// A file, even if it lacks its write-ahead log.
    SqliteWithoutLog(PathBuf),
    /// A database on a server.
    Postgres(Box<postgres::Address>),
}

impl StoreAddress {
    /// The store that a text names; otherwise what is wrong with it, and what to write.
    pub(crate) fn of(text: &str) -> Result<Self, (String, String)> {
        store_of(text)
    }

    /// What kind of store it is.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Sqlite(_) | Self::MovedSqlite(_) | Self::SqliteWithoutLog(_) => "sqlite",
            Self::Postgres(_) => "postgres",
        }
    }

    /// The file, where it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(path) | Self::MovedSqlite(path) | Self::SqliteWithoutLog(path) => Some(path),
            Self::Postgres(_) => None,
        }
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::MovedSqlite(path) => write!(f, "sqlite:{}?{MOVED}", path.display()),
            Self::SqliteWithoutLog(path) => write!(f, "sqlite:{}?{LOG_LOST}", path.display()),
            Self::Postgres(address) => address.fmt(f),
        }
    }
}

/// How a server runs.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Where everything is remembered.
    pub(crate) store: StoreAddress,
    /// Where the API answers.
    pub(crate) listen: SocketAddr,
    /// Names the server is addressed by.
    pub(crate) hosts: Vec<String>,
    /// How callers are authenticated.
    pub(crate) auth: Auth,
    /// How it encrypts, if it does.
    pub(crate) tls: Option<Tls>,
    /// Whom it trusts among other nodes, and what it shows them.
    pub(crate) nodes: Trust,
    /// Where other nodes reach it, if not where it listens.
    pub(crate) advertise: Option<Advertise>,
    /// How many shards a new database gets.
    pub(crate) shards: u32,
    /// The largest request body.
    pub(crate) body_bytes: usize,
    /// What runners may do.
    pub(crate) runners: sprag_runners::Options,
    /// How agents of load tests are reached.
    pub(crate) agents: sprag_agent::durable::Options,
    /// Where secrets come from.
    pub(crate) secrets: secrets::Options,
    /// Bounds.
    pub(crate) engine: sprag_engine::Options,
    /// What happens when actions that matter die; checked once there are runners.
    pub(crate) alerts: Vec<alerts::Entry>,
    /// Where the heads of the audit go; checked once there are runners.
    pub(crate) heads: Option<heads::Entry>,
    /// Where traces go, and what the server is called there.
    pub(crate) telemetry: Option<(Endpoint, String)>,
    /// The digest of the configuration, for the audit.
    pub(crate) digest: String,
}

impl Settings {
    /// Reads the configuration of a command whose only option about it is the file.
    pub(crate) fn of_file(config: Option<&Path>) -> anyhow::Result<Self> {
        let given = Given {
            config,
            ..Given::default()
        };
        Self::load(&given, &Environment::process())
    }

    /// Reads the file, the environment and the flags, in this order, and checks what they come to.
    pub(crate) fn load(given: &Given<'_>, environment: &Environment) -> anyhow::Result<Self> {
        let mut layers = Layers::default();
        let mut problems = match given.config {
            Some(path) => file::read(&path.display().to_string(), &input::text(path)?, &mut layers),
            None if Path::new(FILE).is_file() => file::read(FILE, &input::text(Path::new(FILE))?, &mut layers),
            None => Vec::new(),
        };
        problems.extend(environment.read(&mut layers));
        for (section, name, flag, text) in [
            ("store", "url", "--store", given.store),
            ("listen", "address", "--listen", given.listen),
            ("listen", "advertise", "--advertise", given.advertise),
            ("auth", "mode", "--auth", given.auth),
        ] {
            let key = keys::KEYS.iter().find(|key| key.section == section && key.name == name);
            let Some((key, text)) = key.zip(text) else { continue };
            let value = serde_json::Value::from(text);
            match layers::check(&key.shape, &value) {
                Ok(()) => layers.set(key, value, Place::Flag(flag)),
                Err((detail, remedy)) => problems.push(Problem {
                    place: Place::Flag(flag),
                    code: "wrong-value",
                    detail,
                    remedy,
                }),
            }
        }
        Ok(Self::of(&layers, problems)?)
    }

    /// The settings of these layers, unless something was or is wrong.
    fn of(layers: &Layers, problems: Vec<Problem>) -> Result<Self, Invalid> {
        let mut check = Check { layers, problems };
        let access = check.access();
        let settings = Self {
            store: check.value("store", "url", store_of, || StoreAddress::Sqlite(PathBuf::from(STORE))),
            listen: check.value("listen", "address", listen_of, || LISTEN),
            hosts: check.texts("listen", "hosts"),
            auth: access.auth,
            tls: access.tls,
            nodes: access.nodes,
            advertise: check.value("listen", "advertise", advertise_of, || None),
            shards: layers.whole("store", "shards").unwrap_or(postgres::SHARDS),
            body_bytes: layers
                .whole("limits", "bodyBytes")
                .unwrap_or(sprag_server::BODY_BYTES_MAX),
            runners: sprag_runners::Options {
                outbound: outbound::Options {
                    allow: check.texts("outbound", "allow"),
                },
                exec: exec::Options {
                    allow: check.texts("exec", "allow"),
                    env: check.texts("exec", "env"),
                    user: layers.text("exec", "user").map(str::to_owned),
                },
                mint: layers.named.mint(),
                api_call: layers.named.api_call(),
                providers: providers::of(layers),
            },
            agents: agents::of(layers),
            secrets: secrets_of(layers),
            engine: sprag_engine::Options {
                reasons: check.reasons(),
                drain: check.value("switches", "rate", rate_of, || DRAIN_DEFAULT),
                check_hosts: check.check_hosts(),
                ..engine_of(layers)
            },
            alerts: layers.alerts.clone(),
            heads: check.heads(),
            telemetry: check.telemetry(),
            digest: layers.digest(),
        };
        check.problems.extend(agents::problem(layers, &settings.agents));
        check.approval();
        check.listen(&settings);
        check.verdict("outbound", "allow", Guard::new(&settings.runners.outbound));
        check.exec(&settings.runners.exec);
        check.mint(&settings.runners.mint);
        check.services(&settings.runners.api_call);
        check.providers(&settings.runners.providers);
        check.secrets(&settings.secrets);
        if check.problems.is_empty() {
            return Ok(settings);
        }
        check.alerts(&settings);
        check.problems.sort_by(|a, b| a.place.cmp(&b.place));
        Err(Invalid {
            problems: check.problems,
        })
    }
}

/// A check under way.
struct Check<'a> {
    layers: &'a Layers,
    problems: Vec<Problem>,
}

/// What is wrong with a text, and what would mend it.
type Wrong = (String, String);

impl Check<'_> {
    /// What a text means, or the default where none was given.
    fn value<T>(
        &mut self,
        section: &'static str,
        name: &'static str,
        parse: fn(&str) -> Result<T, Wrong>,
        default: fn() -> T,
    ) -> T {
        let Some(text) = self.layers.text(section, name) else {
            return default();
        };
        parse(text).unwrap_or_else(|(detail, remedy)| {
            self.problem(section, name, detail, remedy);
            default()
        })
    }

    /// How callers and other nodes come in. Notes what does not go together, where it was written.
    fn access(&mut self) -> access::Access {
        let (access, faults) = access::read(self.layers);
        for fault in faults {
            self.problem(fault.section, fault.name, fault.detail, fault.remedy);
        }
        access
    }

    /// Notes an address where others could use the server, or read its tokens.
    fn listen(&mut self, settings: &Settings) {
        if let Err(error) = settings.auth.check(settings.listen, settings.tls.as_ref()) {
            let remedy = format!("write `127.0.0.1:{}`, or see docs/access.md", settings.listen.port());
            self.problem("listen", "address", error.to_string(), remedy);
        }
    }

    /// Notes what is wrong with alerts and with the action of the heads, also if the rest of the configuration has errors: a
    /// runner whose configuration has errors is replaced by the default one.
    fn alerts(&mut self, settings: &Settings) {
        let clock = || Arc::new(Manual::default());
        let options = (&settings.runners, &settings.agents);
        let registry = registry(options, Loads::default(), clock(), Arc::default())
            .or_else(|_| Registry::standard(&sprag_runners::Options::default(), clock(), Arc::default()));
        let Ok(registry) = registry else { return };
        let alerts = alerts::compile(&settings.alerts, &registry).err();
        let heads = settings.heads.as_ref().and_then(|entry| entry.compile(&registry).err());
        for Invalid { problems } in alerts.into_iter().chain(heads) {
            self.problems.extend(problems);
        }
    }

    fn telemetry(&mut self) -> Option<(Endpoint, String)> {
        let endpoint = self.value("telemetry", "otlpEndpoint", endpoint_of, || None)?;
        let name = self.layers.text("telemetry", "serviceName").unwrap_or("sprag");
        Some((endpoint, name.to_owned()))
    }

    fn texts(&self, section: &'static str, name: &'static str) -> Vec<String> {
        self.layers.texts(section, name).unwrap_or_default()
    }

    /// Notes what the owner of a value says against it.
    fn verdict<T, E: std::error::Error>(&mut self, section: &'static str, name: &'static str, made: Result<T, E>) {
        if let Err(error) = made {
            self.problem(section, name, error.to_string(), format!("fix `{section}.{name}`"));
        }
    }

    /// Notes what is wrong with the programs of `exec`, their variables or their user, where that was written.
    fn exec(&mut self, options: &exec::Options) {
        let Err(error) = Exec::new(options) else { return };
        let name = match &error {
            exec::OptionsError::Entry { .. } | exec::OptionsError::TooMany => "allow",
            exec::OptionsError::VariableName { .. }
            | exec::OptionsError::Variable { .. }
            | exec::OptionsError::TooManyVariables { .. } => "env",
            exec::OptionsError::User => "user",
        };
        self.verdict("exec", name, Err::<(), _>(error));
    }

    /// Notes what is wrong with chains, signers and contracts, each where it was written.
    fn mint(&mut self, options: &mint::Options) {
        for error in BlockchainMint::check(options) {
            if let Some(place) = self.layers.named.place(error.section, &error.name, error.key) {
                self.problems.push(Problem {
                    place,
                    code: "wrong-value",
                    detail: error.to_string(),
                    remedy: error.remedy,
                });
            }
        }
    }

    /// Notes what is wrong with services, each where it was written.
    fn services(&mut self, options: &api_call::Options) {
        for error in ApiCall::check(options) {
            if let Some(place) = self.layers.named.place("services", &error.name, error.key) {
                self.problems.push(Problem {
                    place,
                    code: "wrong-value",
                    detail: error.to_string(),
                    remedy: error.remedy,
                });
            }
        }
    }

    /// Notes what is wrong with providers, each where it was written, or where its section begins to be.
    fn providers(&mut self, options: &sprag_runners::registry::providers::Options) {
        for error in providers::check(options) {
            let section = providers::section(error.provider);
            let place = self.layers.place(section, error.key);
            if let Some(place) = place.or_else(|| self.layers.first_place(section)) {
                self.problems.push(Problem {
                    place,
                    code: "wrong-value",
                    detail: error.to_string(),
                    remedy: error.remedy,
                });
            }
        }
    }

    /// Notes what is wrong with a provider of secrets, where it was written or else where it was named.
    fn secrets(&mut self, options: &secrets::Options) {
        match options.check() {
            Err(secrets::OptionsError::Vault { key, detail, remedy }) => {
                let place = self.layers.place(VAULT, key);
                if let Some(place) = place.or_else(|| self.layers.place("secrets", "providers")) {
                    self.problems.push(Problem {
                        place,
                        code: "wrong-value",
                        detail: format!("`[{VAULT}] {key}`: {detail}"),
                        remedy,
                    });
                }
            }
            Err(error @ (secrets::OptionsError::Allowed { .. } | secrets::OptionsError::TooManyAllowed { .. })) => {
                self.verdict("secrets", "allow", Err::<(), _>(error));
            }
            other => self.verdict("secrets", "providers", other),
        }
    }

    /// Notes what is wrong with how long approvals take and hold.
    fn approval(&mut self) {
        for (name, detail) in approval::read(self.layers).1 {
            self.problem("approval", name, detail, "write a duration, such as \"2h\"".to_owned());
        }
    }

    /// Where the heads of the audit go, and how often.
    fn heads(&mut self) -> Option<heads::Entry> {
        let every = self.value("audit.heads", "every", heads::every, || heads::EVERY);
        heads::Entry::read(self.layers, every)
    }

    /// The verbs that must have a reason.
    fn reasons(&mut self) -> VerbSet {
        let mut reasons = VerbSet::default();
        for word in self.texts("audit", "reason") {
            if let Err(unknown) = reasons.add(&word) {
                let remedy = "see the list of verbs in docs/audit.md".to_owned();
                self.problem("audit", "reason", unknown.to_string(), remedy);
            }
        }
        reasons
    }

    /// The hosts that agents may check.
    fn check_hosts(&mut self) -> CheckHosts {
        let hosts = CheckHosts::new(&self.texts("mcp", "hosts"));
        hosts.unwrap_or_else(|error| {
            let remedy = "write it as in `hosts = [\"cache-1.example.com\"]`".to_owned();
            self.problem("mcp", "hosts", error.to_string(), remedy);
            CheckHosts::default()
        })
    }

    fn problem(&mut self, section: &'static str, name: &'static str, detail: String, remedy: String) {
        // Defaults are right, so whatever is wrong was written somewhere.
        if let Some(place) = self.layers.place(section, name) {
            self.problems.push(Problem {
                place,
                code: "wrong-value",
                detail,
                remedy,
            });
        }
    }
}

fn store_of(text: &str) -> Result<StoreAddress, Wrong> {
    if postgres::Address::is_meant(text) {
        let remedy = || "write `postgres://USER@HOST/DATABASE`; see docs/postgresql.md".to_owned();
        let address = text.parse::<postgres::Address>();
        return address
            .map(|address| StoreAddress::Postgres(Box::new(address)))
            .map_err(|error| (error.to_string(), remedy()));
    }
    match text.strip_prefix("sqlite:").filter(|path| !path.is_empty()) {
        Some(path) => file_of(path.strip_prefix("//").unwrap_or(path)),
        None => Err((
            format!("`{text}` is not a store"),
            "write `sqlite:PATH`, as in `sqlite:./sprag.db`, or `postgres://USER@HOST/DATABASE`".to_owned(),
        )),
    }
}

fn file_of(text: &str) -> Result<StoreAddress, Wrong> {
    if text.starts_with(":memory:") || text.starts_with("file:") {
        let detail = format!("`sqlite:{text}` is not the path of a file: the data must outlive the process");
        let remedy = "write `sqlite:PATH`, as in `sqlite:./sprag.db`; `sprag up --demo` uses a temporary file";
        return Err((detail, remedy.to_owned()));
    }
    match text.split_once('?') {
        None => Ok(StoreAddress::Sqlite(PathBuf::from(text))),
        Some((path, MOVED)) => Ok(StoreAddress::MovedSqlite(PathBuf::from(path))),
        Some((path, LOG_LOST)) => Ok(StoreAddress::SqliteWithoutLog(PathBuf::from(path))),
        Some((_, other)) => Err((
            format!("`?{other}` is not understood"),
            format!(
                "write `?{MOVED}` for a file that was moved to a database, `?{LOG_LOST}` for one whose write-ahead log is lost, or \
                 leave it out"
            ),
        )),
    }
}

fn listen_of(text: &str) -> Result<SocketAddr, Wrong> {
    let literal = text
        .strip_prefix("localhost:")
        .map_or(text.to_owned(), |port| format!("127.0.0.1:{port}"));
    literal.parse().map_err(|_| {
        (
            format!("`{text}` is not an address"),
            "write an IP address and a port, as in `127.0.0.1:7400`".to_owned(),
        )
    })
}

fn advertise_of(text: &str) -> Result<Option<Advertise>, Wrong> {
    Advertise::parse(text).map(Some).ok_or_else(|| {
        (
            format!("`{text}` is not an address at which other nodes can reach this one"),
            "write a host and a port, as in `node1.example.com:7400` or `https://node1.example.com:7400`".to_owned(),
        )
    })
}

fn endpoint_of(text: &str) -> Result<Option<Endpoint>, Wrong> {
    Endpoint::parse(text)
        .map(Some)
        .map_err(|error| (error.to_string(), "write it as in `http://127.0.0.1:4318`".to_owned()))
}

fn secrets_of(layers: &Layers) -> secrets::Options {
    let default = secrets::Options::default();
    let named = |name: &String| match name.as_str() {
        "file" => ProviderName::File,
        "vault" => ProviderName::Vault,
        _ => ProviderName::Env,
    };
    let vault = |name| layers.text(VAULT, name).map(str::to_owned);
    let providers = layers
        .texts("secrets", "providers")
        .map(|names| names.iter().map(named).collect());
    secrets::Options {
        providers: providers.unwrap_or(default.providers),
        dir: layers.text("secrets", "dir").map(PathBuf::from),
        allow: layers.texts("secrets", "allow"),
        vault: VaultOptions {
            address: vault("address"),
            mount: vault("mount"),
            path: vault("path"),
            token: vault("token"),
            namespace: vault("namespace"),
        },
    }
}

fn rate_of(text: &str) -> Result<Rate, Wrong> {
    let remedy = || "write it as in \"100/1s\"".to_owned();
    let wrong = |detail| (detail, remedy());
    let (count, per) = text
        .split_once('/')
        .ok_or_else(|| wrong(format!("`{text}` is not a rate")))?;
    let count = count.trim().parse::<u32>().ok().filter(|count| *count > 0);
    let count = count.ok_or_else(|| wrong(format!("`{text}` does not begin with a number from 1 on")))?;
    let per = Millis::parse(per.trim()).map_err(|problem| wrong(problem.to_string()))?;
    match per.get() {
        0 => Err(wrong(format!("`{text}` has no time"))),
        per_millis => Ok(Rate { count, per_millis }),
    }
}

fn engine_of(layers: &Layers) -> sprag_engine::Options {
    let default = sprag_engine::Options::default();
    let limits = Limits {
        message_bytes: layers
            .whole("limits", "messageBytes")
            .unwrap_or(default.limits.message_bytes),
        variables_bytes: layers
            .whole("limits", "variablesBytes")
            .unwrap_or(default.limits.variables_bytes),
        json_depth: layers.whole("limits", "jsonDepth").unwrap_or(default.limits.json_depth),
        microsteps: layers
            .whole("limits", "microsteps")
            .unwrap_or(default.limits.microsteps),
        inbox: layers.whole("limits", "inbox").unwrap_or(default.limits.inbox),
        history_page: layers
            .whole("limits", "historyPage")
            .unwrap_or(default.limits.history_page),
    };
    let caps = Caps {
        total: layers.whole("limits", "attempts").unwrap_or(default.caps.total),
        ..default.caps
    };
    let retention = layers.whole::<u64>("retention", "closedDays").map(|days| Retention {
        closed_millis: days.saturating_mul(DAY_MILLIS),
    });
    sprag_engine::Options {
        caps,
        limits,
        retention,
        approval: approval::read(layers).0,
        ..default
    }
}
