//! What one method of one route is: written in a few lines, with everything that follows from them added here.
//!
//! A path, a query or a body brings the codes of what can be wrong with it; a request to the engine gets the engine's
//! own; every request can be refused by the guard.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use sprag_core::integrity::audit::REASON_CHARACTERS_MAX;
use sprag_engine::requests;
use sprag_engine::requests::idempotency::KEY_BYTES_MAX;
use sprag_wire::{Duration, MachineDefinition};

use super::shapes::{Shape, text, whole};
use crate::access::rule::Rule;
use crate::problem::{Code, HttpStatus};
use crate::request::body::{Empty, FromFields};
use crate::request::query::LIMIT_MAX;

/// The header of a request that acts once.
pub(crate) const ONCE: &str = "Idempotency-Key";

/// What one method of one route is.
pub(crate) struct Operation {
    /// The resource it belongs to.
    pub(crate) resource: &'static str,
    /// Its name for programs.
    pub(crate) id: &'static str,
    /// What it does, in one line.
    pub(crate) summary: &'static str,
    /// What goes into the path, the query and the headers.
    pub(crate) parameters: Vec<Parameter>,
    /// What is sent.
    pub(crate) body: Option<RequestBody>,
    /// What comes back when all goes well.
    pub(crate) answers: Vec<Success>,
    /// The codes of problems, each with its status.
    pub(crate) refusals: Vec<Refused>,
    /// Whether another path does the same, so that readers need not see this one.
    pub(crate) is_alias: bool,
    /// Who may use it.
    pub(crate) rule: Rule,
}

/// Where a parameter goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterPlace {
    /// The path.
    Path,
    /// The query.
    Query,
    /// A header.
    Header,
}

impl ParameterPlace {
    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
        }
    }
}

/// A parameter.
pub(crate) struct Parameter {
    /// Where it goes.
    pub(crate) place: ParameterPlace,
    /// Its name.
    pub(crate) name: &'static str,
    /// What it is.
    pub(crate) shape: Shape,
    /// What it means.
    pub(crate) about: &'static str,
}

/// A body as it is sent.
pub(crate) struct RequestBody {
    /// Whether a request without one is refused.
    pub(crate) required: bool,
    /// What it may be, by media type.
    pub(crate) content: Vec<(&'static str, Shape)>,
}

/// An answer to a request that went well.
pub(crate) struct Success {
    /// Its status.
    pub(crate) status: u16,
    /// What it means.
    pub(crate) about: &'static str,
    /// What it may be, by media type.
    pub(crate) content: Vec<(&'static str, Shape)>,
    /// Headers that are always there, with what they say.
    pub(crate) headers: Vec<(&'static str, &'static str)>,
}

/// A code with its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Refused {
    /// The status.
    pub(crate) status: u16,
    /// The code.
    pub(crate) code: &'static str,
}

impl From<Code> for Refused {
    fn from(code: Code) -> Self {
        Self {
            status: code.status(),
            code: code.text(),
        }
    }
}

impl From<requests::Code> for Refused {
    fn from(code: requests::Code) -> Self {
        Self {
            status: code.status(),
            code: code.text(),
        }
    }
}

impl Success {
    /// Anything.
    pub(crate) fn of(status: u16, about: &'static str, media: &'static str, shape: impl Into<Shape>) -> Self {
        Self {
            status,
            about,
            content: vec![(media, shape.into())],
            headers: Vec::new(),
        }
    }

    /// An answer without a body.
    pub(crate) fn bare(status: u16, about: &'static str) -> Self {
        Self {
            status,
            about,
            content: Vec::new(),
            headers: Vec::new(),
        }
    }

    /// The same answer in another form.
    pub(crate) fn or(mut self, media: &'static str, shape: impl Into<Shape>) -> Self {
        self.content.push((media, shape.into()));
        self
    }
}

impl Operation {
    /// An operation that takes no query parameters besides those that are named.
    pub(crate) fn new(resource: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self::lenient(resource, id, summary).refuses([Code::QueryInvalid])
    }

    /// An operation that does not look at the query.
    pub(crate) fn lenient(resource: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self {
            resource,
            id,
            summary,
            parameters: Vec::new(),
            body: None,
            answers: Vec::new(),
            refusals: Vec::new(),
            is_alias: false,
            // The route table says who may.
            rule: Rule::Roles(&[]),
        }
    }

    /// With a part of the path.
    pub(crate) fn path(self, name: &'static str, shape: impl Into<Shape>, about: &'static str) -> Self {
        self.parameter(ParameterPlace::Path, name, shape.into(), about)
            .refuses([Code::PathInvalid])
    }

