//! Tokens, and who the caller is.

use axum::extract::State;
use sprag_core::access::token::{SECRET_BYTES, SecretHash, text};
use sprag_core::access::{NAMES_MAX, Role, Scopes};
use sprag_core::ids::TokenId;
use sprag_core::operation::{RISKS, Risk};
use sprag_core::text::check_name as is_name;
use sprag_core::time::Timestamp;
use sprag_engine::requests::{self, CreateToken, FirstToken, ListTokens, RevokeToken, TokenPlan};
use sprag_engine::{Handle, requests::Refusal};
use sprag_wire as wire;

use crate::access::gate::RESERVED;
use crate::access::rule::{ADMIN, EVERYBODY};
use crate::access::scope::Asker;
use crate::app::App;
use crate::handlers::reply::{Answer, created, ok, whole};
use crate::openapi::{Operation, Route, Shape, at};
use crate::problem::{Code, Problem};
use crate::request::body::{Body, Fields, FromFields, NoFields};
use crate::request::once::{Once, answered};
use crate::request::path::Id;
use crate::request::query::{Nothing, Query};

/// The group.
pub(crate) const RESOURCE: &str = "tokens";

fn operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(RESOURCE, id, summary)
}

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/tokens")
            .get(ADMIN, list)
            .is(
                operation("listTokens", "List the tokens, oldest first, without their secrets")
                    .answers::<wire::Page<wire::Token>>(200, "The tokens.")
                    .reads(),
            )
            .post(ADMIN, create)
            .is(operation("createToken", "Create a token; only this answer shows it")
                .body::<Creates>()
                .answers::<wire::NewToken>(201, "The new token.")
                .located()
                .writes()
                .once()
                .refuses([requests::Code::TokensFull])),
        at("/v1/tokens/{id}/revoke")
            .post(ADMIN, revoke)
            .is(operation("revokeToken", "Revoke a token")
                .path("id", Shape::of::<TokenId>(), "The token's id.")
                .body::<NoFields>()
                .answers::<wire::Token>(200, "The revoked token.")
                .writes()
                .once()
                .refuses([requests::Code::TokenUnknown])),
        at("/v1/me")
            .get(EVERYBODY, me)
            .is(operation("showMe", "Show who the caller is, and what it may do")
                .answers::<wire::Me>(200, "The caller.")),
    ]
}

/// The longest name of a token or a principal, in characters.
const NAME_CHARACTERS_MAX: usize = 128;

/// A token to create.
pub(crate) struct Creates {
    name: String,
    principal: String,
    roles: Vec<Role>,
    scopes: Scopes,
    max_risk: Option<Risk>,
    expires_at: Option<Timestamp>,
}

impl FromFields for Creates {
    type Shape = wire::TokenRequest;

    fn read(fields: &mut Fields) -> Option<Self> {
        let name = fields.required_text("name");
        let principal = fields.text("principal").unwrap_or_else(|| name.clone());
        check_name(fields, "/name", &name);
        check_name(fields, "/principal", &principal);
        if RESERVED.contains(&principal.as_str()) {
            let detail = format!("Sprag itself uses the principal `{principal}`; choose another name");
            fields.refuse("/principal", &detail);
        }
        Some(Self {
            name,
            principal,
            roles: roles(fields),
            scopes: fields
                .within::<Narrowed>("scopes")
                .map(|Narrowed(scopes)| scopes)
                .unwrap_or_default(),
            max_risk: risk(fields),
            expires_at: expires_at(fields),
        })
    }
}

fn check_name(fields: &mut Fields, pointer: &str, name: &str) {
    if name.is_empty() || name.chars().count() > NAME_CHARACTERS_MAX || is_name(name).is_err() {
        let detail = format!("a name has from 1 to {NAME_CHARACTERS_MAX} characters, all of them printable");
        fields.refuse(pointer, &detail);
    }
}

fn roles(fields: &mut Fields) -> Vec<Role> {
    let words = fields.texts("roles");
    if words.is_empty() {
        fields.refuse("/roles", "`roles` is missing: name at least one role");
    }
    let mut roles = Vec::new();
    for (position, word) in words.iter().take(Role::ALL.len()).enumerate() {
        match word.parse() {
            Ok(role) => roles.push(role),
            Err(_) => fields.refuse(&format!("/roles/{position}"), &unknown_role(word)),
        }
    }
    roles
}

fn unknown_role(word: &str) -> String {
    let known = Role::ALL.map(|role| format!("`{role}`")).join(", ");
    format!("`{word}` is no role; use one of {known}")
}

fn risk(fields: &mut Fields) -> Option<Risk> {
    Risk::from_word(fields.word("maxRisk", &RISKS)?)
}

