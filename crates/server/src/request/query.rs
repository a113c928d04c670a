//! Query parameters: each known by its name, given once, and readable, or the request is refused with all that is
//! wrong.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::Uri;
use axum::http::request::Parts;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;
use sprag_core::document::json;
use sprag_core::document::source::nearest;
use sprag_core::filter::{self, Condition, Field, Resource};
use sprag_core::text::is_storable;
use sprag_core::time::duration::Millis;
use sprag_engine::requests::{self, Refusal};
use sprag_store::PAGE_BYTES_MAX;

use crate::listen::flight::Room;
use crate::problem::shown::shown;
use crate::problem::{Code, FieldError, LISTED_MAX, Problem};
use crate::request::cursor;
use sprag_wire as wire;

/// Rows of a page that does not say how many.
const LIMIT_DEFAULT: usize = 100;
/// The most rows of a page.
pub(crate) const LIMIT_MAX: usize = 1_000;
/// The bytes of a page of summaries.
const SUMMARY_BYTES_MAX: usize = 200_000;
/// How the body of a page begins.
const BEFORE_ROWS: &[u8] = b"{\"data\":[";
/// A page of this size no longer grows by doubling, but in steps.
const LARGE_BYTES: usize = 256 * 1_024;
const STEP_BYTES: usize = 512 * 1_024;
/// How much follows its rows: less than this, whatever the cursor.
const AFTER_ROWS_MAX: usize = 4 * 1_024;
/// The longest that a request may wait.
pub(crate) const WAIT_MAX: Duration = Duration::from_mins(1);

/// The parameters that a route takes.
pub(crate) trait FromParams: Sized {
    /// Their names.
    const KNOWN: &'static [&'static str];

    /// Reads them. What is wrong is noted in `params`, so the value counts only when nothing was.
    fn read(params: &mut Params) -> Self;
}

/// The parameters of a request.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: FromParams, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let mut params = Params::of(&parts.uri, T::KNOWN)?;
        let read = T::read(&mut params);
        params.finish()?;
        Ok(Self(read))
    }
}

/// No parameters at all.
pub(crate) struct Nothing;

impl FromParams for Nothing {
    const KNOWN: &'static [&'static str] = &[];

    fn read(_params: &mut Params) -> Self {
        Self
    }
}

/// `view`: whether a list has whole rows or summaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum View {
    /// Whole rows.
    #[default]
    Whole,
    /// Rows without what may be large; a page has at most [`SUMMARY_BYTES_MAX`].
    Summary,
}

impl View {
    pub(crate) const ALL: [Self; 2] = [Self::Whole, Self::Summary];

    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Summary => "summary",
        }
    }

    pub(crate) fn read(params: &mut Params) -> Self {
        params.word("view", &Self::ALL, Self::word).unwrap_or_default()
    }

    /// Where the rows of a page are written.
    pub(crate) fn rows(self) -> Rows {
        match self {
            Self::Whole => Rows::default(),
            Self::Summary => Rows::up_to(SUMMARY_BYTES_MAX),
        }
    }
}

/// `wait`: how long to wait for an execution to close.
pub(crate) struct Wait(pub(crate) Option<Duration>);

impl FromParams for Wait {
    const KNOWN: &'static [&'static str] = &["wait"];

    fn read(params: &mut Params) -> Self {
        let wait = params.parsed("wait", |text| {
            Millis::parse(text).map_err(|problem| problem.to_string())
        });
        Self(wait.map(|wait| Duration::from_millis(wait.get()).min(WAIT_MAX)))
    }
}

/// Whether a query has a parameter of this name, in whichever way the name is escaped.
pub(crate) fn is_given(query: Option<&str>, name: &str) -> bool {
    let mut parameters = query.unwrap_or_default().split('&');
    parameters.any(|parameter| {
        let spelled = parameter.split('=').next().unwrap_or_default();
        unescaped(spelled).eq(name.bytes())
    })
}

/// Decodes one part of a query into bytes.
fn unescaped(text: &str) -> impl Iterator<Item = u8> {
    let mut rest = text.as_bytes();
    std::iter::from_fn(move || {
        let (&first, after) = rest.split_first()?;
        rest = after;
        let escape = after.get(..2).filter(|_| first == b'%');
        let byte = escape.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        if byte.is_some() {
            rest = after.get(2..).unwrap_or_default();
        }
        Some(byte.unwrap_or(first))
    })
}

