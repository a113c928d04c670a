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

fn refusal(millis: u64) -> Refusal {
    Refusal {
        by: "eve".to_owned(),
        at: PROPOSED.plus(millis),
        comment: None,
    }
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
    let rejected = Decisions {
        rejected: Some(refusal(0)),
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
    let decisions = Decisions {
        revoked: Some(refusal(2_000)),
        ..decisions
    };
    assert_eq!(
        decisions.verdict(&plan(), &around(&lax, 3_000)),
        ApprovalVerdict::Revoked
    );
}

#[test]
fn each_part_of_a_policy_is_the_stricter_of_every_approval_and_now() {
    let admin = |mut policy: Policy| {
        policy.rules.high.role = ApproverRole::Admin;
        policy
    };
    let two = |first: &Policy, by: &str, second: &Policy| {
        let mut decisions = Decisions::default();
        for (millis, by, policy) in [(1_000, by, first), (2_000, "bob", second)] {
            let given = decisions.admit(&plan(), &who(by, &[Role::Admin]), &around(policy, millis));
            decisions.given.extend(given);
        }
        assert_eq!(decisions.given.len(), 2);
        decisions
    };
    let needed = |decisions: &Decisions, policy: &Policy| match decisions.verdict(&plan(), &around(policy, 3_000)) {
        ApprovalVerdict::Needed { more, until } => (more, until),
        other => panic!("{other:?}"),
    };
    // The quorum.
    let decisions = two(&quorum(3), "eve", &quorum(1));
    assert_eq!(needed(&decisions, &quorum(1)), (1, None));
    assert_eq!(needed(&decisions, &quorum(4)), (2, None));
    // The role, of the approvals before and of the next one.
    let mut decisions = two(&quorum(2), "eve", &admin(quorum(2)));
    decisions.given[0].role = ApproverRole::Approver;
    assert_eq!(needed(&decisions, &quorum(2)), (1, None));
    assert!(matches!(
        decisions.admit(&plan(), &who("joe", &[Role::Approver]), &around(&quorum(2), 3_000)),
        Err(ApprovalError::RoleMissing { .. })
    ));
    decisions.given[1].policy = quorum(2);
    assert_eq!(needed(&decisions, &admin(quorum(2))), (1, None));
    // Self-approval.
    let own = Policy {
        self_approval: true,
        ..quorum(2)
    };
    assert_eq!(needed(&two(&own, "ann", &quorum(2)), &own), (1, None));
    assert_eq!(needed(&two(&own, "ann", &own), &quorum(2)), (1, None));
    // The time to decide.
    let within = |millis| Policy {
        decide_within: Some(millis),
        ..quorum(3)
    };
    for (then, now) in [(9_000, 50_000), (50_000, 9_000)] {
        let decisions = two(&within(then), "eve", &within(50_000));
        let until = Some(PROPOSED.plus(9_000));
        assert_eq!(needed(&decisions, &within(now)), (1, until), "{then} {now}");
    }
    // The time to begin.
    let valid = |millis| Policy {
        valid_for: Some(millis),
        ..Policy::default()
    };
    for (then, now) in [(5_000, 50_000), (50_000, 5_000)] {
        let decisions = approved(&valid(then), &["bob"]);
        let verdict = decisions.verdict(&plan(), &around(&valid(now), 6_001));
        assert_eq!(verdict, ApprovalVerdict::Expired, "{then} {now}");
    }
}

#[test]
fn each_level_of_risk_has_its_own_quorum_and_role() {
    let rule = |quorum| Rule {
        quorum,
        role: ApproverRole::Admin,
    };
    let strict = Rules {
        low: rule(2),
        medium: rule(3),
        high: rule(4),
        critical: rule(5),
    };
    for (risk, quorum) in Risk::ALL.into_iter().zip(2_u32..) {
        let plan = PlanRisk {
            risk,
            declared: true,
            ..plan()
        };
        let (then, now) = (
            Policy {
                rules: strict,
                ..Policy::default()
            },
            Policy::default(),
        );
        let none = Decisions::default();
        assert!(
            matches!(none.verdict(&plan, &around(&then, 0)), ApprovalVerdict::Needed { more, .. } if more == quorum),
            "{risk}"
        );
        assert_eq!(
            none.admit(&plan, &who("bob", &[Role::Approver]), &around(&then, 0)),
            Err(ApprovalError::RoleMissing {
                risk,
                needed: ApproverRole::Admin
            })
        );
        // An approval under the strict rules needs as many others under any rules since.
        let given = none
            .admit(&plan, &who("bob", &[Role::Admin]), &around(&then, 0))
            .unwrap();
        let one = Decisions {
            given: vec![given],
            ..Decisions::default()
        };
        let verdict = one.verdict(&plan, &around(&now, 1));
        assert!(
            matches!(verdict, ApprovalVerdict::Needed { more, .. } if more == quorum - 1),
            "{risk} {verdict:?}"
        );
    }
}

#[test]
fn an_approval_of_another_digest_a_lower_role_or_given_too_late_does_not_count() {
    let policy = Policy::default();
    let decisions = approved(&policy, &["bob"]);
    let needed = ApprovalVerdict::Needed { more: 1, until: None };
    let another = PlanRisk {
        digest: "another".to_owned(),
        ..plan()
    };
    assert_eq!(decisions.verdict(&another, &around(&policy, 2_000)), needed);
    let mut admins = policy.clone();
    admins.rules.high.role = ApproverRole::Admin;
    assert_eq!(decisions.verdict(&plan(), &around(&admins, 2_000)), needed);
    let within = |millis| Policy {
        decide_within: Some(millis),
        ..Policy::default()
    };
    assert_eq!(
        decisions.verdict(&plan(), &around(&within(1_000), 2_000)),
        ApprovalVerdict::Approved { until: None },
        "it was given at the last instant"
    );
    assert_eq!(
        decisions.verdict(&plan(), &around(&within(999), 2_000)),
        ApprovalVerdict::Undecided
    );
}

#[test]
fn a_plan_that_needed_approval_once_is_held_to_its_approval_or_revocation() {
    let strict = Policy {
        valid_for: Some(5_000),
        ..Policy::default()
    };
    let lax = Policy {
        mode: Approvals::Declared,
        ..Policy::default()
    };
    let decisions = approved(&strict, &["bob"]);
    assert_eq!(
        decisions.verdict(&plan(), &around(&lax, 6_001)),
        ApprovalVerdict::Expired
    );
    let revoked = Decisions {
        revoked: Some(refusal(1_000)),
        ..Decisions::default()
    };
    assert_eq!(revoked.verdict(&plan(), &around(&lax, 2_000)), ApprovalVerdict::Revoked);
    // Under the policy of today it needs approval although it did not when it was proposed.
    assert!(matches!(
        Decisions::default().verdict(&plan(), &around(&strict, 2_000)),
        ApprovalVerdict::Needed { .. }
    ));
}

#[test]
fn a_quorum_of_none_still_needs_one_principal() {
    let policy = quorum(0);
    assert_eq!(
        Decisions::default().verdict(&plan(), &around(&policy, 0)),
        ApprovalVerdict::Needed { more: 1, until: None }
    );
    assert_eq!(
        approved(&policy, &["bob"]).verdict(&plan(), &around(&policy, 2_000)),
        ApprovalVerdict::Approved { until: None }
    );
}

#[test]
fn the_time_to_begin_counts_from_the_approval_that_completed_the_quorum() {
    let policy = Policy {
        valid_for: Some(10_000),
        ..quorum(2)
    };
    let decisions = approved(&policy, &["bob", "eve", "joe"]);
    assert_eq!(decisions.given.len(), 3, "one beyond the quorum is kept");
    let until = Some(PROPOSED.plus(12_000));
    let due = |due| Circumstances {
        due,
        ..around(&policy, 3_000)
    };
    for due in [due(None), due(Some(PROPOSED.plus(1_000)))] {
        assert_eq!(decisions.verdict(&plan(), &due), ApprovalVerdict::Approved { until });
    }
}

#[test]
fn nothing_is_admitted_once_it_is_too_late_or_where_none_is_needed() {
    let policy = Policy {
        valid_for: Some(5_000),
        ..Policy::default()
    };
    let decisions = approved(&policy, &["bob"]);
    let admit = |policy: &Policy, millis| {
        decisions
            .admit(&plan(), &who("eve", &[Role::Admin]), &around(policy, millis))
            .map(|given| given.by)
    };
    assert_eq!(admit(&policy, 6_000), Ok("eve".to_owned()));
    assert_eq!(admit(&policy, 6_001), Err(ApprovalError::Expired));
    let lax = Policy {
        mode: Approvals::Declared,
        ..Policy::default()
    };
    let none = Decisions::default();
    assert_eq!(
        none.admit(&plan(), &who("eve", &[Role::Admin]), &around(&lax, 0)),
        Err(ApprovalError::NotNeeded)
    );
}

#[test]
fn an_approval_holds_who_gave_it_with_what_and_under_which_policy() {
    let first = approved(&quorum(3), &["bob"]);
    let policy = Policy {
        self_approval: true,
        ..quorum(2)
    };
    let approver = Approver {
        comment: Some("checked"),
        ..who("eve", &[Role::Approver, Role::Admin])
    };
    let given = first.admit(&plan(), &approver, &around(&policy, 7_000)).unwrap();
    let expected = Approval {
        by: "eve".to_owned(),
        token: Some("t1".to_owned()),
        role: ApproverRole::Admin,
        at: PROPOSED.plus(7_000),
        comment: Some("checked".to_owned()),
        own: false,
        digest: "d".to_owned(),
        policy,
    };
    assert_eq!(given, expected);
}

#[test]
fn only_roles_that_can_approve_are_read() {
    for word in ["viewer", "proposer", "operator", "author"] {
        let read = serde_json::from_value::<ApproverRole>(word.into());
        assert!(read.unwrap_err().to_string().contains("cannot approve"), "{word}");
    }
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
    let other_token = Approver {
        token: Some("t2"),
        ..who("bob", &[Role::Approver])
    };
    assert!(
        decisions.admit(&plan(), &other_token, &revoked).is_ok(),
        "who approved with a revoked token may approve again"
    );
    // An approval of the same instant does not count either.
    for millis in [1_000, 3_000] {
        decisions.revoked = Some(refusal(millis));
        assert_eq!(
            decisions.verdict(&plan(), &around(&policy, 4_000)),
            ApprovalVerdict::Revoked
        );
    }
    let again = decisions
        .admit(&plan(), &who("bob", &[Role::Approver]), &around(&policy, 5_000))
        .unwrap();
    decisions.given.push(again);
    assert_eq!(
        decisions.verdict(&plan(), &around(&policy, 6_000)),
        ApprovalVerdict::Approved { until: None }
    );
    assert_eq!(
        decisions.verdict(&plan(), &around(&quorum(2), 6_000)),
        ApprovalVerdict::Needed { more: 1, until: None }
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