    /// With a query parameter, which may be left out.
    pub(crate) fn query(self, name: &'static str, shape: impl Into<Shape>, about: &'static str) -> Self {
        self.parameter(ParameterPlace::Query, name, shape.into(), about)
    }

    /// With a header, which may be left out.
    pub(crate) fn header(self, name: &'static str, shape: impl Into<Shape>, about: &'static str) -> Self {
        self.parameter(ParameterPlace::Header, name, shape.into(), about)
    }

    fn parameter(mut self, place: ParameterPlace, name: &'static str, shape: Shape, about: &'static str) -> Self {
        self.parameters.push(Parameter {
            place,
            name,
            shape,
            about,
        });
        self
    }

    /// A list that comes in pages.
    pub(crate) fn paged(self) -> Self {
        let limit = json!({ "type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": 100 });
        let cursor = json!({ "type": "string", "pattern": "^[0-9a-f]{16,}$" });
        self.query(
            "limit",
            limit,
            "The most rows of the page. A page has at most 4 MiB, so it may have fewer rows even if it is not the last.",
        )
        .query(
            "cursor",
            cursor,
            "`nextCursor` of the previous page. Continue until it is null.",
        )
        .refuses([Code::CursorInvalid])
    }

    /// A list that is read whole and shown in as few pages as it takes.
    pub(crate) fn continued(self) -> Self {
        let cursor = json!({ "type": "string", "pattern": "^[0-9a-f]{16,}$" });
        self.query(
            "cursor",
            cursor,
            "`nextCursor` of the previous page. A page has at most 4 MiB. Continue until it is null.",
        )
        .refuses([Code::CursorInvalid])
    }

    /// A change that can be bound to a revision.
    pub(crate) fn if_match(self) -> Self {
        self.header(
            "If-Match",
            text(),
            "Act only if the record has this revision, as in `ETag`.",
        )
        .refuses([requests::Code::PreconditionFailed])
    }

    /// A change that can be bound to there being nothing yet.
    pub(crate) fn if_none(self) -> Self {
        self.header(
            "If-None-Match",
            json!({ "const": "*" }),
            "Act only if the record does not exist yet.",
        )
        .refuses([requests::Code::PreconditionFailed])
    }

    /// Something that is not sent again to a client that has it.
    pub(crate) fn if_changed(self) -> Self {
        self.header(
            "If-None-Match",
            text(),
            "Answer 304 if the record still has this revision, as in `ETag`.",
        )
        .gives(Success::bare(304, "The record did not change."))
        .tagged()
    }

    /// A list that can be narrowed by a condition.
    pub(crate) fn filtered(self) -> Self {
        self.query(
            "filter",
            text(),
            "Only records that match this filter, such as `createdAt > \"2026-01-01\" AND tag = \"eu\"`.",
        )
        .refuses([requests::Code::FilterInvalid])
    }

    /// A request that acts once under its key, however often it is sent.
    pub(crate) fn once(self) -> Self {
        let key = json!({ "type": "string", "minLength": 1, "maxLength": KEY_BYTES_MAX, "pattern": "^[!-~]+$" });
        self.header(
            ONCE,
            key,
            "The idempotency key. If you send the same request with the same key within a day, you get the first answer.",
        )
        .refuses([Code::IdempotencyKeyInvalid, Code::ReasonInvalid])
        .refuses([requests::Code::IdempotencyKeyReused])
    }

    /// A decision of a principal, which the audit keeps.
    pub(crate) fn audited(self) -> Self {
        let reason = json!({ "type": "string", "maxLength": REASON_CHARACTERS_MAX });
        self.header(
            "Sprag-Reason",
            reason,
            "The reason, which the audit keeps. The server may demand one.",
        )
        .refuses([Code::ReasonInvalid])
        .refuses([requests::Code::ReasonMissing])
    }

    /// A POST that changes nothing: it can be sent again with or without a key.
    pub(crate) fn changes_nothing(self) -> Self {
        self.header(
            ONCE,
            text(),
            "Accepted and ignored: the request changes nothing, so you can send it again.",
        )
    }

    /// Waits for an execution to close.
    pub(crate) fn waits(self) -> Self {
        self.query(
            "wait",
            Shape::of::<Duration>(),
            "Wait until the execution closes, but at most this long (up to `60s`).",
        )
    }

    /// With a JSON body. Left out, it means `{}` where `B` says so, and is refused otherwise.
    pub(crate) fn body<B: FromFields>(self) -> Self {
        self.takes(
            B::empty() == Empty::Refused,
            vec![("application/json", Shape::read::<B::Shape>())],
        )
        .refuses([Code::BodyInvalid, Code::BodyTooDeep])
    }