/// Parameters that are being read.
pub(crate) struct Params {
    given: BTreeMap<String, String>,
    errors: Vec<FieldError>,
    is_cursor_forged: bool,
    filter_error: Option<filter::Error>,
}

impl Params {
    fn of(uri: &Uri, known: &[&str]) -> Result<Self, Problem> {
        let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|rejection| Problem::new(Code::QueryInvalid, rejection.body_text()))?;
        let mut params = Self {
            given: BTreeMap::new(),
            errors: Vec::new(),
            is_cursor_forged: false,
            filter_error: None,
        };
        for (name, value) in pairs.0 {
            // Looking for the name that was meant takes time, so it is done only for what will be listed.
            if params.errors.len() < LISTED_MAX {
                params.add(&name, value, known);
            }
        }
        Ok(params)
    }

    fn add(&mut self, name: &str, value: String, known: &[&str]) {
        if !known.contains(&name) {
            let detail = match nearest(name, known.iter().copied()) {
                Some(nearest) => format!("is not known here; did you mean `{nearest}`?"),
                None if known.is_empty() => "is not known here: this route takes no parameters".to_owned(),
                None => format!("is not known here; known are {}", quoted(known)),
            };
            self.error(name, &detail);
        } else if value.contains(char::REPLACEMENT_CHARACTER) {
            // Bytes that are not UTF-8 become this character while they are decoded.
            self.error(name, "is not UTF-8");
        } else if !is_storable(&value) {
            self.error(name, "must not hold a NUL character; remove it");
        } else if self.given.insert(name.to_owned(), value).is_some() {
            self.error(name, "appears more than once; send it once");
        }
    }

    /// Notes what is wrong with a parameter.
    fn error(&mut self, name: &str, detail: &str) {
        let name = shown(name);
        let detail = format!("query parameter `{name}` {detail}");
        self.errors.push(FieldError {
            pointer: format!("?{name}"),
            detail,
        });
    }

    /// Notes that a parameter does not go with the others.
    pub(crate) fn refuse(&mut self, name: &str, detail: &str) {
        self.error(name, detail);
    }

    /// A parameter as text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.given.get(name).cloned()
    }

    /// That a field is what a parameter says.
    pub(crate) fn condition(&self, name: &str, field: Field) -> Option<Condition> {
        self.text(name).map(|text| Condition::text(field, text))
    }

    /// A parameter that `parse` can read.
    pub(crate) fn parsed<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        match parse(self.given.get(name)?) {
            Ok(value) => Some(value),
            Err(detail) => {
                self.error(name, &format!("cannot be read: {detail}"));
                None
            }
        }
    }

    /// A parameter that is a duration.
    pub(crate) fn duration(&mut self, name: &str) -> Option<Millis> {
        self.parsed(name, |text| Millis::parse(text).map_err(|problem| problem.to_string()))
    }

    /// A parameter that is an id.
    pub(crate) fn id<T: FromStr<Err: Display>>(&mut self, name: &str) -> Option<T> {
        self.parsed(name, |text| text.parse().map_err(|error: T::Err| error.to_string()))
    }

    /// A parameter that is a whole number from `least` to `most`.
    pub(crate) fn whole(&mut self, name: &str, least: u64, most: u64) -> Option<u64> {
        self.parsed(name, |text| {
            let number = text.parse().ok().filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| format!("`{}` is not a whole number from {least} to {most}", shown(text)))
        })
    }

    /// A parameter that is the word of one of `all`.
    pub(crate) fn word<T: Copy>(&mut self, name: &str, all: &[T], word: impl Fn(T) -> &'static str) -> Option<T> {
        self.parsed(name, |text| {
            let found = all.iter().copied().find(|&one| word(one) == text);
            found.ok_or_else(|| {
                let words: Vec<&str> = all.iter().map(|&one| word(one)).collect();
                format!("`{}` is not one of {}", shown(text), quoted(&words))
            })
        })
    }

    /// `filter`: what must hold of the rows of a list.
    pub(crate) fn filter(&mut self, resource: Resource) -> Condition {
        let given = self.given.get("filter").map(|text| filter::condition(text, resource));
        match given {
            None => Condition::EVERYTHING,
            Some(Ok(condition)) => condition,
            Some(Err(error)) => {
                self.filter_error = Some(error);
                Condition::EVERYTHING
            }
        }
    }

    /// `limit` and `cursor` of a list with this name.
    pub(crate) fn page(&mut self, list: &str) -> Page {
        let most = u64::try_from(LIMIT_MAX).unwrap_or(u64::MAX);
        let limit = self
            .whole("limit", 1, most)
            .and_then(|limit| usize::try_from(limit).ok());
        let scope = self.scope(list);
        let after = self.given.get("cursor").map(|text| cursor::decode(&scope, text));
        self.is_cursor_forged = after == Some(None);
        Page {
            limit: limit.unwrap_or(LIMIT_DEFAULT),
            scope,
            after: after.flatten(),
        }
    }

    /// The list with its filters: what a cursor belongs to.
    fn scope(&self, list: &str) -> String {
        let filters = self
            .given
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "limit" | "cursor"));
        filters.fold(list.to_owned(), |scope, (name, value)| {
            format!("{scope}\0{name}={value}")
        })
    }

    fn finish(self) -> Result<(), Problem> {
        if let Some(first) = self.errors.first() {
            let detail = first.detail.clone();
            return Err(Problem::new(Code::QueryInvalid, detail).with_errors(self.errors));
        }
        if let Some(error) = self.filter_error {
            let detail = format!("the filter is not valid: {error}");
            return Err(Problem::from(Refusal {
                errors: vec![("?filter".to_owned(), error.to_string())],
                ..Refusal::new(requests::Code::FilterInvalid, detail)
            }));
        }
        if self.is_cursor_forged {
            return Err(cursor_invalid());
        }
        Ok(())
    }
}

