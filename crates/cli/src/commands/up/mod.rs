//! `sprag up`: a server, from its configuration to its last breath.
//!
//! Store, engine, runners and server are wired here and nowhere else. Whatever happens, a process that was asked to
//! stop is gone within ten seconds: what it leaves unfinished the next one settles.

mod admin;
mod banner;
mod configuration;
mod demo;
mod engine;
mod heads;
mod memory;
mod place;
mod reach;
mod signals;
pub(super) mod store;
mod time;
mod watchdog;

use std::net::SocketAddr;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sprag_agent::durable::Loads;
use sprag_core::clock::{Clock, Manual, System};
use sprag_engine::{Engine, Handle};
use sprag_runners::secrets::Secrets;
use sprag_server::{Access, Counted, Error as ServerError, NodeClient, Reserved, Server};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use self::demo::Demo;
pub(super) use self::engine::{Asked, Parts, start as start_engine};
use self::heads::Export;
pub(in crate::commands) use self::signals::Signals;
pub(super) use self::store::open as open_store;
use crate::commands::registry;
use crate::commands::supervise::{self, Alarms, ServicesSource};
use crate::config::{ConfigFile, Environment, Given, Settings, compile_alerts, warn_about_config, warn_about_store};
use crate::failure::{Exit, Failure};
use crate::output::{self, Output};
use crate::privacy;
use crate::telemetry::{self, Endpoint};

/// How long actions under way have to end once the server is asked to stop.
const DRAIN: Duration = Duration::from_secs(8);
/// How long the last counts have before that, of the same time, and the last traces after it.
const FLUSH: Duration = Duration::from_secs(1);
/// How long what is left of the runtime has to end after that.
const RUNTIME_END: Duration = Duration::from_millis(500);

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The store
    #[arg(
        long,
        value_name = "URL",
        help = "sqlite:PATH or postgres://USER@HOST/DATABASE\n[default: SPRAG_STORE or sqlite:./sprag.db]"
    )]
    store: Option<String>,
    /// Address of the API [default: 127.0.0.1:7400]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Address for other nodes [default: as --listen]
    #[arg(long, value_name = "HOST:PORT")]
    advertise: Option<String>,
    /// Authentication: off, token or oidc{n}[default: off]
    #[arg(long, value_name = "MODE")]
    auth: Option<String>,
    /// Write the first admin token to this file,{n}not to the terminal
    #[arg(long, value_name = "FILE")]
    admin_token_file: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigFile,
    /// Check the configuration and exit
    #[arg(long)]
    check: bool,
    /// Run the examples with simulated services. The{n}store is temporary unless you set --store
    #[arg(long)]
    demo: bool,
    /// Also supervise the services of this file
    #[arg(long, value_name = "FILE")]
    services: Option<PathBuf>,
    /// State file. The folder of the logs has the same{n}name, with the ending .d{n}[default: ./sprag-services.db]
    #[arg(long, value_name = "PATH", default_value = supervise::STATE, hide_default_value = true, requires = "services")]
    services_state: PathBuf,
}

