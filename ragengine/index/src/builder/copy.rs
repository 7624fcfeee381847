//! Copies every document of the serving generation to the next one.

use std::sync::Arc;

use ragengine_compute::blocking;
use tracing::info;

use super::compare::{Difference, Place};
use super::{Builder, DOCUMENTS_AT_ONCE, Work, pair};
use crate::IndexError;

impl Builder {
    /// Copies every document, in order. Documents that are already there are only compared.
    pub(super) async fn copy_everything(&self, work: &mut Work) -> Result<(), IndexError> {
        let serving = Arc::clone(&work.serving);
        let numbers = blocking::run(move || Ok::<_, IndexError>(serving.store.reader()?.document_numbers()?)).await?;
        let total = numbers.len() as u64;
        let (mut done, mut tenths) = (0, 0);
        let mut last = None;
        for batch in numbers.chunks(DOCUMENTS_AT_ONCE) {
            let _turn = self.turns.acquire().await.map_err(|_| IndexError::ShuttingDown)?;
            self.copy_batch(work, batch, &mut last).await?;
            done += batch.len() as u64;
            self.building.reaches(done, total);
            if done * 10 / total > tenths {
                tenths = done * 10 / total;
                info!(index = self.name, documents = done, total, "copied documents to the next generation");
            }
        }
        work.reached = numbers.last().copied().unwrap_or(0);
        let (serving, next) = (Arc::clone(&work.serving), Arc::clone(&work.next));
        let gone = blocking::run(move || pair(&serving, &next, |pair| pair.gone())).await?;
        self.apply(work, Difference { to_remove: gone, ..Difference::default() }).await
    }

    /// Copies some documents. They get numbers after `last`, which is the last number that the next generation has.
    async fn copy_batch(&self, work: &Work, numbers: &[u64], last: &mut Option<u64>) -> Result<(), IndexError> {
        let (serving, next, numbers, mut reached) =
            (Arc::clone(&work.serving), Arc::clone(&work.next), numbers.to_vec(), *last);
        let compare = move || {
            pair(&serving, &next, |pair| {
                let mut difference = Difference::default();
                for number in numbers {
                    reached = pair.compare(number, Place::Behind(reached), &mut difference)?.max(reached);
                }
                Ok((difference, reached))
            })
        };
        let (difference, reached) = blocking::run(compare).await?;
        let written: Vec<String> = difference.to_write.iter().map(|document| document.doc_id.clone()).collect();
        self.apply(work, difference).await?;
        let next = Arc::clone(&work.next);
        let written = blocking::run(move || {
            let reader = next.store.reader()?;
            let numbers = written.iter().map(|doc_id| Ok(reader.number(doc_id)?));
            Ok::<_, IndexError>(numbers.collect::<Result<Vec<_>, IndexError>>()?.into_iter().max().flatten())
        })
        .await?;
        *last = reached.max(written);
        Ok(())
    }
}
