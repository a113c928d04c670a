//! The API as a page to read: one static document, rendered once from the route table. It needs no script.

mod html;
mod operations;
mod shapes;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::sync::LazyLock;

use self::html::{escaped, prose};
use crate::openapi::Route;
use crate::openapi::{Example, RESOURCES, Resource};
use crate::routes::table;

/// How it looks.
pub(crate) const STYLE: &str = include_str!("style.css");
/// Stands in the rendered page where the server's name goes.
const HOST: &str = "\0host\0";

const HEAD: &str = "<!doctype html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<title>Sprag API</title>
<link rel=\"stylesheet\" href=\"/style.css\">
</head>
<body>
";

const INTRODUCTION: &str = "<h1>Sprag</h1>
<p class=\"lead\">Sprag runs state machines that act on the world: a machine decides, runners act, one store remembers.
Transitions happen exactly once, effects at least once with every repeat accounted for, and nothing that was answered is
ever lost.</p>
<p>Bodies are JSON in camelCase; times are RFC 3339, durations milliseconds or texts such as <code>30s</code>. What goes
wrong is answered as a problem (RFC 9457) with a stable <code>code</code>, whose page is at
<code>/errors/{code}</code>. Lists are <code>{data, nextCursor}</code>. For programs, all of this is
<a href=\"/v1/openapi.json\">an OpenAPI 3.1 document</a>; for editors there is
<a href=\"/v1/schemas/machine\">the JSON Schema of a machine file</a>.</p>
";

static PAGE: LazyLock<String> = LazyLock::new(render);

/// The page, with examples for the server under this name.
pub(crate) fn index(host: &str) -> String {
    PAGE.replace(HOST, &escaped(host))
}

fn render() -> String {
    let routes = table();
    let mut page = String::from(HEAD);
    let _ = write!(page, "<header>{INTRODUCTION}{}</header>\n<main>\n", contents());
    for resource in RESOURCES {
        page.push_str(&section(resource, &routes));
    }
    page.push_str(&shapes::section());
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn contents() -> String {
    let links = RESOURCES.iter().map(|Resource { name, .. }| link(name));
    let links: String = links.chain([link("shapes")]).collect();
    format!("<nav><ul>{links}</ul></nav>")
}

fn link(name: &str) -> String {
    format!("<li><a href=\"#{}\">{}</a></li>", anchor(name), escaped(name))
}

/// The name of a group as an anchor.
fn anchor(name: &str) -> String {
    name.replace(' ', "-")
}

fn section(resource: &Resource, routes: &[Route]) -> String {
    let Resource { name, about, example } = resource;
    let operations: String = routes
        .iter()
        .flat_map(|route| route.operations.iter().map(|operation| (route.path, operation)))
        .filter(|(_, (_, operation))| operation.resource == *name && !operation.is_alias)
        .map(|(path, (method, operation))| operations::article(path, method, operation))
        .collect();
    format!(
        "<section id=\"{}\">\n<h2>{}</h2>\n<p>{}</p>\n<p class=\"example\">{}</p>\n<pre>{}</pre>\n{operations}</section>\n",
        anchor(name),
        escaped(name),
        prose(about),
        prose(example.about),
        escaped(&curl(example)),
    )
}

/// The request as a command for a shell.
fn curl(example: &Example) -> String {
    let Example { method, path, body, .. } = example;
    let mut command = String::from("curl");
    if *method != "GET" {
        let _ = write!(command, " -X {method}");
    }
    let _ = write!(command, " 'http://{HOST}{path}'");
    if let Some((media, body)) = body {
        let _ = write!(
            command,
            " \\\n  -H 'Content-Type: {media}' \\\n  --data-binary '{body}'"
        );
    }
    command
}