/// Runs a server until it is asked to stop.
pub(crate) fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let Arguments {
        store,
        listen,
        advertise,
        auth,
        admin_token_file,
        config,
        check,
        demo,
        services,
        services_state,
    } = arguments;
    privacy::start();
    let environment = Environment::process();
    for (name, near) in environment.doubtful() {
        tracing::warn!(variable = name, nearest = near, "unknown environment variable ignored");
    }
    // A demo never touches the store that a file or the environment names: it holds a user's work.
    let passing = match store {
        None if *demo && !*check => Some(Passing::new()?),
        _ => None,
    };
    let given = Given {
        config: config.path(),
        store: passing
            .as_ref()
            .map(|passing| passing.url.as_str())
            .or(store.as_deref()),
        listen: listen.as_deref(),
        advertise: advertise.as_deref(),
        auth: auth.as_deref(),
    };
    let mut settings = Settings::load(&given, &environment)?;
    settings.runners.exec.check_user()?;
    settings.agents.readable().map_err(|error| {
        let remedy = error.remedy();
        Failure::invalid(format!("`[agents]`: {error}")).note(remedy)
    })?;
    let services = services.as_deref().map(|file| supervise::load(file, services_state));
    let services = services.transpose()?;
    if *check {
        return judge(&settings);
    }
    if *demo {
        settings.runners.outbound.allow.push(demo::OUTBOUND.to_owned());
        settings.engine.approval.self_approval = true;
    }
    warn_about_config(config.path());
    let purpose = if *demo { Purpose::Demo } else { Purpose::Work };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(threads())
        .build()?;
    // Before the store: a server that cannot listen leaves no new file behind.
    let reserved = runtime
        .block_on(async { Reserved::take(settings.listen, &settings.auth, settings.tls.as_ref()) })
        .map_err(not_listening)?;
    let store = store::open(&settings.store, settings.shards)?;
    if let Some(path) = settings.store.file() {
        warn_about_store(path);
    }
    let purpose = Purposed {
        purpose,
        admin_token_file: admin_token_file.clone(),
    };
    let end = runtime.block_on(serve(settings, (store, reserved), services, purpose, output));
    // Tasks that are still there end with their next pause; the watchdog ends those that never pause.
    runtime.shutdown_timeout(RUNTIME_END);
    end
}

/// Checks what the settings say about files, secrets and alerts, without a server.
fn judge(settings: &Settings) -> anyhow::Result<Exit> {
    Access::check(settings.listen, &settings.auth, settings.tls.as_ref()).map_err(not_listening)?;
    NodeClient::new(&settings.nodes, settings.auth.plain_text).map_err(not_listening)?;
    let secrets = Arc::new(Secrets::judging(&settings.secrets)?);
    let options = (&settings.runners, &settings.agents);
    let registry = registry(options, Loads::default(), Arc::new(Manual::default()), secrets)?;
    compile_alerts(&settings.alerts, &registry)?;
    settings
        .heads
        .as_ref()
        .map(|heads| heads.compile(&registry))
        .transpose()?;
    output::note("the configuration is valid");
    Ok(Exit::Done)
}

/// Threads that serve requests and run actions: half of the processors. The other half is for whom they all wait: the lane, the
/// thread that writes, the database. More threads than those can feed push them aside.
fn threads() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    (processors / 2).max(1)
}

/// What a server is there for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Whatever it is asked.
    Work,
    /// The same, with something to watch.
    Demo,
}

/// What a server is there for, and where its first token goes.
struct Purposed {
    purpose: Purpose,
    /// None if it is printed.
    admin_token_file: Option<PathBuf>,
}

/// A store for as long as the server runs.
struct Passing {
    url: String,
    _folder: tempfile::TempDir,
}

impl Passing {
    fn new() -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("sprag-demo-").tempdir()?;
        let url = format!("sqlite:{}", folder.path().join("sprag.db").display());
        tracing::info!(
            store = url,
            "demo on a temporary store, deleted when the server stops; --store keeps one"
        );
        Ok(Self { url, _folder: folder })
    }
}

/// Why a server ends.
enum End {
    /// A signal asked it to.
    Asked,
    /// The engine cannot continue.
    EngineFailed(String),
    /// No connection can be accepted any more.
    ServerFailed(anyhow::Error),
}

/// What runs beside the server for as long as it does.
fn accompany(clock: Arc<System>, heads: Option<Export>, digest: String, engine: Handle) {
    tokio::spawn(configuration::begin(engine.clone(), digest));
    tokio::spawn(time::follow(clock));
    tokio::spawn(memory::give_back());
    if let Some(heads) = heads {
        tokio::spawn(heads.run(engine));
    }
}

