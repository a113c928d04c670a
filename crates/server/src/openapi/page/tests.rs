//! The page: whole, and harmless whatever it is told.

use super::*;
use crate::openapi::document;

#[test]
fn every_operation_and_every_shape_is_on_the_page() {
    let page = index("localhost:7400");
    for Route { path, operations, .. } in table() {
        for (method, operation) in &operations {
            let is_shown = page.contains(&format!("<details id=\"{}\">", operation.id));
            assert_eq!(is_shown, !operation.is_alias, "{method} {path}");
        }
    }
    for name in document()["components"]["schemas"].as_object().unwrap().keys() {
        assert!(page.contains(&format!("<details id=\"shape-{name}\">")), "{name}");
    }
}

#[test]
fn every_link_inside_the_page_leads_somewhere() {
    let page = index("localhost:7400");
    let targets = page
        .split("href=\"#")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap());
    let mut count = 0;
    for target in targets {
        assert!(page.contains(&format!(" id=\"{target}\"")), "#{target} is nowhere");
        count += 1;
    }
    assert!(count > 50, "{count} links were looked at");
}

#[test]
fn nothing_in_the_page_runs_or_comes_from_elsewhere() {
    let page = index("localhost:7400");
    for refused in ["<script", " style=", " onclick", "javascript:", "src=", "https://"] {
        assert!(!page.contains(refused), "{refused}");
    }
}

#[test]
fn the_name_of_the_server_is_text_and_nothing_else() {
    let page = index("\"><b>'&");
    assert!(page.contains("http://&quot;&gt;&lt;b&gt;&#39;&amp;/v1/machines"));
    assert!(!page.contains("<b>"));
    assert!(!page.contains(HOST));
}
