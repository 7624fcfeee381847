//! An index in a vector database.
//!
//! A document is three kinds of objects, each in a collection of its own:
//!
//! ```text
//! document   what is known of it, and the generation of its latest write
//! text       its text and the places of its chunks
//! chunk      a vector, a text, words, and what filters ask
//! ```
//!
//! **The object of the document decides what is there.** A write makes the chunks and the text of a new generation,
//! then replaces the object of the document, and then deletes the generation before. A deletion begins with the object
//! of the document. Readers ask for the objects of the documents whose chunks they found, from a majority, and drop
//! chunks of another generation; if they drop any, they search again. So a reader sees the chunks of one write, never
//! none, never a mixture, and no deleted document, whenever a writer is stopped. What a stopped writer left is
//! invisible, and [`Index::sweep`] deletes it. A write that is repeated writes everything anew.
//!
//! Of two writers of one document the later one wins. Neither deletes what the other has written: only the generation
//! that a write replaced is deleted, and what a sweep finds that is older than any write can last.

mod creation;
mod deletion;
mod layout;
mod listing;
mod reading;
mod search;
mod sweep;
mod writing;

pub use creation::{IndexShape, index_names};
pub use listing::{IndexSize, Page, Selection};
pub use search::{DenseSearch, Hit, WordSearch};
pub use sweep::WithoutDocuments;

use crate::VectorDatabaseError;
use crate::collection_name::Collections;
use crate::database::Database;

/// Requests for single objects that run at the same time.
const CONCURRENT_REQUESTS: usize = 16;

/// An index. Holds nothing but names and connections. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Index {
    database: Database,
    name: String,
    collections: Collections,
    is_replicated: bool,
    shards: u32,
}

impl Index {
    /// The name of the index.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a replica may lack writes, so that lists and searches may lack them too. Known of the writes of this
    /// client only.
    pub fn may_be_behind(&self) -> bool {
        self.is_replicated && self.database.may_be_behind()
    }

    /// Checks that lists have every write, as far as the writes of this client know.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::ReplicaMissing`] while a replica is missing, and for a minute after it has returned.
    pub async fn require_all_replicas(&self) -> Result<(), VectorDatabaseError> {
        if self.is_replicated && !self.database.has_all_replicas(&self.collections.documents).await {
            return Err(VectorDatabaseError::ReplicaMissing);
        }
        Ok(())
    }
}