/// The part of a list that a request asks for.
pub(crate) struct Page {
    limit: usize,
    scope: String,
    after: Option<String>,
}

impl Page {
    /// How many rows to show.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// The position of the last row that the client has.
    pub(crate) fn after<T: FromStr>(&self) -> Result<Option<T>, Problem> {
        self.after
            .as_deref()
            .map(|after| after.parse().map_err(|_| cursor_invalid()))
            .transpose()
    }

    /// The part of a list that is read whole: from the cursor on, as much as a page holds, and always one row. The cursor
    /// is a position: a row that comes or goes between two pages shifts the rows after it.
    pub(crate) fn part<T: Serialize>(&self, all: Vec<T>) -> Result<wire::Page<T>, Problem> {
        self.part_up_to(all, usize::MAX)
    }

    /// The same, with no more rows than the page asks for.
    pub(crate) fn limited_part<T: Serialize>(&self, all: Vec<T>) -> Result<wire::Page<T>, Problem> {
        self.part_up_to(all, self.limit)
    }

    fn part_up_to<T: Serialize>(&self, all: Vec<T>, rows: usize) -> Result<wire::Page<T>, Problem> {
        let (after, count) = (self.after::<usize>()?.unwrap_or(0), all.len());
        let mut bytes = AFTER_ROWS_MAX;
        let mut fits = |row: &T| {
            let is_first = bytes == AFTER_ROWS_MAX;
            bytes = bytes.saturating_add(json::size(row) + 1);
            is_first || bytes <= PAGE_BYTES_MAX
        };
        let mut rest = all.into_iter().skip(after).take(rows).peekable();
        let mut data = Vec::new();
        while let Some(row) = rest.next_if(|row| fits(row)) {
            data.push(row);
        }
        let next = after.saturating_add(data.len());
        let next = (next < count).then(|| cursor::encode(&self.scope, &next.to_string()));
        Ok(wire::Page {
            data,
            next_cursor: next,
        })
    }

