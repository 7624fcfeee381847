//! Token counts of chunks for a language model, computed once for each chunk and tokenizer.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tracing::debug;

use super::search::{ChunkReader, Found, RetrievedChunk};
use super::{Index, IndexError};

/// Converts a count. Chunks have at most some hundred tokens, so the limit is never reached.
fn bounded(tokens: u64) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

impl ChunkReader {
    /// Returns the token counts of the chunks of results, in order. Unknown counts are computed by `count` and
    /// saved.
    ///
    /// Chunks and their documents' metadata never change (a changed document gets new chunks), so a count stays valid.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn token_counts(
        &self,
        tokenizer: u64,
        found: &[Found],
        count: impl Fn(&RetrievedChunk) -> u64,
    ) -> Result<Vec<u64>, IndexError> {
        let rows: Vec<u64> = found.iter().map(|found| found.row).collect();
        let mut counts = self.index.store.token_counts(tokenizer, &rows)?;
        let unknown: Vec<usize> = (0..rows.len()).filter(|&position| counts[position].is_none()).collect();
        if !unknown.is_empty() {
            let uncounted: Vec<Found> = unknown.iter().map(|&position| found[position]).collect();
            for (position, chunk) in unknown.iter().zip(&self.read(&uncounted)?) {
                counts[*position] = Some(bounded(count(chunk)));
            }
            let counted = unknown.iter().filter_map(|&position| Some((rows[position], counts[position]?))).collect();
            self.index.keep_token_counts(tokenizer, counted);
        }
        Ok(counts.into_iter().map(|tokens| tokens.map_or(u64::MAX, u64::from)).collect())
    }
}

impl Index {
    /// Saves counts in the background, one batch at a time. Counts that are not saved are computed again for the next
    /// request.
    fn keep_token_counts(self: &Arc<Self>, tokenizer: u64, counts: Vec<(u64, u32)>) {
        if self.background.is_keeping_counts.swap(true, Ordering::AcqRel) {
            return;
        }
        let index = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = index.store.put_token_counts(tokenizer, &counts) {
                debug!(index = index.name(), %error, "token counts could not be saved");
            }
            index.background.is_keeping_counts.store(false, Ordering::Release);
        });
    }
}
