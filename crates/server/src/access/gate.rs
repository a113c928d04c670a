//! Who asks: every request passes here before its body is read.
//!
//! A request gets its caller as an `Arc<Caller>` among its extensions, or is refused. Tokens are checked against memory;
//! the store is read only for a token that another node may have created a moment ago, and that rarely. Only a node that
//! shows the nodes' secret, and a certificate where clients have some, is believed about who asked it; the headers in which
//! nodes say so are taken off every other request.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderValue, header};
use sprag_core::access::token::{self, SecretHash};
use sprag_core::access::{Caller, Role, Scopes};
use sprag_core::ids::TokenId;
use sprag_engine::queue::tokens::Token;
use sprag_engine::requests::{self, Refusal};

use super::auth::{Auth, MetricsFor, Mode};
use super::oidc::Oidc;
use super::rate::Rates;
use super::rule::Rule;
use super::scope;
use crate::app::App;
use crate::handlers::ui;
use crate::nodes::forward::{CALLER, TOKEN};
use crate::problem::{Code, Problem};

/// Bad tokens a second from one address that are told so; the others are told to wait.
const BAD_PER_SECOND: u32 = 10;
/// The same at once.
const BAD_BURST: u32 = 50;
/// Looks into the store a second for tokens that this node does not know.
const LOOKS_PER_SECOND: u32 = 10;
/// How long a token that was found in the store counts as found there, in microseconds, and how many are kept.
const FOUND_MICROS: u64 = 1_000_000;
const FOUND_MAX: usize = 256;
/// The longest `Authorization`, in bytes.
const AUTHORIZATION_BYTES_MAX: usize = 8 * 1024;

/// The principal of requests to routes that ask for no token.
const PUBLIC: &str = "public";
/// The principal of what nodes do on their own.
const NODE: &str = "node";

/// The principal of requests without a valid token, in the audit.
pub(crate) const ANONYMOUS: &str = "anonymous";

/// The names that no token may have as its principal.
pub(crate) const RESERVED: [&str; 4] = [sprag_core::access::LOCAL, PUBLIC, NODE, ANONYMOUS];

/// Where a request came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// Whether the connection showed a certificate that counts.
    pub(crate) is_certified: bool,
}

/// Another node sent the request, and has shown the nodes' secret.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FromNode;

/// Whose requests are counted together.
#[derive(PartialEq, Eq, Hash)]
enum Paced {
    Token(TokenId),
    Principal(Arc<str>),
}

/// What the checks share.
pub(crate) struct Gate {
    auth: Auth,
    oidc: Option<Arc<Oidc>>,
    callers: Rates<Paced>,
    bad: Rates<IpAddr>,
    looks: Rates<()>,
    /// Tokens that another node created a moment ago, as the store had them, and until when.
    found: Mutex<BTreeMap<TokenId, (Token, u64)>>,
}

impl Gate {
    /// Checks as configured.
    pub(crate) fn new(auth: Auth, oidc: Option<Arc<Oidc>>) -> Self {
        Self {
            callers: Rates::new(auth.token_rate, auth.token_rate),
            bad: Rates::new(BAD_PER_SECOND, BAD_BURST),
            looks: Rates::new(LOOKS_PER_SECOND, LOOKS_PER_SECOND),
            found: Mutex::default(),
            auth,
            oidc,
        }
    }

    /// A token that was found in the store a moment ago.
    fn found(&self, id: TokenId, now: u64) -> Option<Token> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let (token, _) = found.get(&id).filter(|(_, until)| now < *until)?;
        Some(token.clone())
    }

    /// Remembers what the store has, so that a new token costs few reads.
    fn keep(&self, token: &Token, now: u64) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.len() >= FOUND_MAX {
            found.clear();
        }
        found.insert(token.view.id, (token.clone(), now.saturating_add(FOUND_MICROS)));
    }

    /// Whether callers show who they are.
    pub(crate) fn is_on(&self) -> bool {
        self.auth.mode != Mode::Off
    }
}

