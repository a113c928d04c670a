//! Callers who show who they are.

mod nodes;
mod refused;
mod roles;
mod scopes;
mod tokens;

use serde_json::{Value, json};
use sprag_core::access::Role;

use super::client::Reply;
use super::world::{Plan, World};
use crate::{Auth, Mode, Options, first_token};

/// How a server that asks callers is set up.
fn asking() -> Auth {
    Auth {
        mode: Mode::Token,
        ..Auth::default()
    }
}

fn plan(auth: Auth) -> Plan {
    let plan = Plan::default();
    Plan {
        options: Options { auth, ..plan.options },
        ..plan
    }
}

/// A world whose server asks callers who they are.
struct Guarded {
    world: World,
    admin: String,
}

impl Guarded {
    async fn start() -> Self {
        Self::with(asking()).await
    }

    async fn with(auth: Auth) -> Self {
        Self::of(World::with(plan(auth)).await).await
    }

    async fn of(world: World) -> Self {
        let admin = first_token(&world.handle).await.unwrap().expect("there is none yet");
        Self { world, admin }
    }

    /// Creates a token as the body says.
    async fn create(&self, body: &Value) -> Value {
        self.send(&self.admin, "POST", "/v1/tokens", body).await.expect(201)
    }

    /// The text of a new token.
    async fn token(&self, name: &str, roles: &[Role]) -> String {
        let created = self.create(&json!({"name": name, "roles": roles})).await;
        created["token"].as_str().unwrap().to_owned()
    }

    async fn send(&self, token: &str, method: &str, path: &str, body: &Value) -> Reply {
        send(&self.world, token, (method, path), &[], body).await
    }

    async fn get(&self, token: &str, path: &str) -> Reply {
        self.send(token, "GET", path, &Value::Null).await
    }
}

/// Sends a request with a token.
async fn send(world: &World, token: &str, (method, path): (&str, &str), more: &[(&str, &str)], body: &Value) -> Reply {
    let bearer = format!("Bearer {token}");
    let mut headers = vec![("Authorization", bearer.as_str())];
    let body = if body.is_null() {
        Vec::new()
    } else {
        headers.push(("Content-Type", "application/json"));
        body.to_string().into_bytes()
    };
    headers.extend(more);
    world.send(method, path, &headers, &body).await
}
