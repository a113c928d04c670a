//! The Prometheus text format, version 0.0.4, by hand: families of samples, each with what it is and of which kind.

use std::fmt::Write as _;

use sprag_engine::metrics::Distribution;

/// The media type of a page.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Names with values.
pub(super) type Labels<'a> = &'a [(&'a str, &'a str)];

/// What the values of a family are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Counts between bounds.
    Histogram,
}

/// What a histogram's numbers are recorded in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Microseconds, shown as seconds.
    Micros,
    /// Numbers of things.
    Things,
}

/// A page under way.
#[derive(Debug, Default)]
pub(super) struct Text(String);

/// A family under way: its samples follow.
pub(super) struct Family<'t> {
    text: &'t mut String,
    name: &'static str,
}

impl Text {
    /// Begins a family. `help` is one line without backslashes.
    pub(super) fn family(&mut self, name: &'static str, kind: Kind, help: &'static str) -> Family<'_> {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Family {
            text: &mut self.0,
            name,
        }
    }

    /// A family of one whole number without labels.
    pub(super) fn single(&mut self, name: &'static str, kind: Kind, help: &'static str, value: u64) {
        self.family(name, kind, help).sample(&[], value);
    }

    /// The page.
    pub(super) fn finish(self) -> String {
        self.0
    }
}

impl Family<'_> {
    /// Adds a sample.
    pub(super) fn sample(&mut self, labels: Labels<'_>, value: u64) {
        self.line("", labels, None, &value.to_string());
    }

    /// Adds a sample in seconds.
    pub(super) fn seconds(&mut self, labels: Labels<'_>, micros: u64) {
        self.line("", labels, None, &shown(micros, Unit::Micros));
    }

    /// Adds a sample that is counted in millionths.
    pub(super) fn millionths(&mut self, labels: Labels<'_>, value: u64) {
        self.line("", labels, None, &shown(value, Unit::Micros));
    }

    /// Adds the samples of a histogram. What it counts is added up here, so its parts always agree.
    pub(super) fn histogram(&mut self, labels: Labels<'_>, read: &Distribution, unit: Unit) {
        let mut sum = 0;
        for (place, count) in read.counts.iter().enumerate() {
            sum += count;
            let bound = read
                .bounds
                .get(place)
                .map_or("+Inf".to_owned(), |&bound| shown(bound, unit));
            self.line("_bucket", labels, Some(&bound), &sum.to_string());
        }
        self.line("_sum", labels, None, &shown(read.sum, unit));
        self.line("_count", labels, None, &sum.to_string());
    }

    fn line(&mut self, suffix: &str, labels: Labels<'_>, bound: Option<&str>, value: &str) {
        let Self { text, name } = self;
        let _ = write!(text, "{name}{suffix}");
        let bound = bound.map(|bound| ("le", bound));
        for (position, (label, value)) in labels.iter().copied().chain(bound).enumerate() {
            let before = if position == 0 { '{' } else { ',' };
            let _ = write!(text, "{before}{label}=\"{}\"", escaped(value));
        }
        if bound.is_some() || !labels.is_empty() {
            text.push('}');
        }
        let _ = writeln!(text, " {value}");
    }
}

fn shown(number: u64, unit: Unit) -> String {
    match unit {
        Unit::Things => number.to_string(),
        Unit::Micros => {
            let (seconds, micros) = (number / 1_000_000, number % 1_000_000);
            let text = format!("{seconds}.{micros:06}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

/// A value as it stands between quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_shown_as_seconds_and_values_between_quotes() {
        let seconds = [0, 1, 100, 250_000, 1_000_000, 12_500_000].map(|micros| shown(micros, Unit::Micros));
        assert_eq!(seconds, ["0", "0.000001", "0.0001", "0.25", "1", "12.5"]);
        let mut text = Text::default();
        let mut family = text.family("sprag_x", Kind::Gauge, "An x.");
        family.sample(&[("type", "a\"b\\c\nd"), ("status", "1")], 7);
        assert_eq!(
            text.finish(),
            "# HELP sprag_x An x.\n# TYPE sprag_x gauge\nsprag_x{type=\"a\\\"b\\\\c\\nd\",status=\"1\"} 7\n"
        );
    }
}