/// Lets a request in with its caller, or says why not.
pub(crate) async fn enter(app: &App, request: &mut Request) -> Result<(), Problem> {
    let needed = needed(app, request);
    let passed_on = request.headers_mut().remove(CALLER);
    let shown = request.headers_mut().remove(TOKEN);
    let peer = request.extensions().get::<Peer>().copied();
    let is_known = !app.settings.asks_certificates || peer.is_some_and(|peer| peer.is_certified);
    let is_node = |shown: &[u8]| is_known && app.engine.whereabouts().is_some_and(|nodes| nodes.is_token(shown));
    let (caller, provider) = if shown.is_some_and(|shown| is_node(shown.as_bytes())) {
        request.extensions_mut().insert(FromNode);
        (for_whom(passed_on.as_ref())?, None)
    } else {
        let peer = peer.map(|peer| peer.address.ip());
        let mut caller = outside(app, needed, request.headers(), peer).await?;
        caller.address = peer.map(|address| address.to_canonical().to_string());
        (caller, app.gate.oidc.as_deref())
    };
    let caller = Arc::new(caller);
    request.extensions_mut().insert(Arc::clone(&caller));
    if let Some(needed) = needed {
        has_role(&caller, needed, provider)?;
    }
    if caller.scopes == Scopes::default() {
        return Ok(());
    }
    let (mut parts, body) = std::mem::take(request).into_parts();
    let within = Box::pin(scope::check(app, &mut parts, &caller)).await;
    *request = Request::from_parts(parts, body);
    within
}

/// The roles of which a caller needs one; none where a route needs no token.
fn needed(app: &App, request: &Request) -> Option<&'static [Role]> {
    if ui::is_page(request) {
        return None;
    }
    let matched = request.extensions().get::<MatchedPath>();
    match Rule::of(request.method(), matched) {
        Rule::Public | Rule::Signed => None,
        Rule::Metrics if app.gate.auth.metrics == MetricsFor::Everybody => None,
        Rule::Metrics => Some(&[Role::Viewer]),
        Rule::Roles(roles) => Some(roles),
    }
}

/// The caller of a request that no node passed on.
async fn outside(
    app: &App,
    needed: Option<&[Role]>,
    headers: &HeaderMap,
    peer: Option<IpAddr>,
) -> Result<Caller, Problem> {
    if !app.gate.is_on() {
        return Ok(Caller::local());
    }
    if needed.is_none() {
        return Ok(of(PUBLIC, Vec::new()));
    }
    match authenticate(app, headers).await {
        Err(problem) if problem.is(Code::TokenInvalid) => Err(bad(app, peer, problem)),
        authenticated => authenticated,
    }
}

/// Refuses a caller that has none of these roles.
fn has_role(caller: &Caller, needed: &[Role], provider: Option<&Oidc>) -> Result<(), Problem> {
    if needed.iter().any(|role| caller.may(*role)) {
        return Ok(());
    }
    let roles: Vec<_> = needed.iter().map(|role| format!("`{role}`")).collect();
    let remedy = match provider.filter(|_| caller.token.is_none()) {
        Some(provider) => format!("the claim `{}` of its token must give it", provider.options.role_claim),
        None => "ask an administrator for a token with it".to_owned(),
    };
    let detail = format!(
        "`{}` needs the role {} for this request; {remedy}",
        caller.principal,
        roles.join(" or "),
    );
    Err(Refusal::new(requests::Code::RoleMissing, detail).into())
}

/// For whom another node asks: itself, if it does not say. Its route table may be of another version, so roles are checked
/// again.
fn for_whom(passed_on: Option<&HeaderValue>) -> Result<Caller, Problem> {
    let Some(caller) = passed_on else {
        return Ok(of(NODE, vec![Role::Admin]));
    };
    serde_json::from_slice(caller.as_bytes())
        .map_err(|error| invalid(&format!("another node passed on a caller that cannot be read: {error}")))
}

