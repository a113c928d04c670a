//! What a bulk retry would do, without doing any of it.

use sprag_core::document::json;
use sprag_core::ids::ActionId;
use sprag_store::traits::{SCAN_MAX, Search};
use sprag_store::{PAGE_BYTES_MAX, Page, ReadKind};
use sprag_wire::{Action, DryRun, Expected};

use super::handle::ReadHandle;
use crate::jobs::letters;
use crate::requests::{Code, Refusal};

/// Dead letters that are looked at to count those that are meant.
const COUNTED_MAX: usize = 100_000;
/// Dead letters that are shown; fewer where they take more bytes than a page holds.
const SAMPLE: usize = 10;
/// What the answer takes besides them, at most.
const FRAME_BYTES: usize = 8 << 10;
/// Pages that are looked at to find them.
const PAGES_MAX: usize = 100;

impl ReadHandle {
    /// How many dead letters meet a filter, counted up to a bound.
    pub async fn expect_letters(&self, filter: &str) -> Result<Expected, Refusal> {
        let condition = letters(filter).map_err(|error| unusable(&error))?;
        let counted = self
            .query(ReadKind::Scan, move |reader| {
                reader.count_actions(&condition, COUNTED_MAX)
            })
            .await?;
        Ok(Expected {
            count: counted.count,
            more: counted.more,
        })
    }

    /// What a bulk retry with this filter would do.
    pub async fn dry_run(&self, filter: String) -> Result<DryRun, Refusal> {
        let expected = self.expect_letters(&filter).await?;
        let condition = letters(&filter).map_err(|error| unusable(&error))?;
        let handle = self.clone();
        let sample = self
            .query(ReadKind::Scan, move |reader| {
                let (mut found, mut before): (Vec<Action>, Option<ActionId>) = (Vec::new(), None);
                let mut bytes = FRAME_BYTES;
                for _ in 0..PAGES_MAX {
                    let page = reader.find_actions(&Search {
                        condition: condition.clone(),
                        page: Page::new(before, SAMPLE - found.len()),
                        scan: SCAN_MAX,
                    })?;
                    for row in page.rows {
                        let view = handle.action_view(reader, row)?;
                        bytes = bytes.saturating_add(json::size(&view));
                        if bytes > PAGE_BYTES_MAX && !found.is_empty() {
                            return Ok(found);
                        }
                        found.push(view);
                    }
                    before = page.next;
                    if before.is_none() || found.len() >= SAMPLE {
                        break;
                    }
                }
                Ok(found)
            })
            .await?;
        Ok(DryRun {
            dry_run: true,
            filter,
            expected,
            sample,
        })
    }
}

fn unusable(error: &sprag_core::filter::Error) -> Refusal {
    Refusal {
        errors: vec![("/filter".to_owned(), error.to_string())],
        ..Refusal::new(Code::FilterInvalid, format!("the filter is not valid: {error}"))
    }
}
