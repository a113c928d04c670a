//! Bytes of answers in memory, over all connections.
//!
//! An answer holds its bytes from the moment it may be read from the store until the last of it is written to its
//! connection: the permits live in the owner of the body's bytes. Pages of lists have a budget of their own, so that a read
//! by id never waits for one. Small answers are not counted: connections bound them already. A peer that does not read is
//! cut off by [`crate::listen::deadline`], which gives its bytes back.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::http::header;
use axum::response::Response;
use sprag_store::PAGE_BYTES_MAX;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::listen::admission::{Class, overloaded};
use crate::problem::Problem;

/// What a permit stands for.
const UNIT_BYTES: usize = 1_024;
/// Bytes of pages in memory.
const PAGES_BYTES_MAX: usize = 64 << 20;
/// Bytes of all other answers in memory.
const ANSWERS_BYTES_MAX: usize = 64 << 20;
/// What a read holds until its answer is made: as large as an execution may be.
const READ_BYTES: usize = 256 << 10;
/// Answers up to this size are not counted.
const SMALL_BYTES: usize = 16 << 10;
/// How long a request waits for room before it is refused.
const ROOM_WAIT: Duration = Duration::from_secs(10);

/// The budgets.
pub(crate) struct Flight {
    pages: Arc<Semaphore>,
    answers: Arc<Semaphore>,
}

/// Room for an answer.
#[derive(Debug)]
pub(crate) struct Room(OwnedSemaphorePermit);

impl Default for Flight {
    fn default() -> Self {
        Self {
            pages: Arc::new(Semaphore::new(PAGES_BYTES_MAX / UNIT_BYTES)),
            answers: Arc::new(Semaphore::new(ANSWERS_BYTES_MAX / UNIT_BYTES)),
        }
    }
}

impl Flight {
    /// Room for a page of a list.
    pub(crate) async fn page(&self) -> Result<Room, Problem> {
        room(&self.pages, PAGE_BYTES_MAX).await
    }

    /// Room for the next piece of a stream; none for a small one, which needs none.
    pub(crate) async fn piece(&self, bytes: usize) -> Result<Option<Room>, Problem> {
        if bytes <= SMALL_BYTES {
            return Ok(None);
        }
        room(&self.answers, bytes).await.map(Some)
    }

    /// Room for the answer to a request before it runs. Only reads take it ahead: their answers are the large ones, and they
    /// are made as fast as they can be asked for.
    pub(crate) async fn ahead(&self, class: Class) -> Result<Option<Room>, Problem> {
        match class {
            Class::Read => room(&self.answers, READ_BYTES).await.map(Some),
            _ => Ok(None),
        }
    }

    /// The same answer, which holds its bytes until they are written. Answers of lists do already, streams do piece by
    /// piece, and operators never wait for others to read.
    pub(crate) async fn held(&self, class: Class, room: Option<Room>, response: Response) -> Result<Response, Problem> {
        let exact = response.body().size_hint().exact();
        let bytes = exact.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
        if bytes <= SMALL_BYTES || matches!(class, Class::Health | Class::Operator | Class::List | Class::Stream) {
            return Ok(response);
        }
        let room = match room {
            Some(room) => room.resized(&self.answers, bytes).await?,
            None => self::room(&self.answers, bytes).await?,
        };
        let (head, body) = response.into_parts();
        // It is whole and in memory: nothing can fail, and nothing is copied.
        let body = to_bytes(body, bytes).await.unwrap_or_default();
        Ok(Response::from_parts(head, Body::from(room.hold(body))))
    }
}

impl Room {
    /// Bytes that hold the room they need, and return the rest.
    pub(crate) fn hold(mut self, bytes: impl AsRef<[u8]> + Send + 'static) -> Bytes {
        let needed = units(bytes.as_ref().len());
        let surplus = self.0.num_permits().saturating_sub(needed);
        drop(self.0.split(surplus));
        Bytes::from_owner(Held { bytes, _room: self.0 })
    }

    /// A JSON answer that holds its room.
    pub(crate) fn json(self, body: Vec<u8>) -> Response {
        let mut response = Response::new(Body::from(self.hold(body)));
        let json = header::HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }

    /// Room for more, where the answer is larger than was expected.
    async fn resized(self, budget: &Arc<Semaphore>, bytes: usize) -> Result<Self, Problem> {
        let missing = units(bytes).saturating_sub(self.0.num_permits());
        if missing == 0 {
            return Ok(self);
        }
        // What it has goes back first: two that each wait for the other's would wait in vain.
        drop(self);
        room(budget, bytes).await
    }
}

/// Bytes with their room: both go when the last of them is written.
struct Held<T> {
    bytes: T,
    _room: OwnedSemaphorePermit,
}

impl<T: AsRef<[u8]>> AsRef<[u8]> for Held<T> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

fn units(bytes: usize) -> usize {
    bytes.div_ceil(UNIT_BYTES)
}

/// Waits for room. An answer larger than the whole budget takes all of it.
async fn room(budget: &Arc<Semaphore>, bytes: usize) -> Result<Room, Problem> {
    let most = ANSWERS_BYTES_MAX.min(PAGES_BYTES_MAX) / UNIT_BYTES;
    let units = u32::try_from(units(bytes).min(most)).unwrap_or(u32::MAX);
    match timeout(ROOM_WAIT, Arc::clone(budget).acquire_many_owned(units)).await {
        Ok(Ok(permit)) => Ok(Room(permit)),
        Ok(Err(_)) | Err(_) => Err(overloaded(
            "answers that clients have not read fill the memory for answers; try again in a moment".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pages_that_are_not_read_leave_no_room_for_more_pages_and_none_for_reads_is_taken() {
        let flight = Flight::default();
        let mut held = Vec::new();
        for _ in 0..PAGES_BYTES_MAX / PAGE_BYTES_MAX {
            let room = flight.page().await.unwrap();
            held.push(room.hold(vec![0_u8; PAGE_BYTES_MAX]));
        }
        assert!(flight.page().await.is_err(), "refused after a while");
        assert!(flight.ahead(Class::Read).await.unwrap().is_some());
        // A part of an answer that is not written yet keeps all of it in memory.
        let rest = held.pop().unwrap().slice(1..2);
        assert!(flight.page().await.is_err());
        drop(rest);
        assert!(flight.page().await.is_ok());
    }

    #[tokio::test]
    async fn a_short_page_returns_the_room_it_does_not_need() {
        let flight = Flight::default();
        let mut held = Vec::new();
        for _ in 0..1_000 {
            held.push(flight.page().await.unwrap().hold(vec![0_u8; 20_000]));
        }
        assert_eq!(held.len(), 1_000);
    }

    #[tokio::test]
    async fn an_answer_larger_than_expected_takes_more_room() {
        let flight = Flight::default();
        let room = flight.ahead(Class::Read).await.unwrap();
        let large = Response::new(Body::from(vec![0_u8; 1 << 20]));
        let answer = flight.held(Class::Read, room, large).await.unwrap();
        assert_eq!(
            flight.answers.available_permits(),
            (ANSWERS_BYTES_MAX - (1 << 20)) / UNIT_BYTES
        );
        drop(answer);
        assert_eq!(flight.answers.available_permits(), ANSWERS_BYTES_MAX / UNIT_BYTES);
    }
}