/// The caller whose token a request shows.
async fn authenticate(app: &App, headers: &HeaderMap) -> Result<Caller, Problem> {
    let text = bearer(headers)?;
    let now = app.engine.micros();
    let (caller, paced) = match (token::parse(text), &app.gate.oidc) {
        (Some((id, hash)), _) => (known(app, id, &hash).await?, Paced::Token(id)),
        (None, Some(oidc)) if !text.starts_with(token::PREFIX) => {
            let caller = Box::pin(oidc.caller(text, app.engine.now(), now)).await?;
            let paced = Paced::Principal(Arc::clone(&caller.principal));
            (caller, paced)
        }
        (None, _) => return Err(invalid("the text in `Authorization` is no token of this server")),
    };
    if app.gate.callers.take(paced, now) {
        Ok(caller)
    } else {
        let detail = format!(
            "{} sends more than {} requests a second; send fewer, or raise `requestsPerSecond` in `[auth]`",
            caller
                .token
                .map_or_else(|| format!("`{}`", caller.principal), |id| format!("token `{id}`")),
            app.gate.auth.token_rate
        );
        Err(Problem::new(Code::RateLimited, detail))
    }
}

/// The text after `Bearer` in the one header `Authorization`.
fn bearer(headers: &HeaderMap) -> Result<&str, Problem> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => {
            let detail = "the request shows no token; send it as `Authorization: Bearer sprag_…`";
            return Err(Problem::new(Code::TokenMissing, detail));
        }
        (Some(value), None) if value.len() <= AUTHORIZATION_BYTES_MAX => value,
        _ => return Err(invalid("`Authorization` is given more than once, or is too long")),
    };
    let text = value.to_str().ok().and_then(|text| text.split_once(' '));
    let token = text.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    token
        .map(|(_, token)| token)
        .ok_or_else(|| invalid("`Authorization` must have the form `Bearer sprag_…`"))
}

/// The caller behind a token, if it counts.
async fn known(app: &App, id: TokenId, hash: &SecretHash) -> Result<Caller, Problem> {
    let tokens = app.engine.tokens();
    if let Some(token) = tokens.get(id) {
        return check(app, token, hash);
    }
    match new_elsewhere(app, id).await? {
        Some(token) => check(app, &token, hash),
        None => Err(invalid("this server does not know the token")),
    }
}

/// A token that another node may have created a moment ago.
async fn new_elsewhere(app: &App, id: TokenId) -> Result<Option<Token>, Problem> {
    let now = app.engine.micros();
    if app.engine.whereabouts().is_none() {
        return Ok(None);
    }
    if let Some(token) = app.gate.found(id, now) {
        return Ok(Some(token));
    }
    if !app.gate.looks.take((), now) {
        let detail = "too many requests show tokens that this node does not know yet; try again in a moment";
        return Err(Problem::new(Code::RateLimited, detail));
    }
    let stored = Box::pin(app.engine.stored_token(id)).await?;
    if let Some(token) = &stored {
        app.gate.keep(token, now);
    }
    Ok(stored)
}

/// One answer for every reason, but for those who hold the secret.
fn check(app: &App, token: &Token, hash: &SecretHash) -> Result<Caller, Problem> {
    if !token.has_secret(hash) {
        return Err(invalid("this server does not know the token"));
    }
    if token.is_valid(app.engine.now()) {
        return Ok(token.caller());
    }
    let why = match token.view.revoked_at {
        Some(at) => format!("was revoked at {at}"),
        None => "has expired".to_owned(),
    };
    let detail = format!("token `{}` {why}; ask an administrator for a new one", token.view.id);
    Err(Problem::new(Code::TokenInvalid, detail))
}

/// The answer to a request with a bad token, as long as its sender does not guess too fast.
fn bad(app: &App, peer: Option<IpAddr>, problem: Problem) -> Problem {
    let is_within = peer.is_none_or(|peer| app.gate.bad.take(network(peer), app.engine.micros()));
    if is_within {
        return problem;
    }
    let detail =
        "too many requests with a bad token come from this address; correct the token, and try again in a moment";
    Problem::new(Code::RateLimited, detail)
}

/// An address, or the network that one owner has.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        address @ IpAddr::V4(_) => address,
    }
}

/// A caller without a token.
fn of(principal: &str, roles: Vec<Role>) -> Caller {
    Caller {
        principal: principal.into(),
        roles,
        ..Caller::local()
    }
}

fn invalid(detail: &str) -> Problem {
    Problem::new(
        Code::TokenInvalid,
        format!("{detail}; ask an administrator for a new token"),
    )
}