async fn serve(
    settings: Settings,
    (store, reserved): (store::Opened, Reserved),
    services: Option<ServicesSource>,
    purposed: Purposed,
    output: Output,
) -> anyhow::Result<Exit> {
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    let (advertise, hosts) = addressed(&settings, scheme, reserved.address());
    let client = way_to_nodes(&settings, &store)?;
    let http = served(&settings, purposed.purpose, hosts, client.clone());
    let Settings {
        store: address,
        auth,
        runners,
        agents,
        secrets,
        engine: mut options,
        alerts,
        heads,
        telemetry,
        digest,
        ..
    } = settings;
    // From here on a signal is a request, not the end of the process.
    let signals = Signals::listen()?;
    let clock = Arc::clone(&store.clock);
    let time: Arc<dyn Clock> = clock.clone();
    let secrets = Arc::new(Secrets::from_options(&secrets, &time)?);
    let registry = registry((&runners, &agents), http.loads.clone(), time, Arc::clone(&secrets))?;
    let alerts = compile_alerts(&alerts, &registry)?;
    options.alerts = alerts.iter().map(|compiled| compiled.alert.clone()).collect();
    let compiled = |entry| Export::compile(entry, &registry);
    let heads = heads.as_ref().map(compiled).transpose()?;
    options.alerts.extend(heads.iter().filter_map(Export::sender).cloned());
    let exporting = export(telemetry, &mut options)?;
    let parts = engine::Parts {
        store,
        advertise,
        place: place::of(reserved.address()),
        registry,
        secrets,
        options,
        client: client.clone(),
    };
    let engine = engine::start(parts)?;
    let server = Server::on(reserved, http, engine.handle()).map_err(not_listening)?;
    let services = supervise(services, &clock, &server, Alarms::new(alerts, engine.handle())).await?;
    accompany(clock, heads, digest, engine.handle());
    let demo = demo(purposed.purpose, &engine, server.address()).await?;
    let url = format!("{scheme}://{}", server.address());
    banner::show(&url, &address, demo.as_ref(), output)?;
    let counted = server.counted();
    let (stop, stopped) = oneshot::channel::<()>();
    // Dropping the sender means the same.
    let serving = tokio::spawn(server.run(async { drop(stopped.await) }));
    reach::begin(&engine.handle(), client);
    tokio::spawn(admin::begin(auth.mode, engine.handle(), purposed.admin_token_file));
    let mut running = Running {
        engine,
        serving,
        counted,
        signals,
        exporting,
        services,
    };
    let end = running.end().await;
    demo.iter().for_each(Demo::stop);
    running.drain(end, stop).await
}

/// The way to other nodes, where several share the store.
fn way_to_nodes(settings: &Settings, store: &store::Opened) -> anyhow::Result<Option<NodeClient>> {
    let client = store.nodes.as_ref();
    let client = client.map(|_| NodeClient::new(&settings.nodes, settings.auth.plain_text));
    client.transpose().map_err(not_listening)
}

/// Begins what there is to watch, if that is what the server is there for.
async fn demo(purpose: Purpose, engine: &Engine, address: SocketAddr) -> anyhow::Result<Option<Demo>> {
    match purpose {
        Purpose::Demo => Ok(Some(Demo::begin(engine.handle(), address).await?)),
        Purpose::Work => Ok(None),
    }
}

/// Has traces carried to a collector, where one was named.
fn export(
    telemetry: Option<(Endpoint, String)>,
    options: &mut sprag_engine::Options,
) -> anyhow::Result<Option<JoinHandle<()>>> {
    let Some((endpoint, name)) = telemetry else {
        return Ok(None);
    };
    let (traces, task) = telemetry::start(endpoint, &name)?;
    options.traces = traces;
    Ok(Some(task))
}

/// Where other nodes reach this one, and the names it answers to: that of its own address among them.
fn addressed(settings: &Settings, scheme: &str, listens: SocketAddr) -> (String, Vec<String>) {
    let mut hosts = settings.hosts.clone();
    let Some(advertise) = &settings.advertise else {
        return (format!("{scheme}://{listens}"), hosts);
    };
    hosts.extend(advertise.name());
    (advertise.url(scheme), hosts)
}

/// The HTTP side of a server with these names.
fn served(
    settings: &Settings,
    purpose: Purpose,
    hosts: Vec<String>,
    nodes: Option<NodeClient>,
) -> sprag_server::Options {
    sprag_server::Options {
        listen: settings.listen,
        hosts,
        body_bytes: settings.body_bytes,
        store: settings.store.kind().to_owned(),
        streams: sprag_server::STREAMS_MAX,
        auth: settings.auth.clone(),
        tls: settings.tls.clone(),
        nodes,
        is_demo: purpose == Purpose::Demo,
        loads: Loads::default(),
    }
}

