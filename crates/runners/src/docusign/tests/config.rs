//! What a definition and `sprag.toml` may say.

use serde_json::{Value, json};
use sprag_core::action::runner::Runner;

use super::{KEY, Vendor, body_of, contract, secrets, taken};
use crate::docusign::{DocusignEnvelope, DocusignOptions};
use crate::testing::{Case, client, result};

fn runner() -> DocusignEnvelope {
    let options = DocusignOptions {
        account: "a".to_owned(),
        integration_key: "k".to_owned(),
        user: "u".to_owned(),
        private_key: "{{secrets.docusign_key}}".to_owned(),
        ..DocusignOptions::default()
    };
    DocusignEnvelope::new(Some(&options), secrets(""), client()).unwrap()
}

/// The contract with something else in it.
fn with(changes: Value) -> Value {
    let mut config = contract();
    let Value::Object(changes) = changes else {
        panic!("{changes}")
    };
    config.as_object_mut().unwrap().extend(changes);
    config
}

/// Each change of the contract is one problem, at this place and with this remedy.
fn assert_found<const N: usize>(table: [(Value, &str, &str); N]) {
    for (changes, pointer, remedy) in table {
        let problems = runner().validate("docusign_envelope", &with(changes));
        let found = problems.iter().find(|problem| problem.pointer == pointer);
        let found = found.unwrap_or_else(|| panic!("{pointer}: {problems:#?}"));
        assert!(found.remedy.contains(remedy), "{found:?}");
        assert_eq!(problems.len(), 1, "{problems:#?}");
    }
}

#[test]
fn every_problem_with_people_has_its_place_and_its_remedy() {
    assert_found([
        (json!({"templateId": null}), "/templateId", "add `templateId`"),
        (json!({"templateId": 7}), "/templateId", "write text"),
        (
            json!({"tempalteRoles": []}),
            "/tempalteRoles",
            "did you mean `templateRoles`?",
        ),
        (
            json!({"recipients": "sam@example.com"}),
            "/recipients",
            "a list of recipients",
        ),
        (
            json!({"recipients": [{"email": "sam", "name": "Sam"}]}),
            "/recipients/0/email",
            "ann@example.com",
        ),
        (
            json!({"recipients": [{"email": "sam@example.com"}]}),
            "/recipients/0/name",
            "add `name`",
        ),
        (
            json!({"recipients": [{"email": "s@example.com", "name": "S", "role": "singer"}]}),
            "/recipients/0/role",
            "did you mean `signer`?",
        ),
        (
            json!({"recipients": [{"email": "s@example.com", "name": "S", "rolle": "signer"}]}),
            "/recipients/0/rolle",
            "did you mean `role`?",
        ),
        (
            json!({"recipients": {"signer": []}}),
            "/recipients/signer",
            "did you mean `signers`?",
        ),
        (json!({"recipients": {"signers": {}}}), "/recipients/signers", "a list"),
        (
            json!({"templateRoles": [{"name": "T", "email": "t@example.com"}]}),
            "/templateRoles/0/roleName",
            "add `roleName`",
        ),
        (json!({"templateRoles": {}}), "/templateRoles", "write a list"),
    ]);
}

#[test]
fn every_problem_with_fields_has_its_place_and_its_remedy() {
    assert_found([
        (json!({"customFields": []}), "/customFields", "a map"),
        (json!({"customFields": {"a/b": {}}}), "/customFields/a~1b", "text"),
        (
            json!({"customFields": {"long": "x".repeat(101)}}),
            "/customFields/long",
            "shorten it",
        ),
        (
            json!({"customFields": {"spragIdempotencyKey": "x"}}),
            "/customFields/spragIdempotencyKey",
            "choose another name",
        ),
        (
            json!({"customFields": {"textCustomFields": [{"value": "x"}]}}),
            "/customFields/textCustomFields/0/name",
            "give it one",
        ),
        (
            json!({"customFields": {"textCustomFields": [], "executionId": "x"}}),
            "/customFields/executionId",
            "remove it",
        ),
        (json!({"emailSubject": "x".repeat(101)}), "/emailSubject", "shorten it"),
        (json!({"eventNotification": "https://x"}), "/eventNotification", "a map"),
        (json!({"status": "created"}), "/status", "`sent`"),
    ]);
}

