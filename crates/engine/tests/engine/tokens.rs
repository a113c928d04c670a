//! Tokens: kept over a crash, bounded, created first by one, and revoked by a restore.

use sprag_core::access::token::SecretHash;
use sprag_core::access::{Role, Scopes};
use sprag_core::ids::TokenId;
use sprag_core::operation::approval::Policy;
use sprag_engine::queue::tokens::TOKENS_MAX;
use sprag_engine::read::restored::{Hold, hold};
use sprag_engine::requests::{Code, CreateToken, FirstToken, ListTokens, Refusal, RevokeToken, TokenPlan};
use sprag_wire::Token;

use crate::rig::{Rig, code};

/// A machine that does nothing.
const IDLE: &str = "id: idle\ninitial: a\nstates: { a: {} }\n";

fn plan(name: &str, role: Role) -> Box<TokenPlan> {
    Box::new(TokenPlan {
        name: name.to_owned(),
        principal: name.to_owned(),
        roles: vec![role],
        scopes: Scopes::default(),
        max_risk: None,
        expires_at: None,
        hash: SecretHash::of(&[7; 32]),
        by: "test".to_owned(),
    })
}

fn create(rig: &mut Rig, name: &str) -> Result<Token, Refusal> {
    rig.ask(CreateToken(plan(name, Role::Viewer)))
}

fn revoke(rig: &mut Rig, id: TokenId) -> Result<Token, Refusal> {
    rig.ask(RevokeToken {
        id,
        by: "test".to_owned(),
    })
}

fn names(rig: &mut Rig) -> Vec<(String, bool)> {
    let tokens = rig.ask(ListTokens).unwrap();
    let shown = |token: Token| (token.name, token.revoked_at.is_none());
    let mut names: Vec<_> = tokens.into_iter().map(shown).collect();
    names.sort();
    names
}

#[test]
fn a_token_and_its_revocation_survive_a_crash() {
    let mut rig = Rig::new(IDLE);
    let first = create(&mut rig, "a").unwrap();
    create(&mut rig, "b").unwrap();
    revoke(&mut rig, first.id).unwrap();
    let expected = [("a".to_owned(), false), ("b".to_owned(), true)];
    assert_eq!(names(&mut rig), expected);
    rig.crash();
    assert_eq!(names(&mut rig), expected);
    let unknown = "tok_00000000000000000000000000".parse().unwrap();
    assert_eq!(code(revoke(&mut rig, unknown)), Code::TokenUnknown);
}

#[test]
fn one_first_token_is_created_while_nobody_can_create_others() {
    let mut rig = Rig::new(IDLE);
    create(&mut rig, "viewer").unwrap();
    let first = rig.ask(FirstToken(plan("admin", Role::Admin))).unwrap().unwrap();
    assert_eq!(rig.ask(FirstToken(plan("admin", Role::Admin))).unwrap(), None);
    revoke(&mut rig, first.id).unwrap();
    assert!(rig.ask(FirstToken(plan("admin", Role::Admin))).unwrap().is_some());
}

#[test]
fn the_oldest_token_that_counts_no_more_makes_room() {
    let mut rig = Rig::new(IDLE);
    let tokens: Vec<Token> = (0..TOKENS_MAX)
        .map(|number| create(&mut rig, &format!("t{number}")).unwrap())
        .collect();
    assert_eq!(code(create(&mut rig, "more")), Code::TokensFull);
    for token in &tokens[5..7] {
        revoke(&mut rig, token.id).unwrap();
    }
    create(&mut rig, "more").unwrap();
    let left = names(&mut rig);
    assert_eq!(left.len(), TOKENS_MAX);
    assert!(!left.contains(&("t5".to_owned(), false)) && left.contains(&("t6".to_owned(), false)));
    rig.crash();
    assert_eq!(names(&mut rig), left);
}

#[test]
fn a_restore_revokes_every_token() {
    let mut rig = Rig::new(IDLE);
    create(&mut rig, "a").unwrap();
    rig.ask(FirstToken(plan("admin", Role::Admin))).unwrap();
    let now = rig.now().plus(1_000);
    hold(
        &mut rig.store,
        Hold {
            now,
            entropy: 7,
            by: "test",
            shards: 1,
            approval: &Policy::default(),
        },
    )
    .unwrap();
    rig.crash();
    assert_eq!(names(&mut rig), [("a".to_owned(), false), ("admin".to_owned(), false)]);
    let next = rig.ask(FirstToken(plan("admin", Role::Admin))).unwrap();
    assert!(next.is_some(), "the next start has a new one");
}
