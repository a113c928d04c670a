//! Who counts, how many, and for how long.

use proptest::prelude::*;

use super::*;

const PROPOSED: Timestamp = Timestamp::from_millis(1_000_000);

fn plan() -> PlanRisk {
    PlanRisk {
        digest: "d".to_owned(),
        proposer: "ann".to_owned(),
        asked_at: PROPOSED,
        risk: Risk::High,
        declared: false,
    }
}

fn around(policy: &Policy, millis: u64) -> Circumstances<'_> {
    Circumstances {
        policy,
        now: PROPOSED.plus(millis),
        due: None,
        is_token_revoked: &|_| false,
    }
}

fn who<'a>(by: &'a str, roles: &'a [Role]) -> Approver<'a> {
    Approver {
        by,
        roles,
        token: Some("t1"),
        digest: "d",
        comment: None,
    }
}

/// The decisions after these principals approved, a second apart.
fn approved(policy: &Policy, by: &[&str]) -> Decisions {
    let mut decisions = Decisions::default();
    for (second, by) in (1..).zip(by) {
        let roles = [Role::Approver];
        let given = decisions
            .admit(&plan(), &who(by, &roles), &around(policy, second * 1_000))
            .unwrap();
        decisions.given.push(given);
    }
    decisions
}

fn quorum(quorum: u32) -> Policy {
    let rule = Rule {
        quorum,
        role: ApproverRole::Approver,
    };
    Policy {
        rules: Rules {
            high: rule,
            ..Rules::default()
        },
        ..Policy::default()
    }
}

#[test]
fn mode_threshold_and_declaration_decide_whether_a_plan_needs_approval() {
    for (mode, risk, declared, expected) in [
        (Approvals::DeclaredOrRisk, Risk::Medium, false, false),
        (Approvals::DeclaredOrRisk, Risk::High, false, true),
        (Approvals::DeclaredOrRisk, Risk::Critical, false, true),
        (Approvals::DeclaredOrRisk, Risk::Low, true, true),
        (Approvals::Declared, Risk::Critical, false, false),
        (Approvals::Declared, Risk::Low, true, true),
        (Approvals::All, Risk::Low, false, true),
    ] {
        let policy = Policy {
            mode,
            ..Policy::default()
        };
        let plan = PlanRisk {
            risk,
            declared,
            ..plan()
        };
        assert_eq!(policy.needs(&plan), expected, "{mode:?} {risk} {declared}");
        let verdict = Decisions::default().verdict(&plan, &around(&policy, 0));
        assert_eq!(verdict == ApprovalVerdict::NotNeeded, !expected);
    }
}

#[test]
fn a_quorum_counts_principals_and_not_tokens() {
    let policy = quorum(2);
    let decisions = approved(&policy, &["bob"]);
    assert_eq!(
        decisions.verdict(&plan(), &around(&policy, 9_000)),
        ApprovalVerdict::Needed { more: 1, until: None }
    );
    let again = Approver {
        token: Some("t2"),
        ..who("bob", &[Role::Admin])
    };
    assert_eq!(
        decisions.admit(&plan(), &again, &around(&policy, 9_000)),
        Err(ApprovalError::Twice { by: "bob".to_owned() })
    );
    let both = approved(&policy, &["bob", "eve"]);
    assert_eq!(
        both.verdict(&plan(), &around(&policy, 9_000)),
        ApprovalVerdict::Approved { until: None }
    );
}

#[test]
fn each_reason_to_refuse_an_approval_has_its_error() {
    let mut policy = Policy::default();
    let none = Decisions::default();
    let admit = |decisions: &Decisions, approver: &Approver<'_>, policy: &Policy| {
        decisions.admit(&plan(), approver, &around(policy, 5_000)).unwrap_err()
    };
    let changed = Approver {
        digest: "x",
        ..who("bob", &[Role::Approver])
    };
    assert!(matches!(
        admit(&none, &changed, &policy),
        ApprovalError::PlanChanged { .. }
    ));
    assert!(matches!(
        admit(&none, &who("ann", &[Role::Admin]), &policy),
        ApprovalError::SelfApproval { .. }
    ));
    assert!(matches!(
        admit(&none, &who("bob", &[Role::Operator]), &policy),
        ApprovalError::RoleMissing { .. }
    ));
    policy.rules.high.role = ApproverRole::Admin;
    assert!(matches!(
        admit(&none, &who("bob", &[Role::Approver]), &policy),
        ApprovalError::RoleMissing { .. }
    ));
    policy.decide_within = Some(4_999);
    assert_eq!(
        admit(&none, &who("bob", &[Role::Admin]), &policy),
        ApprovalError::Expired
    );
    let refusal = Refusal {
        by: "eve".to_owned(),
        at: PROPOSED,
        comment: None,
    };
    let rejected = Decisions {
        rejected: Some(refusal),
        ..Decisions::default()
    };
    assert_eq!(
        admit(&rejected, &who("bob", &[Role::Admin]), &policy),
        ApprovalError::Rejected
    );
}

