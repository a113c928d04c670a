//! The protobuf of OTLP, as much of it as spans need: `ExportTraceServiceRequest` of opentelemetry-proto 1.x.
//!
//! Written by hand: a dozen fields need no generator and no framework. Field numbers are those of the published files
//! `collector/trace/v1/trace_service.proto`, `trace/v1/trace.proto` and `common/v1/common.proto`.

/// A message under way.
#[derive(Clone, Debug, Default)]
struct Message(Vec<u8>);

/// Wire types.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(u8::try_from(value & 0x7f).unwrap_or(0) | 0x80);
            value >>= 7;
        }
        self.0.push(u8::try_from(value).unwrap_or(0));
    }

    fn key(&mut self, field: u64, kind: u64) {
        self.varint(field << 3 | kind);
    }

    fn number(&mut self, field: u64, value: u64) {
        if value > 0 {
            self.key(field, VARINT);
            self.varint(value);
        }
    }

    fn fixed(&mut self, field: u64, value: u64) {
        self.key(field, FIXED64);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, value: &[u8]) {
        self.key(field, BYTES);
        self.varint(u64::try_from(value.len()).unwrap_or(0));
        self.0.extend_from_slice(value);
    }

    fn text(&mut self, field: u64, value: &str) {
        if !value.is_empty() {
            self.bytes(field, value.as_bytes());
        }
    }

    fn message(&mut self, field: u64, value: &Self) {
        self.bytes(field, &value.0);
    }
}

/// Which way a span looks: `SpanKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanKind {
    /// Inside this process.
    Internal,
    /// A call to another system.
    Client,
}

impl SpanKind {
    fn number(self) -> u64 {
        match self {
            Self::Internal => 1,
            Self::Client => 3,
        }
    }
}

/// The value of an attribute: `AnyValue`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AttributeValue {
    Text(String),
    Flag(bool),
    Whole(u64),
    Texts(Vec<String>),
}

impl AttributeValue {
    fn message(&self) -> Message {
        let mut message = Message::default();
        match self {
            Self::Text(text) => message.bytes(1, text.as_bytes()),
            Self::Flag(flag) => {
                message.key(2, VARINT);
                message.varint(u64::from(*flag));
            }
            Self::Whole(number) => {
                message.key(3, VARINT);
                message.varint(*number);
            }
            Self::Texts(texts) => {
                let mut list = Message::default();
                for text in texts {
                    list.message(1, &Self::Text(text.clone()).message());
                }
                message.message(5, &list);
            }
        }
        message
    }
}

/// A span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) trace: [u8; 16],
    pub(super) id: [u8; 8],
    pub(super) parent: Option<[u8; 8]>,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    /// Milliseconds since 1970.
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) attributes: Vec<(&'static str, AttributeValue)>,
    /// Why it failed, if it did.
    pub(super) error: Option<String>,
}

impl Span {
    fn message(&self) -> Message {
        let mut message = Message::default();
        message.bytes(1, &self.trace);
        message.bytes(2, &self.id);
        if let Some(parent) = &self.parent {
            message.bytes(4, parent);
        }
        message.text(5, &self.name);
        message.number(6, self.kind.number());
        message.fixed(7, nanos(self.start));
        message.fixed(8, nanos(self.end));
        for (name, value) in &self.attributes {
            message.message(9, &attribute(name, value));
        }
        if let Some(error) = &self.error {
            let mut status = Message::default();
            status.text(2, error);
            status.number(3, STATUS_ERROR);
            message.message(15, &status);
        }
        message
    }
}

/// `STATUS_CODE_ERROR`.
const STATUS_ERROR: u64 = 2;

fn nanos(millis: i64) -> u64 {
    u64::try_from(millis).unwrap_or(0).saturating_mul(1_000_000)
}

fn attribute(name: &str, value: &AttributeValue) -> Message {
    let mut message = Message::default();
    message.text(1, name);
    message.message(2, &value.message());
    message
}

/// The request that exports these spans, of a service with these attributes.
pub(super) fn request(resource: &[(&str, AttributeValue)], spans: &[Span]) -> Vec<u8> {
    let mut about = Message::default();
    for (name, value) in resource {
        about.message(1, &attribute(name, value));
    }
    let mut scope = Message::default();
    scope.text(1, "sprag");
    scope.text(2, env!("CARGO_PKG_VERSION"));
    let mut scoped = Message::default();
    scoped.message(1, &scope);
    for span in spans {
        scoped.message(2, &span.message());
    }
    let mut all = Message::default();
    all.message(1, &about);
    all.message(2, &scoped);
    let mut request = Message::default();
    request.message(1, &all);
    request.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_seven_bits_at_a_time() {
        let written = |value| {
            let mut message = Message::default();
            message.varint(value);
            message.0
        };
        assert_eq!(written(0), [0]);
        assert_eq!(written(127), [127]);
        assert_eq!(written(150), [0x96, 0x01]);
        assert_eq!(written(u64::MAX).len(), 10);
    }

    #[test]
    fn a_field_is_its_number_its_kind_and_its_value() {
        let mut message = Message::default();
        message.text(2, "testing");
        assert_eq!(message.0, [&[0x12, 0x07][..], b"testing"].concat());
        let mut message = Message::default();
        message.fixed(7, 1);
        assert_eq!(message.0, [0x39, 1, 0, 0, 0, 0, 0, 0, 0]);
    }
}
