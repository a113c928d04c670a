//! Problem documents and the pages of their codes.

use std::collections::BTreeSet;
use std::path::Path;

use super::*;

fn known() -> BTreeSet<String> {
    let engine = requests::Code::ALL.iter().map(|code| code.text());
    engine
        .chain(Code::ALL.iter().map(|code| code.text()))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_code_has_a_page_and_every_page_is_served() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| {
            name.strip_suffix(".md")
                .map_or_else(|| panic!("{name} is no page"), str::to_owned)
        })
        .collect();
    let served: BTreeSet<String> = pages::codes().map(str::to_owned).collect();
    assert_eq!(files, served);
    assert!(known().is_subset(&served), "{:?}", known().difference(&served));
}

#[test]
fn every_page_names_its_code_and_status_and_says_what_to_do() {
    let engine = requests::Code::ALL.iter().map(|code| (code.text(), code.status()));
    for (code, status) in engine.chain(Code::ALL.iter().map(|code| (code.text(), code.status()))) {
        let page = page(code).unwrap();
        assert!(
            page.starts_with(&format!("# {code}\n\nStatus {status}.")),
            "{code}: {page}"
        );
        assert!(page.contains("\n## What to do\n"), "{code}");
    }
}

#[test]
fn no_code_of_the_server_is_also_one_of_the_engine() {
    for code in Code::ALL {
        assert!(
            requests::Code::ALL.iter().all(|other| other.text() != code.text()),
            "{}",
            code.text()
        );
    }
}

#[test]
fn every_status_is_one_of_a_refusal() {
    let statuses = requests::Code::ALL
        .iter()
        .map(|code| code.status())
        .chain(Code::ALL.iter().map(|code| code.status()));
    for status in statuses {
        assert!(
            matches!(status, 400..=599) && StatusCode::from_u16(status).is_ok(),
            "{status}"
        );
    }
}

#[test]
fn a_title_is_the_code_as_a_sentence() {
    assert_eq!(title("key-in-use"), "Key in use");
    assert_eq!(title("overloaded"), "Overloaded");
}

#[test]
fn a_problem_lists_only_so_many_errors() {
    let error = FieldError {
        pointer: "/a".to_owned(),
        detail: "b".to_owned(),
    };
    let problem = Problem::new(Code::BodyInvalid, "").with_errors(vec![error; LISTED_MAX + 1]);
    assert_eq!(problem.errors.len(), LISTED_MAX);
}
