use std::collections::HashMap;

use ragengine_client::wire::{
    ChunkPlace, DocumentList, ListedDocument, SourceDocument, SourceDocuments, WholeDocument,
};
use ragengine_index::listing::{Page, TextLength};
use ragengine_index::{IndexError, node_id};
use ragengine_pipeline::filter::Filter;
use ragengine_vector_database::{DocumentRecord, Selection};

use super::ExternalIndex;
use super::chunks::hash_of;
use super::fault::of_engine;
use crate::ChunkAt;

/// Documents that are passed over at once.
const SKIPPED_AT_ONCE: usize = 1000;

/// The documents of a page, and how many the list has.
struct Listed {
    records: Vec<DocumentRecord>,
    total: usize,
}

impl ExternalIndex {
    /// A page of the documents that match a filter, with the beginnings of their texts.
    ///
    /// # Errors
    ///
    /// If the filter cannot be used, or the vector database or PostgreSQL fails.
    pub async fn list(&self, filter: &Filter, page: &Page, length: TextLength) -> Result<DocumentList, IndexError> {
        let Listed { records, total } = self.page(&format!("{filter:?}"), Selection::Filter(filter), page).await?;
        let (mut documents, mut left) = (Vec::with_capacity(records.len()), length.together);
        for records in groups(&records) {
            let texts = self.engine.texts(records).await.map_err(of_engine)?;
            for (record, text) in records.iter().zip(texts) {
                // Without a text it was replaced or deleted after the list was read.
                let (record, text) = match text {
                    Some(text) => (record.clone(), text),
                    None => match self.engine.whole_document(&record.doc_id).await.map_err(of_engine)? {
                        Some(whole) => (whole.record, whole.text),
                        None => continue,
                    },
                };
                let shown: String = text.chars().take(length.each.min(left)).collect();
                left -= shown.chars().count();
                documents.push(ListedDocument {
                    doc_id: record.doc_id,
                    is_truncated: shown.len() < text.len(),
                    text: shown,
                    metadata: record.metadata,
                    source: record.source,
                });
            }
        }
        Ok(DocumentList { count: documents.len(), documents, total_items: total })
    }

    /// A page of a source's documents, with their content hashes and revisions.
    ///
    /// # Errors
    ///
    /// If the vector database or PostgreSQL fails.
    pub async fn list_source(&self, source: &str, page: &Page) -> Result<SourceDocuments, IndexError> {
        let listed = self.page(&format!("source {source}"), Selection::Source(source), page).await?;
        let document = |record: DocumentRecord| SourceDocument {
            doc_id: record.doc_id,
            content_hash: record.content_hash,
            revision: record.revision,
        };
        let documents = listed.records.into_iter().map(document).collect();
        Ok(SourceDocuments { documents, total_items: listed.total })
    }

    /// A page of a list, which has its name in the cursors.
    async fn page(&self, list: &str, selection: Selection<'_>, page: &Page) -> Result<Listed, IndexError> {
        let row = self.row().await?;
        let changes = row.changes.unsigned_abs();
        // The places of a replica that is behind are others later.
        let are_places_kept = !row.is_changing && !self.engine.may_be_behind();
        let total = usize::try_from(self.size_of(selection).await?.documents).unwrap_or(usize::MAX);
        let mut records: Vec<DocumentRecord> = Vec::new();
        if page.offset >= total {
            return Ok(Listed { records, total });
        }
        let (mut offset, mut after) = self.cursors.before(list, changes, page.offset);
        while records.len() < page.limit {
            let skipped = page.offset.saturating_sub(offset);
            if skipped > 0 {
                let passed = self.engine.pass_over(selection, after, skipped.min(SKIPPED_AT_ONCE)).await;
                let (passed, next) = passed.map_err(of_engine)?;
                // Documents of one place stay together, and some of these may belong to the page.
                if passed <= skipped {
                    let Some(next) = next else { break };
                    (offset, after) = (offset + passed, Some(next));
                    if are_places_kept {
                        self.cursors.keep(list, changes, offset, next);
                    }
                    continue;
                }
            }
            let wanted = if skipped > 0 { skipped } else { page.limit - records.len() };
            let found = self.engine.list(selection, after, wanted.min(SKIPPED_AT_ONCE)).await.map_err(of_engine)?;
            offset += found.documents.len();
            records.extend(found.documents.into_iter().skip(skipped));
            let Some(next) = found.next else { break };
            after = Some(next);
            if are_places_kept {
                self.cursors.keep(list, changes, offset, next);
            }
        }
        records.truncate(page.limit);
        Ok(Listed { records, total })
    }

    /// A document with its whole text. None if there is no such document.
    ///
    /// # Errors
    ///
    /// If the vector database fails.
    pub async fn whole_document(&self, doc_id: &str) -> Result<Option<WholeDocument>, IndexError> {
        let Some(whole) = self.engine.whole_document(doc_id).await.map_err(of_engine)? else { return Ok(None) };
        let chunk = |(ordinal, place): (u32, ragengine_vector_database::ChunkPlace)| ChunkPlace {
            node_id: node_id(&self.name, doc_id, ordinal, &hash_of(&place.hash)),
            ordinal,
            start: place.start,
            end: place.end,
            heading: place.heading,
            page: place.page,
        };
        let ragengine_vector_database::WholeDocument { record, text, chunks } = whole;
        let chunks = (0..).zip(chunks).map(chunk).collect();
        let DocumentRecord { doc_id, metadata, source, .. } = record;
        Ok(Some(WholeDocument { doc_id, text, metadata, source, chunks }))
    }

    /// For each list of chunks, whether their documents still have all of them, unchanged. Each document is read once.
    ///
    /// # Errors
    ///
    /// If the vector database fails.
    pub async fn have_chunks(&self, wanted: &[Vec<ChunkAt>]) -> Result<Vec<bool>, IndexError> {
        let mut documents: HashMap<&str, Option<WholeDocument>> = HashMap::new();
        let mut have = Vec::with_capacity(wanted.len());
        for chunks in wanted {
            let mut has_all = true;
            for chunk in chunks {
                if !documents.contains_key(chunk.doc_id.as_str()) {
                    documents.insert(&chunk.doc_id, self.whole_document(&chunk.doc_id).await?);
                }
                let document = documents.get(chunk.doc_id.as_str()).and_then(Option::as_ref);
                let known = document.and_then(|document| document.chunks.get(chunk.ordinal as usize));
                has_all = has_all && known.is_some_and(|known| known.node_id == chunk.node_id);
            }
            have.push(has_all);
        }
        Ok(have)
    }
}

/// Documents whose texts are read together, and the most bytes of these texts. A longer one is read alone.
const READ_AT_ONCE: usize = 100;
const READ_BYTES: u64 = 8 << 20;

/// Documents in groups whose texts are read together.
pub(super) fn groups(documents: &[DocumentRecord]) -> Vec<&[DocumentRecord]> {
    let (mut groups, mut begin, mut bytes) = (Vec::new(), 0, 0);
    for (position, document) in documents.iter().enumerate() {
        let is_full = position - begin == READ_AT_ONCE || bytes + document.text_bytes > READ_BYTES;
        if is_full && position > begin {
            groups.push(&documents[begin..position]);
            (begin, bytes) = (position, 0);
        }
        bytes += document.text_bytes;
    }
    if begin < documents.len() {
        groups.push(&documents[begin..]);
    }
    groups
}