#[test]
fn templates_pass_every_check_and_a_missing_account_is_said() {
    let written = json!({
        "templateId": "{{execution.variables.contractTemplateId}}",
        "recipients": [{"email": "{{execution.variables.signerEmail}}", "name": "{{execution.variables.signerName}}", "role": "signer"}],
        "templateRoles": "{{execution.variables.roles}}",
        "customFields": {"executionId": "{{execution.id}}"},
    });
    assert_eq!(runner().validate("docusign_envelope", &written), []);
    let nobody = DocusignEnvelope::new(None, secrets(""), client()).unwrap();
    let problems = nobody.validate("docusign_envelope", &written);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].remedy.contains("[providers.docusign]"), "{problems:?}");
}

#[tokio::test]
async fn the_vendors_own_shapes_pass_through_and_numbers_become_texts() {
    let config = json!({
        "templateId": "t",
        "recipients": [
            {"email": "a@example.com", "name": "A", "routingOrder": 2, "tabs": {"textTabs": [{"tabLabel": "x", "value": "1"}]}},
            {"email": "b@example.com", "name": "B", "role": "cc"},
            {"email": "c@example.com", "name": "C", "role": "certifiedDelivery", "recipientId": 9},
            {"email": "d@example.com", "name": "D", "roleName": "Landlord"},
        ],
        "templateRoles": [{"roleName": "Witness", "signingGroupId": 5}],
        "customFields": {
            "textCustomFields": [{"name": "n", "value": "v", "show": "true"}],
            "listCustomFields": [{"name": "l", "value": "x", "listItems": ["x", "y"]}],
        },
        "emailSubject": "Please sign",
        "eventNotification": {"url": "https://sprag.example/v1/hooks/lease/signed", "includeHMAC": "true"},
        "status": "sent",
    });
    let vendor = Vendor::start([taken()]).await;
    result(&Case::new("docusign_envelope", config).run(&vendor.runner()).await);
    let body = body_of(&vendor.api.requests()[0]);
    assert_eq!(
        body["recipients"],
        json!({
            "signers": [{"email": "a@example.com", "name": "A", "routingOrder": "2", "recipientId": "1",
                "tabs": {"textTabs": [{"tabLabel": "x", "value": "1"}]}}],
            "carbonCopies": [{"email": "b@example.com", "name": "B", "recipientId": "2"}],
            "certifiedDeliveries": [{"email": "c@example.com", "name": "C", "recipientId": "9"}],
        })
    );
    assert_eq!(
        body["templateRoles"],
        json!([
            {"roleName": "Witness", "signingGroupId": "5"},
            {"email": "d@example.com", "name": "D", "roleName": "Landlord"},
        ])
    );
    assert_eq!(body["customFields"]["textCustomFields"][1]["value"], KEY);
    assert_eq!(body["customFields"]["listCustomFields"][0]["name"], "l");
    assert_eq!(body["eventNotification"]["includeHMAC"], "true");
    let lists = json!({"templateId": "t", "recipients": {"signers": [{"email": "a@example.com", "name": "A", "recipientId": "1"}]}});
    result(
        &Case::new("docusign_envelope", lists.clone())
            .run(&vendor.runner())
            .await,
    );
    assert_eq!(body_of(&vendor.api.requests()[1])["recipients"], lists["recipients"]);
}

#[test]
fn options_that_cannot_work_are_refused_with_their_key() {
    let good = DocusignOptions {
        account: "a".to_owned(),
        integration_key: "k".to_owned(),
        user: "u".to_owned(),
        private_key: "{{secrets.docusign_key}}".to_owned(),
        ..DocusignOptions::default()
    };
    assert_eq!(DocusignEnvelope::check(&good), Ok(()));
    let break_it = |change: fn(&mut DocusignOptions)| {
        let mut options = good.clone();
        change(&mut options);
        DocusignEnvelope::check(&options).unwrap_err()
    };
    for (error, key) in [
        (break_it(|options| options.account.clear()), "account"),
        (break_it(|options| options.integration_key.clear()), "integrationKey"),
        (break_it(|options| options.user = "{{env.HOME}}".to_owned()), "user"),
        (
            break_it(|options| options.private_key = "hunter2".to_owned()),
            "privateKey",
        ),
        (break_it(|options| options.url = Some("ftp://x".to_owned())), "url"),
        (break_it(|options| options.auth_url = Some("x".to_owned())), "authUrl"),
    ] {
        assert_eq!(error.key, key, "{error:?}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}
