//! Several nodes on one database, each at an address that it keeps when it is started again.

use std::net::SocketAddr;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::ClientConfig;
use serde_json::Value;

use crate::client::Client;
use crate::product::Product;
use crate::wait;

/// Before nodes that do not find each other count as hung.
const GUARD: Duration = Duration::from_mins(2);

/// How long a node may take to say how it is; one that stands still says nothing.
const LOOK_MAX: Duration = Duration::from_secs(5);

/// What a node is started with, beside what every server is.
type Environment = Vec<(String, String)>;

/// The nodes, by number.
pub struct Crowd {
    url: String,
    places: Vec<Place>,
    manner: Manner,
}

/// How clients speak to the nodes.
#[derive(Default)]
struct Manner {
    tls: Option<Arc<ClientConfig>>,
    /// Of an administrator, where nodes ask for tokens.
    token: Option<String>,
}

impl Manner {
    fn client(&self, client: Client) -> Client {
        let client = self
            .tls
            .iter()
            .fold(client, |client, tls| client.secured(Arc::clone(tls)));
        self.token.iter().fold(client, |client, token| client.showing(token))
    }
}

struct Place {
    address: SocketAddr,
    environment: Environment,
    product: Mutex<Option<Product>>,
}

impl Crowd {
    /// Starts a node for each of the environments, and waits until all of them share the shards.
    pub fn start(url: &str, environments: Vec<Environment>) -> Self {
        let place = |environment: Environment| {
            let product = started(url, SocketAddr::from(([127, 0, 0, 1], 0)), &environment);
            Place {
                address: product.address(),
                environment,
                product: Mutex::new(Some(product)),
            }
        };
        let crowd = Self {
            url: url.to_owned(),
            places: environments.into_iter().map(place).collect(),
            manner: Manner::default(),
        };
        crowd.until_shared();
        crowd
    }

    /// Starts nodes that speak TLS and ask for tokens, as their environments say. Clients speak TLS like this.
    pub fn start_secured(url: &str, environments: Vec<Environment>, tls: Arc<ClientConfig>) -> Self {
        let mut crowd = Self {
            url: url.to_owned(),
            places: Vec::new(),
            manner: Manner {
                tls: Some(tls),
                token: None,
            },
        };
        for environment in environments {
            let product = started(url, SocketAddr::from(([127, 0, 0, 1], 0)), &environment);
            if crowd.manner.token.is_none() {
                crowd.manner.token = Some(product.first_token());
            }
            crowd.places.push(Place {
                address: product.address(),
                environment,
                product: Mutex::new(Some(product)),
            });
        }
        crowd.until_shared();
        crowd
    }

    /// How many there are, whether they run or not.
    pub fn size(&self) -> usize {
        self.places.len()
    }

    /// Where a node listens.
    pub fn address(&self, node: usize) -> SocketAddr {
        self.places[node].address
    }

    /// A client of a node.
    pub fn client(&self, node: usize) -> Client {
        self.manner.client(Client::new(self.address(node)))
    }

    /// Does something with a node that runs.
    pub fn with<T>(&self, node: usize, action: impl FnOnce(&Product) -> T) -> Option<T> {
        let product = self.places[node].product.lock();
        product.unwrap_or_else(PoisonError::into_inner).as_ref().map(action)
    }

    fn take(&self, node: usize) -> Option<Product> {
        let product = self.places[node].product.lock();
        product.unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Ends a node as an outage would.
    pub fn kill(&self, node: usize) {
        drop(self.take(node));
    }

    /// Asks a node to end, and waits until it has.
    pub fn terminate(&self, node: usize) -> Option<ExitStatus> {
        self.take(node).map(|product| product.terminate(GUARD))
    }

    /// Starts a node again that has ended, where it was.
    pub fn restart(&self, node: usize) {
        let Place {
            address,
            environment,
            product,
        } = &self.places[node];
        let again = started(&self.url, *address, environment);
        *product.lock().unwrap_or_else(PoisonError::into_inner) = Some(again);
    }

    /// What a node says about all of them; none while it does not answer.
    pub fn view(&self, node: usize) -> Option<Value> {
        let mut client = self.manner.client(Client::within(self.address(node), LOOK_MAX));
        let answer = client.get("/v1/system").ok()?;
        (answer.status == 200).then(|| answer.body["cluster"].clone())
    }

    /// Waits until every node that runs says that all of these run and have their share of the shards.
    pub fn until_shared(&self) {
        let runs = |node: &usize| self.with(*node, |_| ()).is_some();
        let running: Vec<usize> = (0..self.size()).filter(runs).collect();
        // By their ids: whoever has not looked yet still shows the one before at the same address.
        let id = |node: &usize| {
            wait::until("a node to say who it is", GUARD, || {
                self.view(*node)?["node"].as_str().map(str::to_owned)
            })
        };
        let ids: Vec<String> = running.iter().map(id).collect();
        for node in running {
            wait::until("the nodes to share the shards", GUARD, || {
                let view = self.view(node)?;
                is_shared(&view, &ids).then_some(())
            });
        }
    }

    /// A figure of a node's metrics; nothing while it does not answer.
    pub fn metric(&self, node: usize, name: &str) -> Option<u64> {
        let answer = Client::within(self.address(node), LOOK_MAX).get("/metrics").ok()?;
        let page = answer.body.as_str()?.to_owned();
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line?.trim().parse().ok()
    }
}

/// Whether all of these are alive and have their share.
fn is_shared(view: &Value, ids: &[String]) -> bool {
    let (Some(nodes), Some(shards)) = (view["nodes"].as_array(), view["shards"].as_array()) else {
        return false;
    };
    let least = shards.len() / ids.len().max(1);
    ids.iter().all(|id| {
        let is_it = |node: &&Value| node["id"] == id.as_str() && node["alive"] == true;
        let owned = nodes.iter().find(is_it).and_then(|node| node["shards"].as_u64());
        owned.and_then(|owned| usize::try_from(owned).ok()) >= Some(least)
    })
}

fn started(url: &str, address: SocketAddr, environment: &[(String, String)]) -> Product {
    let environment: Vec<(&str, &str)> = environment
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    Product::start_node(url, address, &environment).unwrap_or_else(|line| panic!("a node did not start: {line}"))
}