/// Why the server cannot listen: an address that is not allowed is a mistake in the configuration.
pub(super) fn not_listening(error: impl Into<ServerError>) -> anyhow::Error {
    match error.into() {
        error @ (ServerError::NotLoopback { .. }
        | ServerError::PlainText { .. }
        | ServerError::HostName { .. }
        | ServerError::Tls(_)) => Failure::invalid(error.to_string()).into(),
        error => Failure::new(format!("{:#}", anyhow::Error::from(error)))
            .note("name another with --listen")
            .into(),
    }
}

/// A server at work.
struct Running {
    engine: Engine,
    serving: JoinHandle<Result<(), ServerError>>,
    /// What the server counts for the audit.
    counted: Counted,
    signals: Signals,
    /// Carries traces to a collector, until the engine is gone.
    exporting: Option<JoinHandle<()>>,
    /// Services that run beside the engine.
    services: Option<supervise::Running>,
}

/// Starts the services of a file, where one was named.
async fn supervise(
    source: Option<ServicesSource>,
    clock: &Arc<System>,
    server: &Server,
    telling: Alarms,
) -> anyhow::Result<Option<supervise::Running>> {
    let Some(source) = source else { return Ok(None) };
    let clock: Arc<dyn Clock> = clock.clone();
    let limit = u64::try_from(DRAIN.as_millis()).ok();
    let file = source.path.clone();
    let mut services = supervise::Running::start(source, &clock, limit).await?;
    services.tell(telling);
    tokio::spawn(supervise::hangups(services.workers.clone(), file)?);
    server.supervise(services.workers.clone());
    Ok(Some(services))
}

impl Running {
    /// Waits for a reason to end.
    async fn end(&mut self) -> End {
        tokio::select! {
            biased;
            signal = self.signals.next() => {
                tracing::info!(signal, drain_seconds = DRAIN.as_secs(), "stop requested, draining running actions");
                End::Asked
            }
            reason = self.engine.failed() => End::EngineFailed(reason),
            served = &mut self.serving => End::ServerFailed(match served {
                Ok(Err(error)) => error.into(),
                Ok(Ok(())) => anyhow::anyhow!("the server stopped by itself"),
                Err(error) => error.into(),
            }),
        }
    }

    /// Lets what is under way end, for a while.
    async fn drain(self, end: End, stop: oneshot::Sender<()>) -> anyhow::Result<Exit> {
        let Self {
            engine,
            serving,
            counted,
            mut signals,
            exporting,
            services,
        } = self;
        watchdog::start();
        tokio::spawn(async move {
            let signal = signals.next().await;
            tracing::warn!(signal, "second stop requested, exiting at once");
            std::process::exit(Exit::Failed.code().into());
        });
        // While the engine takes entries. An engine that failed takes none, and answers at once.
        let asked = tokio::time::Instant::now();
        let _ = tokio::time::timeout(FLUSH, counted.write()).await;
        let drain = DRAIN.saturating_sub(asked.elapsed());
        // The server may be the one that ended.
        let _ = stop.send(());
        let serving = async {
            if !serving.is_finished() {
                let _ = serving.await;
            }
        };
        let supervising = async {
            if let Some(services) = services {
                services.stop().await;
            }
        };
        tokio::join!(engine.shutdown(drain), serving, supervising);
        if let Some(exporting) = exporting {
            // What a collector does not take by then is lost.
            let _ = tokio::time::timeout(FLUSH, exporting).await;
        }
        match end {
            End::Asked => {
                tracing::info!("stopped");
                Ok(Exit::Done)
            }
            End::EngineFailed(reason) => Err(Failure::new(format!("the engine stopped: {reason}"))
                .code("engine-stopped")
                .note("fix the cause and start the server again; it continues from the stored state")
                .into()),
            End::ServerFailed(error) => Err(error),
        }
    }
}
