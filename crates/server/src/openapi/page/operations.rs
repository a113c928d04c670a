//! One method of one route: a line that opens.

use std::fmt::Write as _;

use serde_json::Value;

use super::html::{escaped, prose};
use super::shapes::kind;
use crate::openapi::{Operation, Parameter, Success, document};

/// The method with all that is known about it.
pub(super) fn article(path: &str, method: &str, operation: &Operation) -> String {
    let Operation {
        resource: _,
        id,
        summary,
        parameters,
        body,
        answers,
        refusals: _,
        is_alias: _,
        rule,
    } = operation;
    let roles = escaped(&rule.words().join(", "));
    let mut rows = format!("<tr><th>role</th><td colspan=\"2\">{roles}</td></tr>\n");
    let documented = &document()["paths"][path][method];
    for (position, parameter) in parameters.iter().enumerate() {
        rows.push_str(&parameter_row(parameter, &documented["parameters"][position]["schema"]));
    }
    if let Some(body) = body {
        let note = if body.required { "body" } else { "body, optional" };
        let content = &documented["requestBody"]["content"];
        for (media, _) in &body.content {
            rows.push_str(&content_row(note, media, &content[*media]["schema"], ""));
        }
    }
    for answer in answers {
        let content = &documented["responses"][answer.status.to_string()]["content"];
        rows.push_str(&answer_rows(answer, content));
    }
    rows.push_str(&refusals_row(operation));
    format!(
        "<details id=\"{id}\"><summary><span class=\"method {method}\">{}</span> <code>{}</code> \
         <span class=\"summary\">{}</span></summary>\n<table>\n{rows}</table>\n</details>\n",
        method.to_ascii_uppercase(),
        escaped(path),
        prose(summary),
    )
}

fn parameter_row(parameter: &Parameter, schema: &Value) -> String {
    let Parameter {
        place,
        name,
        shape: _,
        about,
    } = parameter;
    let what = format!("<code>{}</code> {}", escaped(name), kind(schema));
    row(place.word(), &what, &prose(about))
}

fn answer_rows(answer: &Success, documented: &Value) -> String {
    let Success {
        status,
        about,
        content,
        headers,
    } = answer;
    let mut about = prose(about);
    for (name, says) in headers {
        let _ = write!(about, " <code>{}</code>: {}", escaped(name), prose(says));
    }
    let rows = content.iter().enumerate();
    rows.map(|(position, (media, _))| {
        let about = if position == 0 { about.as_str() } else { "" };
        content_row(&status.to_string(), media, &documented[*media]["schema"], about)
    })
    .collect()
}

fn content_row(what: &str, media: &str, schema: &Value, about: &str) -> String {
    let media_name = media.split(';').next().unwrap_or(media);
    let content = format!("<code>{}</code> {}", escaped(media_name), kind(schema));
    row(what, &content, about)
}

/// The codes by status, each leading to its page.
fn refusals_row(operation: &Operation) -> String {
    let links = operation.refusals.iter().map(|refused| {
        let code = refused.code;
        format!(
            "<a href=\"/errors/{code}\">{code}</a> <small>{}</small>",
            refused.status
        )
    });
    let links: Vec<String> = links.collect();
    format!(
        "<tr><th>problems</th><td colspan=\"2\">{}</td></tr>\n",
        links.join(", ")
    )
}

fn row(what: &str, content: &str, about: &str) -> String {
    format!(
        "<tr><th>{}</th><td>{content}</td><td>{about}</td></tr>\n",
        escaped(what)
    )
}