    /// With a body of its sender's own shape.
    pub(crate) fn raw_body(self) -> Self {
        self.takes(true, vec![("application/json", Shape::Plain(json!({})))])
            .refuses([Code::BodyInvalid, Code::BodyTooDeep])
    }

    /// With a machine file as its body.
    pub(crate) fn definition(self) -> Self {
        let yaml = json!({ "type": "string", "description": "The definition in YAML: `GET /v1/schemas/machine`." });
        let content = vec![
            ("application/json", Shape::read::<MachineDefinition>()),
            ("application/yaml", Shape::Plain(yaml)),
        ];
        self.takes(true, content)
    }

    /// A catalog file: one document or several.
    pub(crate) fn catalog_file(self) -> Self {
        let yaml = json!({
            "type": "string",
            "description": "Subjects and operations in YAML, with `---` between them: docs/operations.md.",
        });
        let document = json!({ "type": "object", "additionalProperties": true });
        let json = json!({
            "description": "One document, or a list of them.",
            "anyOf": [document.clone(), { "type": "array", "minItems": 1, "items": document }],
        });
        let content = vec![
            ("application/json", Shape::Plain(json)),
            ("application/yaml", Shape::Plain(yaml)),
        ];
        self.takes(true, content)
    }

    fn takes(self, required: bool, content: Vec<(&'static str, Shape)>) -> Self {
        Self {
            body: Some(RequestBody { required, content }),
            ..self
        }
        .refuses([
            Code::BodyIncomplete,
            Code::BodyTimeout,
            Code::BodyTooLarge,
            Code::BodyUnreadable,
            Code::MediaTypeUnsupported,
        ])
    }

    /// What comes back as JSON when all goes well.
    pub(crate) fn answers<A: JsonSchema + Serialize>(self, status: u16, about: &'static str) -> Self {
        self.gives(Success::of(status, about, "application/json", Shape::of::<A>()))
    }

    /// What comes back when all goes well.
    pub(crate) fn gives(mut self, answer: Success) -> Self {
        self.answers.push(answer);
        self
    }

    /// The last answer says where the new thing is.
    pub(crate) fn located(self) -> Self {
        self.says("Location", "The path of the new record.")
    }

    /// The last answer says which revision it shows.
    pub(crate) fn tagged(self) -> Self {
        self.says("ETag", "The revision, for `If-Match`.")
    }

    fn says(mut self, name: &'static str, about: &'static str) -> Self {
        if let Some(answer) = self.answers.last_mut() {
            answer.headers.push((name, about));
        }
        self
    }

    /// Asks the engine.
    pub(crate) fn reads(self) -> Self {
        self.refuses([
            requests::Code::Overloaded,
            requests::Code::ShardMoved,
            requests::Code::ShuttingDown,
            requests::Code::StoreAway,
            requests::Code::StoreFailed,
            requests::Code::RecordDamaged,
        ])
    }

    /// Changes what is stored.
    pub(crate) fn writes(self) -> Self {
        self.reads().refuses([
            requests::Code::StoreFull,
            requests::Code::StoreReadOnly,
            requests::Code::StoreRefused,
        ])
    }

    /// Another path does the same: the document has this one, the page leaves it out.
    pub(crate) fn alias(mut self) -> Self {
        self.is_alias = true;
        self
    }

    /// Codes it can answer with, besides those that follow from what it takes.
    pub(crate) fn refuses<const N: usize>(mut self, codes: [impl Into<Refused>; N]) -> Self {
        self.refusals.extend(codes.map(Into::into));
        self
    }

    /// With what holds for every request, and who may send it.
    pub(super) fn complete(self, method: &str, rule: Rule) -> Self {
        let mut whole = self.refuses([Code::HostRefused, Code::OriginRefused, Code::InternalError]);
        whole.rule = rule;
        if rule.needs_token() {
            whole = whole.refuses([Code::TokenMissing, Code::TokenInvalid, Code::RateLimited]);
            whole = whole.refuses([requests::Code::RoleMissing]);
        }
        if rule.needs_token() && method != "get" {
            whole = whole.refuses([requests::Code::ScopeMissing]);
        }
        whole.refusals.sort_unstable();
        whole.refusals.dedup();
        whole
    }
}

/// A version in a path or a query.
pub(crate) fn version() -> Value {
    let mut version = whole(1);
    version["maximum"] = u32::MAX.into();
    version
}
