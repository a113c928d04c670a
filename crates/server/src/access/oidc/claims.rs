//! What the claims of a verified token say: whether it is for this server and valid now, who shows it, and with which roles.

use serde_json::{Map, Value};
use sprag_core::access::{Caller, Role};
use sprag_core::text::check_name;
use sprag_core::time::Timestamp;

use super::Options;
use crate::access::gate::RESERVED;
use crate::problem::shown::shown;

/// How far the clocks of the issuer and of this server may differ, in seconds.
const LEEWAY_SECONDS: f64 = 30.0;
/// The longest principal, in characters.
const PRINCIPAL_CHARACTERS_MAX: usize = 128;

/// Whether the issuer that the token names is the configured one.
pub(super) fn check_issuer(claims: &Map<String, Value>, options: &Options) -> Result<(), String> {
    match claims.get("iss").and_then(Value::as_str) {
        Some(issuer) if issuer == options.issuer => Ok(()),
        Some(issuer) => Err(format!(
            "the token was issued by `{}`, not by the issuer of this server",
            shown(issuer)
        )),
        None => Err("the token has no claim `iss`".to_owned()),
    }
}

/// Who shows a token with these claims now; what is wrong with them otherwise.
pub(super) fn caller(claims: &Map<String, Value>, options: &Options, now: Timestamp) -> Result<Caller, String> {
    check_issuer(claims, options)?;
    check_audience(claims, options)?;
    check_time(claims, now)?;
    Ok(Caller {
        principal: principal(claims, options)?.into(),
        roles: roles(claims, options),
        ..Caller::local()
    })
}

fn check_audience(claims: &Map<String, Value>, options: &Options) -> Result<(), String> {
    let audience = options.audience.as_str();
    let is_meant = match claims.get("aud") {
        Some(Value::String(one)) => one == audience,
        Some(Value::Array(all)) => all.iter().any(|one| one == audience),
        _ => false,
    };
    if is_meant {
        return Ok(());
    }
    Err(format!("the token is not for the audience `{audience}`"))
}

fn check_time(claims: &Map<String, Value>, now: Timestamp) -> Result<(), String> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliseconds of a date have less than 53 bits"
    )]
    let now = now.as_millis() as f64 / 1_000.0;
    match claims.get("exp").and_then(Value::as_f64) {
        Some(end) if now < end + LEEWAY_SECONDS => {}
        Some(_) => return Err("the token has expired".to_owned()),
        None => return Err("the token has no claim `exp`, so it would never expire".to_owned()),
    }
    match claims.get("nbf").map(Value::as_f64) {
        None => Ok(()),
        Some(Some(begin)) if begin <= now + LEEWAY_SECONDS => Ok(()),
        Some(_) => Err("the token is not valid yet".to_owned()),
    }
}

fn principal<'c>(claims: &'c Map<String, Value>, options: &Options) -> Result<&'c str, String> {
    let name = options.principal_claim.as_str();
    let principal = claim(claims, name).and_then(Value::as_str).unwrap_or_default();
    if principal.is_empty() {
        return Err(format!("the token has no claim `{name}`, which names the principal"));
    }
    let is_long = principal.chars().count() > PRINCIPAL_CHARACTERS_MAX;
    if is_long || check_name(principal).is_err() || RESERVED.contains(&principal) {
        return Err(format!(
            "the claim `{name}` of the token is `{}`, which cannot be a principal",
            shown(principal)
        ));
    }
    Ok(principal)
}

/// The roles that the claim gives. A text is a list of words, as in `scope`.
fn roles(claims: &Map<String, Value>, options: &Options) -> Vec<Role> {
    let given: Vec<&str> = match claim(claims, &options.role_claim) {
        Some(Value::String(words)) => words.split_whitespace().collect(),
        Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let mut roles: Vec<Role> = if options.roles.is_empty() {
        given.iter().filter_map(|word| word.parse().ok()).collect()
    } else {
        let mapped = options
            .roles
            .iter()
            .filter(|(value, _)| given.contains(&value.as_str()));
        mapped.map(|(_, role)| *role).collect()
    };
    roles.sort_unstable();
    roles.dedup();
    roles
}

/// A claim by its name; if there is none, the member that a path such as `realm_access.roles` leads to.
fn claim<'c>(claims: &'c Map<String, Value>, name: &str) -> Option<&'c Value> {
    claims.get(name).or_else(|| {
        let (first, rest) = name.split_once('.')?;
        rest.split('.').try_fold(claims.get(first)?, |at, part| at.get(part))
    })
}
