//! What somebody on duty hears of: circuits, escalations, panics, failures, each while it lasts.

use sprag_supervisor::{Trouble, TroubleKind};

use crate::shared::{Theatre, puppet, theatre};

fn kinds(theatre: &Theatre) -> Vec<(TroubleKind, String)> {
    let found = theatre.world.troubles();
    found
        .into_iter()
        .map(|Trouble { kind, worker, .. }| (kind, worker.as_ref().to_owned()))
        .collect()
}

#[test]
fn a_circuit_is_trouble_from_its_opening_to_its_closing() {
    let mut theatre = theatre();
    theatre.service();
    assert!(kinds(&theatre).is_empty());
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "restarting");
    let open = [(TroubleKind::CircuitOpen, "service/pipeline".to_owned())];
    assert_eq!(kinds(&theatre), open);
    assert_eq!(theatre.world.troubles()[0].rule.as_deref(), Some("pipeline-whole"));
    theatre.mends("service/pipeline");
    theatre.until_circuit("service/pipeline", "half-open");
    assert_eq!(kinds(&theatre), open);
    theatre.until_circuit("service/pipeline", "closed");
    assert!(kinds(&theatre).is_empty());
}

#[test]
fn an_escalation_and_the_parent_that_failed_of_it_are_trouble_until_a_person_comes() {
    let mut theatre = theatre();
    theatre.service();
    theatre.breaks("service/pipeline");
    theatre.until_circuit("service/pipeline", "escalated");
    theatre.world.run_for(60_000);
    let found = kinds(&theatre);
    assert!(
        found.contains(&(TroubleKind::Escalated, "service/pipeline".to_owned())),
        "{found:?}"
    );
    assert!(
        found.contains(&(TroubleKind::Failed, "service".to_owned())),
        "{found:?}"
    );
    let cause = &theatre.world.troubles()[0].cause;
    assert!(cause.contains("repeatedly failing"), "{cause}");
    theatre.mends("service/pipeline");
    theatre.world.restart("service/pipeline").unwrap();
    theatre.world.restart("service").unwrap();
    theatre.world.run_for(30_000);
    assert!(kinds(&theatre).is_empty(), "{:?}", kinds(&theatre));
}

#[test]
fn panics_are_trouble_while_the_breaker_is_open() {
    let mut theatre = theatre();
    theatre.declare(vec![puppet("a")]);
    theatre.up();
    theatre.stage.script("a", |script| script.panics = true);
    theatre.until_circuit("a", "panics");
    assert_eq!(kinds(&theatre), [(TroubleKind::Panics, "a".to_owned())]);
    theatre.stage.script("a", |script| script.panics = false);
    theatre.until_circuit("a", "closed");
    assert!(kinds(&theatre).is_empty());
}