#[test]
fn self_approval_is_marked_and_counts_only_while_the_policy_allows_it() {
    let mut policy = Policy {
        self_approval: true,
        ..Policy::default()
    };
    let decisions = approved(&policy, &["ann"]);
    assert!(decisions.given[0].own);
    assert_eq!(
        decisions.verdict(&plan(), &around(&policy, 9_000)),
        ApprovalVerdict::Approved { until: None }
    );
    policy.self_approval = false;
    assert!(matches!(
        decisions.verdict(&plan(), &around(&policy, 9_000)),
        ApprovalVerdict::Needed { more: 1, .. }
    ));
}

#[test]
fn time_to_decide_and_time_to_begin_are_two_limits() {
    let policy = Policy {
        decide_within: Some(60_000),
        valid_for: Some(10_000),
        ..Policy::default()
    };
    let none = Decisions::default();
    let until = Some(PROPOSED.plus(60_000));
    assert_eq!(
        none.verdict(&plan(), &around(&policy, 60_000)),
        ApprovalVerdict::Needed { more: 1, until }
    );
    assert_eq!(
        none.verdict(&plan(), &around(&policy, 60_001)),
        ApprovalVerdict::Undecided
    );
    let decisions = approved(&policy, &["bob"]);
    let until = Some(PROPOSED.plus(11_000));
    assert_eq!(
        decisions.verdict(&plan(), &around(&policy, 11_000)),
        ApprovalVerdict::Approved { until }
    );
    assert_eq!(
        decisions.verdict(&plan(), &around(&policy, 11_001)),
        ApprovalVerdict::Expired
    );
    // A follow-up counts from its due time.
    let later = Circumstances {
        due: Some(PROPOSED.plus(500_000)),
        ..around(&policy, 505_000)
    };
    let until = Some(PROPOSED.plus(510_000));
    assert_eq!(decisions.verdict(&plan(), &later), ApprovalVerdict::Approved { until });
}

#[test]
fn the_stricter_of_the_policy_then_and_now_holds() {
    let then = Policy {
        valid_for: Some(5_000),
        ..Policy::default()
    };
    let decisions = approved(&then, &["bob"]);
    let now = Policy {
        valid_for: Some(50_000),
        ..Policy::default()
    };
    assert_eq!(
        decisions.verdict(&plan(), &around(&now, 6_001)),
        ApprovalVerdict::Expired
    );
    assert!(matches!(
        decisions.verdict(&plan(), &around(&quorum(3), 2_000)),
        ApprovalVerdict::Needed { more: 2, .. }
    ));
    let lax = Policy {
        mode: Approvals::Declared,
        ..Policy::default()
    };
    let revoked = Refusal {
        by: "eve".to_owned(),
        at: PROPOSED.plus(2_000),
        comment: None,
    };
    let decisions = Decisions {
        revoked: Some(revoked),
        ..decisions
    };
    assert_eq!(
        decisions.verdict(&plan(), &around(&lax, 3_000)),
        ApprovalVerdict::Revoked
    );
}

#[test]
fn what_was_revoked_needs_new_approvals_and_a_revoked_token_does_not_count() {
    let policy = Policy::default();
    let mut decisions = approved(&policy, &["bob"]);
    let revoked = Circumstances {
        is_token_revoked: &|token| token == "t1",
        ..around(&policy, 2_000)
    };
    assert_eq!(
        decisions.verdict(&plan(), &revoked),
        ApprovalVerdict::Needed { more: 1, until: None }
    );
    decisions.revoked = Some(Refusal {
        by: "eve".to_owned(),
        at: PROPOSED.plus(3_000),
        comment: None,
    });
    assert_eq!(
        decisions.verdict(&plan(), &around(&policy, 4_000)),
        ApprovalVerdict::Revoked
    );
    let again = decisions
        .admit(&plan(), &who("bob", &[Role::Approver]), &around(&policy, 5_000))
        .unwrap();
    decisions.given.push(again);
    assert_eq!(
        decisions.verdict(&plan(), &around(&policy, 6_000)),
        ApprovalVerdict::Approved { until: None }
    );
}

#[test]
fn decisions_are_stored_and_read_back() {
    let decisions = approved(&quorum(2), &["bob", "eve"]);
    let stored = serde_json::to_value(&decisions).unwrap();
    assert_eq!(stored["given"][0]["role"], "approver");
    assert_eq!(serde_json::from_value::<Decisions>(stored).unwrap(), decisions);
}

proptest! {
    #[test]
    fn an_approval_by_the_proposer_never_counts(
        approvers in proptest::collection::vec(0_usize..4, 0..6), wanted in 1_u32..4, allowed_then: bool
    ) {
        let names = ["ann", "bob", "eve", "joe"];
        let then = Policy { self_approval: allowed_then, ..quorum(wanted) };
        let given = approvers.iter().zip(1_u64..).map(|(name, second)| Approval {
            by: names[*name].to_owned(),
            token: None,
            role: ApproverRole::Admin,
            at: PROPOSED.plus(second),
            comment: None,
            own: *name == 0,
            digest: "d".to_owned(),
            policy: then.clone(),
        });
        let decisions = Decisions { given: given.collect(), ..Decisions::default() };
        let others: BTreeSet<_> = approvers.iter().filter(|name| **name != 0).collect();
        let now = quorum(wanted);
        let verdict = decisions.verdict(&plan(), &around(&now, 1_000));
        let is_approved = matches!(verdict, ApprovalVerdict::Approved { .. });
        prop_assert_eq!(is_approved, others.len() >= usize::try_from(wanted).unwrap());
    }
}
