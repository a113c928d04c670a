//! Looking at machines: what is different between two, and a picture of one.

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use sprag_core::machine::{DiagramFormat, Difference, diagram as draw, diff as compare, drawing};
use sprag_wire as wire;

use super::machines;
use super::source::Source;
use crate::access::rule::{AUTHOR, VIEWER};
use crate::access::scope::Target;
use crate::app::App;
use crate::handlers::reply::{Answer, ok};
use crate::openapi::{Operation, Route, Shape, Success, at, text, version, words};
use crate::request::body::{Body, Fields, FromFields};
use crate::request::path::Path;
use crate::request::query::{FromParams, Nothing, Params, Query};

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/machines/diff")
            .post(AUTHOR, diff)
            .is(machines::of_source::<Both>("diffMachines", "Compare two machines")
                .answers::<Difference>(200, "The changes."))
            .get(VIEWER, machines::show_verb)
            .is(machines::show_verb_operation("showMachineDiff"))
            .about(Target::Handler),
        at("/v1/machines/{id}/diagram")
            .get(VIEWER, diagram)
            .is(diagram_operation()),
    ]
}

fn diagram_operation() -> Operation {
    machines::one("drawMachine", "Draw a machine")
        .query(
            "format",
            words(&DiagramAnswer::ALL.map(DiagramAnswer::word)),
            "The format. `json` gives the places of states, lines and labels. Default: `svg`.",
        )
        .query("version", version(), "The version. Default: the newest.")
        .gives(
            Success::of(200, "The picture.", "image/svg+xml", text())
                .or("text/plain; charset=utf-8", text())
                .or("text/vnd.graphviz; charset=utf-8", text())
                .or("application/json", Shape::of::<wire::Diagram>()),
        )
}

/// A picture is shown, and nothing in it runs.
const PICTURE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// Two machines.
pub(crate) struct Both {
    before: Source,
    after: Source,
}

impl FromFields for Both {
    type Shape = wire::DiffRequest;

    fn read(fields: &mut Fields) -> Option<Self> {
        let (before, after) = (fields.inside("before"), fields.inside("after"));
        Some(Self {
            before: before?,
            after: after?,
        })
    }
}

/// `POST /v1/machines/diff`: what is different, in the words of a machine file.
pub(crate) async fn diff(
    State(app): State<App>,
    Query(Nothing): Query<Nothing>,
    Body(Both { before, after }): Body<Both>,
) -> Answer {
    let before = before.machine(&app).await?;
    let after = after.machine(&app).await?;
    Ok(ok(&app.apart(move || compare(&before, &after)).await?))
}

sprag_core::words! {
    /// What the route answers with: a format of a diagram, or its geometry.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) enum DiagramAnswer as word {
        /// A picture that browsers show.
        #[default]
        Svg => "svg",
        /// A Mermaid `stateDiagram-v2`.
        Mermaid => "mermaid",
        /// Graphviz' language.
        Dot => "dot",
        /// Where states, lines and labels are.
        Json => "json",
    }
}

/// How a diagram is drawn, and of which version.
pub(crate) struct DiagramParams {
    format: DiagramAnswer,
    version: Option<u32>,
}

impl FromParams for DiagramParams {
    const KNOWN: &'static [&'static str] = &["format", "version"];

    fn read(params: &mut Params) -> Self {
        let format = params.word("format", &DiagramAnswer::ALL, DiagramAnswer::word);
        let version = params.whole("version", 1, u64::from(u32::MAX));
        Self {
            format: format.unwrap_or_default(),
            version: version.and_then(|version| u32::try_from(version).ok()),
        }
    }
}

/// `GET /v1/machines/{id}/diagram`: SVG unless another format is asked for.
pub(crate) async fn diagram(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(DiagramParams { format, version }): Query<DiagramParams>,
) -> Answer {
    let machine = app.engine.read().compiled_machine(id, version).await?;
    let (format, media) = match format {
        DiagramAnswer::Svg => (DiagramFormat::Svg, "image/svg+xml"),
        DiagramAnswer::Mermaid => (DiagramFormat::Mermaid, "text/plain; charset=utf-8"),
        DiagramAnswer::Dot => (DiagramFormat::Dot, "text/vnd.graphviz; charset=utf-8"),
        DiagramAnswer::Json => {
            let geometry = move || wire::Diagram::of(&machine, drawing(&machine));
            return Ok(ok(&app.apart(geometry).await?));
        }
    };
    let text = app.apart(move || draw(&machine, format)).await?;
    let headers = [
        (header::CONTENT_TYPE, media),
        (header::CONTENT_SECURITY_POLICY, PICTURE_POLICY),
    ];
    Ok((headers, text).into_response())
}