fn expires_at(fields: &mut Fields) -> Option<Timestamp> {
    let text = fields.text("expiresAt")?;
    let parsed = text.parse().ok();
    if parsed.is_none() {
        fields.refuse(
            "/expiresAt",
            "this is not an instant; write it as in `2027-01-31T00:00:00Z`",
        );
    }
    parsed
}

/// What a token is narrowed to.
struct Narrowed(Scopes);

impl FromFields for Narrowed {
    type Shape = wire::ScopesRequest;

    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self(Scopes {
            operations: names(fields, "operations"),
            subjects: names(fields, "subjects"),
            machines: names(fields, "machines"),
            types: names(fields, "types"),
            runners: names(fields, "runners"),
        }))
    }
}

fn names(fields: &mut Fields, member: &'static str) -> Option<Vec<String>> {
    if !fields.has(member) {
        return None;
    }
    let names = fields.texts(member);
    if names.len() > NAMES_MAX {
        let detail = format!("{} names are too many: at most {NAMES_MAX}", names.len());
        fields.refuse(&format!("/{member}"), &detail);
    }
    for (position, name) in names.iter().take(NAMES_MAX).enumerate() {
        if is_name(name).is_err() {
            fields.refuse(&format!("/{member}/{position}"), "this cannot be a name");
        }
    }
    Some(names)
}

/// `GET /v1/tokens`: all of them, oldest first, without their secrets.
pub(crate) async fn list(State(app): State<App>, Query(Nothing): Query<Nothing>) -> Answer {
    Ok(whole(app.engine.ask(ListTokens).await?))
}

/// `POST /v1/tokens`: the one answer that shows the token.
pub(crate) async fn create(
    caller: Asker,
    Query(Nothing): Query<Nothing>,
    once: Once,
    Body(body): Body<Creates>,
) -> Answer {
    let Creates {
        name,
        principal,
        roles,
        scopes,
        max_risk,
        expires_at,
    } = body;
    if expires_at.is_some_and(|expires| expires <= once.engine.now()) {
        let errors = vec![wire::FieldError {
            pointer: "/expiresAt".to_owned(),
            detail: "this time has passed; write a later one".to_owned(),
        }];
        return Err(
            Problem::new(Code::BodyInvalid, "the token would be invalid from the beginning").with_errors(errors),
        );
    }
    let secret = secret()?;
    let plan = TokenPlan {
        name,
        principal,
        roles,
        scopes,
        max_risk,
        expires_at,
        hash: SecretHash::of(&secret),
        by: caller.0.principal.to_string(),
    };
    let asked = once.ask(CreateToken(Box::new(plan))).await;
    let is_new = !asked.replayed;
    Ok(answered(asked, |record| {
        let location = format!("/v1/tokens/{}", record.id);
        let token = is_new.then(|| text(record.id, &secret));
        created(location, &wire::NewToken { record, token })
    }))
}

/// `POST /v1/tokens/{id}/revoke`
pub(crate) async fn revoke(
    caller: Asker,
    Id(id): Id<TokenId>,
    Query(Nothing): Query<Nothing>,
    once: Once,
    Body(NoFields {}): Body<NoFields>,
) -> Answer {
    let by = caller.0.principal.to_string();
    Ok(answered(once.ask(RevokeToken { id, by }).await, |record| ok(&record)))
}

/// `GET /v1/me`
pub(crate) async fn me(State(app): State<App>, caller: Asker, Query(Nothing): Query<Nothing>) -> Answer {
    let Asker(caller) = caller;
    Ok(ok(&wire::Me {
        principal: caller.principal.to_string(),
        roles: caller.roles.clone(),
        scopes: caller.scopes.clone(),
        max_risk: caller.max_risk,
        authentication: app.gate.is_on(),
        demo: app.settings.is_demo,
    }))
}

/// Creates the token that creates the others, unless there is a valid one; gives its text.
pub async fn first_token(engine: &Handle) -> Result<Option<String>, Refusal> {
    let failed = |problem: Problem| Refusal::new(sprag_engine::requests::Code::Overloaded, problem.into_detail());
    let secret = secret().map_err(failed)?;
    let plan = TokenPlan {
        name: "first".to_owned(),
        principal: "admin".to_owned(),
        roles: vec![Role::Admin],
        scopes: Scopes::default(),
        max_risk: None,
        expires_at: None,
        hash: SecretHash::of(&secret),
        by: sprag_core::access::LOCAL.to_owned(),
    };
    let created = engine.ask(FirstToken(Box::new(plan))).await?;
    Ok(created.map(|token| text(token.id, &secret)))
}

/// Random bits of the system.
fn secret() -> Result<[u8; SECRET_BYTES], Problem> {
    let mut secret = [0; SECRET_BYTES];
    getrandom::fill(&mut secret).map_err(|error| {
        Problem::new(
            Code::InternalError,
            format!("the system has no random numbers: {error}"),
        )
    })?;
    Ok(secret)
}
