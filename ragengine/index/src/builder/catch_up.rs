//! What changed while documents were copied, until little enough is left to take over.

use std::sync::Arc;

use ragengine_compute::blocking;

use super::{Builder, Ended, Work, pair};
use crate::catalog::TookOver;
use crate::generation::HoldBack;
use crate::store::Changes;
use crate::{Index, IndexError};

/// Changes that are compared while writers wait, at most.
const LAST_CHANGES: usize = 200;

/// After so many rounds of changes writers are held back, so that there is a last one.
const FREE_ROUNDS: u32 = 3;

impl Builder {
    /// What has changed meanwhile, again and again. Each round is shorter than the one before, or writers are held back.
    pub(super) async fn catch_up(&self, mut work: Work) -> Result<Ended, IndexError> {
        let mut held_back = None;
        for round in 0_u32.. {
            if round == FREE_ROUNDS {
                held_back = Some(HoldBack::begin(&work.serving));
            }
            match self.take_over(&work).await? {
                TookOver::Yes => return Ok(Ended::TookOver),
                TookOver::Stale if self.is_wanted() => return Err(IndexError::Superseded(self.name.clone())),
                TookOver::Stale => return Ok(Ended::Dropped),
                TookOver::NotYet => self.apply_changes(&mut work).await?,
            }
            if held_back.as_ref().is_some_and(HoldBack::is_over) {
                break;
            }
        }
        Err(IndexError::StillChanging)
    }

    /// All changes so far.
    async fn apply_changes(&self, work: &mut Work) -> Result<(), IndexError> {
        // Another generation is being built by now, or none.
        let superseded = || IndexError::Superseded(self.name.clone());
        let changes = work.serving.store.take_changes(self.folder).ok_or_else(superseded)?;
        if changes.is_everything {
            return self.copy_everything(work).await;
        }
        let (serving, next, reached) = (Arc::clone(&work.serving), Arc::clone(&work.next), work.reached);
        let compare = move || {
            pair(&serving, &next, |pair| {
                let latest = pair.serving.last_document()?.unwrap_or(0);
                Ok((pair.changed(&changes, reached)?, latest))
            })
        };
        let (difference, latest) = blocking::run(compare).await?;
        self.apply(work, difference).await?;
        work.reached = work.reached.max(latest);
        Ok(())
    }

    /// Takes over when nothing is left that has to be embedded.
    async fn take_over(&self, work: &Work) -> Result<TookOver, IndexError> {
        let (catalog, serving, next) = (Arc::clone(&self.catalog), Arc::clone(&work.serving), Arc::clone(&work.next));
        let (folder, reached) = (self.folder, work.reached);
        blocking::run(move || {
            catalog.take_over(&serving, &next, folder, || {
                let superseded = || IndexError::Superseded(serving.name().to_owned());
                let changes = serving.store.take_changes(folder).ok_or_else(superseded)?;
                let is_last = is_last(&serving, &next, &changes, reached)?;
                if !is_last {
                    serving.store.put_back_changes(folder, changes);
                }
                Ok(is_last)
            })
        })
        .await
    }
}

/// Whether nothing is left but what needs no embedding, which is done.
fn is_last(serving: &Index, next: &Index, changes: &Changes, reached: u64) -> Result<bool, IndexError> {
    if changes.len() > LAST_CHANGES {
        return Ok(false);
    }
    let difference = pair(serving, next, |pair| pair.changed(changes, reached))?;
    if !difference.to_write.is_empty() {
        return Ok(false);
    }
    next.remove(difference.to_remove.clone())?;
    next.put_revisions(&difference.revisions)?;
    Ok(true)
}
