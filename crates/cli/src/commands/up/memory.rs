//! Returns memory to the system after a busy time.
//!
//! The allocator keeps pages that became free for a second, and returns them when a thread next takes or frees a page of its
//! own. The threads of a server that has become idle do neither, so it would keep what its busiest moment needed. This task
//! takes and frees one large block a second, untouched: it costs a few microseconds, and nothing on the way of a request.

use std::hint::black_box;
use std::time::Duration;

/// How often.
const EVERY: Duration = Duration::from_secs(1);
/// Larger than the blocks that share a page with others.
const BLOCK_BYTES: usize = 8 << 20;

/// Runs for as long as the server does.
pub(super) async fn give_back() {
    loop {
        tokio::time::sleep(EVERY).await;
        drop(black_box(Vec::<u8>::with_capacity(BLOCK_BYTES)));
    }
}
