//! An answer that callers share for a while, because finding it takes time in proportion to what the store holds.
//!
//! Finding it again takes at most a tenth of one reader's time: an answer is good for ten times as long as it took to find.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::Mutex;

use crate::requests::Refusal;

/// How many times as long as it took to find an answer is good for.
const GOOD_FOR_TIMES: u64 = 10;

/// The last answer, for the next caller.
pub(crate) struct Cached<T>(Arc<Mutex<Option<Kept<T>>>>);

struct Kept<T> {
    answer: Arc<T>,
    /// Until when it is good, in microseconds.
    good_until: u64,
}

impl<T> Clone for Cached<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Cached<T> {
    /// The last answer while it is good, or another one. It is good for at least so many microseconds. Callers wait for one
    /// another instead of looking for the same.
    pub(crate) async fn get(
        &self,
        micros: impl Fn() -> u64,
        least: u64,
        find: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<Arc<T>, Refusal> {
        let mut kept = self.0.lock().await;
        let began = micros();
        if let Some(fresh) = kept.as_ref().filter(|kept| began < kept.good_until) {
            return Ok(Arc::clone(&fresh.answer));
        }
        let answer = Arc::new(find.await?);
        let ended = micros();
        let good_for = ended.saturating_sub(began).saturating_mul(GOOD_FOR_TIMES).max(least);
        *kept = Some(Kept {
            answer: Arc::clone(&answer),
            good_until: ended.saturating_add(good_for),
        });
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn an_answer_is_good_for_ten_times_as_long_as_it_took() {
        let (cached, now, found) = (Cached::default(), Cell::new(0), Cell::new(0));
        let ask = async || {
            let find = async {
                now.set(now.get() + 5);
                found.set(found.get() + 1);
                Ok(found.get())
            };
            *cached.get(|| now.get(), 0, find).await.unwrap()
        };
        assert_eq!((ask().await, ask().await), (1, 1));
        now.set(54);
        assert_eq!(ask().await, 1);
        now.set(55);
        assert_eq!(ask().await, 2);
    }

    #[tokio::test]
    async fn an_error_is_not_kept() {
        let cached = Cached::<u8>::default();
        let refused = async { Err(Refusal::new(crate::requests::Code::StoreAway, "away")) };
        assert!(cached.get(|| 0, 100, refused).await.is_err());
        assert_eq!(*cached.get(|| 0, 100, async { Ok(7) }).await.unwrap(), 7);
    }
}