    /// The answer with the rows that were written, and a cursor if the list continues.
    pub(crate) fn answer(&self, rows: &Rows, next: Option<impl Display>, room: Room) -> Response {
        let next = next.map(|next| cursor::encode(&self.scope, &next.to_string()));
        let next = next.map_or_else(|| "null".to_owned(), |next| format!("\"{next}\""));
        let mut body = std::mem::take(&mut *rows.body());
        if body.is_empty() {
            body.extend_from_slice(BEFORE_ROWS);
        }
        body.extend_from_slice(b"],\"nextCursor\":");
        body.extend_from_slice(next.as_bytes());
        body.push(b'}');
        room.json(body)
    }
}

/// The rows of a page as JSON, written where they are read: the threads that serve requests only add the cursor.
#[derive(Clone)]
pub(crate) struct Rows {
    body: Arc<Mutex<Vec<u8>>>,
    /// Bytes of the page.
    most: usize,
}

impl Default for Rows {
    fn default() -> Self {
        Self::up_to(PAGE_BYTES_MAX)
    }
}

impl Rows {
    fn up_to(most: usize) -> Self {
        Self {
            body: Arc::default(),
            most,
        }
    }

    fn body(&self) -> MutexGuard<'_, Vec<u8>> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a view, unless the page has no room for it. There is always room for the first one.
    pub(crate) fn write(&self, view: &(impl Serialize + JsonSchema)) -> Option<()> {
        let mut body = self.body();
        let before = body.len();
        if before >= LARGE_BYTES && body.capacity() - before < STEP_BYTES / 8 {
            // Doubling would hold up to twice the memory that the answer is counted for.
            body.reserve_exact(STEP_BYTES);
        }
        body.extend_from_slice(if before == 0 { BEFORE_ROWS } else { b"," });
        // Our own types always serialise, and memory always takes it.
        let _ = serde_json::to_writer(&mut *body, view);
        if before > 0 && body.len() > self.most - AFTER_ROWS_MAX {
            body.truncate(before);
            return None;
        }
        Some(())
    }

    /// The same for one row after another.
    pub(crate) fn writer<V: Serialize + JsonSchema>(&self) -> impl FnMut(V) -> Option<()> + Send + 'static {
        let rows = self.clone();
        move |view| rows.write(&view)
    }
}

fn cursor_invalid() -> Problem {
    let detail = "the cursor does not belong to this list with these filters; start without a cursor";
    let errors = vec![FieldError {
        pointer: "?cursor".to_owned(),
        detail: detail.to_owned(),
    }];
    Problem::new(Code::CursorInvalid, detail).with_errors(errors)
}

fn quoted(words: &[&str]) -> String {
    words
        .iter()
        .map(|word| format!("`{word}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(after: Option<&str>) -> Page {
        Page {
            limit: 1,
            scope: "things".to_owned(),
            after: after.map(str::to_owned),
        }
    }

    #[test]
    fn a_list_that_is_read_whole_is_shown_in_parts_that_lead_to_all_of_it() {
        // A row that is larger than a page by itself, between small ones.
        let all: Vec<String> = [10, PAGE_BYTES_MAX / 2, PAGE_BYTES_MAX / 2, 2 * PAGE_BYTES_MAX, 10]
            .map(|bytes| "x".repeat(bytes))
            .to_vec();
        let (mut seen, mut after) = (Vec::new(), None::<String>);
        let mut pages = Vec::new();
        loop {
            let wire::Page { data, next_cursor } = page(after.as_deref()).part(all.clone()).unwrap();
            pages.push(data.len());
            seen.extend(data);
            match next_cursor {
                Some(cursor) => after = cursor::decode("things", &cursor),
                None => break,
            }
        }
        assert_eq!(seen, all);
        assert_eq!(pages, [2, 1, 1, 1]);
        assert_eq!(
            page(Some("99")).part(all).unwrap().data.len(),
            0,
            "the list has become shorter"
        );
    }

    #[test]
    fn a_parameter_is_found_in_whichever_way_its_name_is_escaped() {
        for query in ["wait=1", "a=b&wait", "w%61it=1", "%77%61%69%74", "%77ait=%"] {
            assert!(is_given(Some(query), "wait"), "{query}");
        }
        for query in ["", "waits=1", "a=wait", "wai=1", "%7wait=1", "wait%", "%"] {
            assert!(!is_given(Some(query), "wait"), "{query}");
        }
        assert!(!is_given(None, "wait"));
    }
}
