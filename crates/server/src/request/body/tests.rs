//! Bodies: what is read, and what is refused with its place.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, HeaderValue, header};
use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::problem::Problem;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Sample {
    machine: String,
    #[schemars(range(min = 1))]
    version: Option<u32>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    states: BTreeMap<String, String>,
    #[schemars(length(min = 1, max = 5))]
    note: Option<String>,
    lasts: Option<sprag_wire::Time>,
}

impl sprag_wire::Body for Sample {}

fn read(body: &Value) -> Result<Sample, Problem> {
    decode(object(body.to_string().as_bytes(), &Limits::body(10_000))?)
}

fn refused(body: &Value) -> String {
    format!("{:?}", read(body).unwrap_err())
}

#[test]
fn fields_are_read_and_null_is_the_same_as_none() {
    let body = json!({"machine": "m", "version": null, "tags": ["a"], "states": {"a": "b"}});
    let sample = read(&body).unwrap();
    assert_eq!(sample.machine, "m");
    assert_eq!(sample.version, None);
    assert_eq!(sample.tags, ["a"]);
    assert_eq!(sample.states.get("a").map(String::as_str), Some("b"));
}

#[test]
fn an_unknown_field_is_refused_with_the_nearest_one() {
    let refused = refused(&json!({"machine": "m", "versoin": 1}));
    assert!(
        refused.contains("/versoin") && refused.contains("did you mean `version`?"),
        "{refused}"
    );
}

#[test]
fn everything_wrong_is_reported_at_once_with_pointer_and_value() {
    let refused = refused(&json!({"version": -1, "tags": ["a", 5], "states": {"x/y": true}, "zzzzzz": 1}));
    for part in [
        "`machine` is missing",
        "`-1` is not a whole number from 1",
        "/tags/1",
        "`5` is not text",
        "/states/x~1y",
        "/zzzzzz",
    ] {
        assert!(refused.contains(part), "{part} in {refused}");
    }
}

#[test]
fn a_version_is_a_whole_number_from_one() {
    for version in [json!(0), json!(1.5), json!(4_294_967_296_u64), json!("1"), json!([1])] {
        assert!(read(&json!({"machine": "m", "version": version})).is_err(), "{version}");
    }
    assert_eq!(read(&json!({"machine": "m", "version": 1})).unwrap().version, Some(1));
}

#[test]
fn the_limits_of_the_type_are_those_of_the_body() {
    let fits = |field: &str, value: Value| read(&json!({"machine": "m", field: value})).is_ok();
    for note in ["a", "größe", "a b"] {
        assert!(fits("note", json!(note)), "{note}");
    }
    for note in ["", "  ", "longer"] {
        assert!(!fits("note", json!(note)), "{note}");
    }
    assert!(fits("lasts", json!("30s")) && fits("lasts", json!(5)));
    assert!(!fits("lasts", json!("soon")) && !fits("lasts", json!(-1)));
    assert!(
        refused(&json!({"machine": "m", "note": "longer"}))
            .contains("`note` has 6 characters; write text of 1 to 5 characters")
    );
}

#[test]
fn what_must_be_there_decides_whether_a_body_must() {
    assert_eq!(Sample::empty(), Empty::Refused);
    assert_eq!(NoFields::empty(), Empty::Object);
}

#[test]
fn what_is_no_object_is_refused() {
    for body in [json!([]), json!("text"), json!(1), json!(null)] {
        assert!(refused(&body).contains("must be an object"), "{body}");
    }
}

#[test]
fn only_the_media_type_itself_in_utf_8_is_taken() {
    let of = |value: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(value).unwrap());
        media::of(&headers, &[Media::Json])
    };
    let taken = [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=\"UTF-8\"",
    ];
    for value in taken {
        assert!(of(value).is_ok(), "{value}");
    }
    let refused = [
        "",
        "text/plain",
        "text/json",
        "application/jsonp",
        "application/json, text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/json; charset=latin1",
        "application/json; version=1",
        "application/yaml",
    ];
    for value in refused {
        assert!(of(value).is_err(), "{value}");
    }
    assert!(media::of(&HeaderMap::new(), &[Media::Json]).is_err());
}
