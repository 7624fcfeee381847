//! Inline documents, whose texts are in the task.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use ragengine_settings::sync;
use sha2::{Digest, Sha256};

use crate::listing::ListingBuilder;
use crate::spool::{Spool, revision_of};
use crate::{FetchError, Fetched, FetchedFile, Item, SourceError};

/// The inline documents of a source, by path.
#[derive(Debug)]
pub struct Inline {
    texts: HashMap<String, String>,
}

impl Inline {
    /// Lists the documents.
    pub fn open(source: &sync::Inline, listing: &mut ListingBuilder) -> Result<Self, SourceError> {
        let mut texts = HashMap::new();
        for document in &source.documents {
            if texts.contains_key(&document.path) {
                listing.add_error(
                    &document.path,
                    "another document of the source has the same path: rename one of them",
                )?;
                continue;
            }
            texts.insert(document.path.clone(), document.text.clone());
            listing.add(Item {
                path: document.path.clone(),
                revision: Some(revision_of(Sha256::new_with_prefix(&document.text))),
                size_bytes: Some(document.text.len() as u64),
            })?;
        }
        Ok(Self { texts })
    }

    /// Writes a document to the work folder.
    pub fn fetch(
        &self,
        path: &str,
        known: Option<&str>,
        work_folder: &Path,
        max_bytes: u64,
    ) -> Result<Fetched, FetchError> {
        let Some(text) = self.texts.get(path) else {
            return Ok(Fetched::Gone);
        };
        if known == Some(revision_of(Sha256::new_with_prefix(text)).as_str()) {
            return Ok(Fetched::Unchanged);
        }
        let mut spool = Spool::new(work_folder, max_bytes)?;
        spool.write_all(text.as_bytes()).map_err(|error| Spool::explain(error, max_bytes))?;
        let spooled = spool.finish();
        Ok(Fetched::File(FetchedFile {
            path_on_disk: spooled.path,
            revision: spooled.revision,
            content_type: None,
            url: None,
            modified: None,
        }))
    }
}
