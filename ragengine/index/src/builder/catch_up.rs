//! Applies the changes made during the copy, in rounds, until few enough are left to switch over.

use std::sync::Arc;

use ragengine_compute::blocking;

use super::{BuildOutcome, Builder, Work, pair};
use crate::catalog::TookOver;
use crate::generation::HoldBack;
use crate::store::Changes;
use crate::{Index, IndexError};

/// The most changes that are compared while writers wait.
const LAST_CHANGES: usize = 200;

/// Rounds without limits on writers. After them writers wait, so that the build finishes.
const FREE_ROUNDS: u32 = 3;

impl Builder {
    /// Applies changes in rounds until the generation can take over. Rounds get shorter, or else writers are held back.
    pub(super) async fn catch_up(&self, mut work: Work) -> Result<BuildOutcome, IndexError> {
        let mut held_back = None;
        for round in 0_u32.. {
            if round == FREE_ROUNDS {
                held_back = Some(HoldBack::begin(&work.serving));
            }
            match self.take_over(&work).await? {
                TookOver::Yes => return Ok(BuildOutcome::TookOver),
                TookOver::Stale if self.is_wanted() => return Err(IndexError::Superseded(self.name.clone())),
                TookOver::Stale => return Ok(BuildOutcome::Dropped),
                TookOver::NotYet => self.apply_changes(&mut work).await?,
            }
            if held_back.as_ref().is_some_and(HoldBack::is_over) {
                break;
            }
        }
        Err(IndexError::StillChanging)
    }

    /// Applies all changes so far.
    async fn apply_changes(&self, work: &mut Work) -> Result<(), IndexError> {
        // None: the changes are now recorded for another generation, or for none.
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

    /// Switches over if no remaining change needs embedding.
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

/// Whether no remaining change needs embedding. The other changes are applied here.
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
