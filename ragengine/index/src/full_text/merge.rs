use std::time::Instant;

use tracing::{error, info, warn};

use super::files::{self, TextIdentity};
use super::{FullText, FullTextError};
use crate::recovery::Opening;
use crate::store::Reader;
use crate::view::View;
use crate::{Index, IndexError};

impl Index {
    /// Whether the background should work on the full text.
    pub(crate) fn is_full_text_due(&self) -> bool {
        self.is_analysis_due() || self.view.read().text().is_merge_due()
    }

    /// Analyses chunks and merges everything into files, if that is due. Returns false after a failure or if the index
    /// is gone.
    pub(crate) fn work_on_full_text(&self) -> bool {
        while self.is_full_text_due() {
            match self.analyse_pending().and_then(|()| self.merge_into_files()) {
                Ok(()) => {}
                Err(FullTextError::Stopped(_)) => return false,
                Err(error) => {
                    self.metrics.full_text_written(error.kind());
                    error!(index = self.name(), %error, "the full text was not saved; the next start makes it again");
                    return false;
                }
            }
        }
        true
    }

    fn merge_into_files(&self) -> Result<(), FullTextError> {
        let parts = {
            // A search may be merging some of the segments in memory. It ends first, and later ones see that these are
            // closed.
            let _turn = self.full_text.turn.lock();
            let mut view = self.view.write();
            if !view.text().is_merge_due() {
                return Ok(());
            }
            view.text_mut().close()
        };
        let started = Instant::now();
        let written = self.text_identity().write(&self.directory, &parts);
        if self.require_present().is_err() {
            // The index was deleted in the meantime, and the files may be in a folder that was being removed.
            drop(std::fs::remove_dir_all(&self.directory));
            return Err(FullTextError::Stopped(Box::new(IndexError::NoSuchIndex(self.name.clone()))));
        }
        let segment = written.inspect_err(|_| self.view.write().text_mut().reopen())?;
        let rows = segment.rows().len();
        let replaced = {
            let mut view = self.view.write();
            let replaced = view.text_mut().replace(&parts, segment);
            if replaced.is_none() {
                view.text_mut().reopen();
            }
            replaced
        };
        drop(replaced);
        self.metrics.full_text_written("written");
        let elapsed_ms = started.elapsed().as_millis() as u64;
        info!(index = self.name(), rows, elapsed_ms, "full text saved");
        Ok(())
    }

    fn text_identity(&self) -> TextIdentity {
        TextIdentity { store: self.store.id(), analysis: self.full_text.analyzer.name() }
    }
}

impl FullText {
    /// Reads the files of the full text into the view, if they are good. Removes unusable ones.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn recover(&self, opening: &Opening<'_>, reader: &Reader, view: &mut View) -> Result<(), IndexError> {
        let identity = TextIdentity { store: opening.store, analysis: self.analyzer.name() };
        let (index, directory, metrics) = (opening.name, opening.directory, opening.metrics);
        match identity.read(directory, reader.next_row()?) {
            Ok(Some(segment)) => {
                metrics.full_text_read("loaded");
                view.text_mut().take(segment);
            }
            Ok(None) => {}
            Err(error) => {
                metrics.full_text_read(error.kind());
                let reason = error.to_string();
                warn!(
                    index,
                    reason, "the saved full text is unusable and is made again; until then, searches use vectors"
                );
                if let Err(error) = files::remove(directory) {
                    warn!(index, %error, "the unusable full text could not be removed");
                }
            }
        }
        Ok(())
    }
}
