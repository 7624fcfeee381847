use ragengine_client::wire::{
    ChunkPlace, DocumentList, ListedDocument, SourceDocument, SourceDocuments, WholeDocument,
};
use ragengine_index::listing::{Page, TextLength};
use ragengine_index::{IndexError, node_id};
use ragengine_pipeline::filter::Filter;
use ragengine_weaviate::{DocumentRecord, Selection};

use super::ExternalIndex;
use super::chunks::hash_of;
use super::fault::of_engine;

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
    /// If the filter cannot be used, or Weaviate or the database fails.
    pub async fn list(&self, filter: &Filter, page: &Page, length: TextLength) -> Result<DocumentList, IndexError> {
        let Listed { records, total } = self.page(&format!("{filter:?}"), Selection::Filter(filter), page).await?;
        let texts = self.engine.texts(&records).await.map_err(of_engine)?;
        let (mut documents, mut left) = (Vec::with_capacity(records.len()), length.together);
        for (record, text) in records.into_iter().zip(texts) {
            // Without a text it was replaced or deleted after the list was read.
            let (record, text) = match text {
                Some(text) => (record, text),
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
        Ok(DocumentList { count: documents.len(), documents, total_items: total })
    }

    /// A page of a source's documents, with their content hashes and revisions.
    ///
    /// # Errors
    ///
    /// If Weaviate or the database fails.
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
        let changes = self.changes().await?;
        let total = usize::try_from(self.size_of(selection).await?.documents).unwrap_or(usize::MAX);
        let (mut offset, mut after) = self.cursors.before(list, changes, page.offset);
        let mut records: Vec<DocumentRecord> = Vec::new();
        while records.len() < page.limit && offset < total.max(page.offset) {
            let skipped = page.offset.saturating_sub(offset);
            let wanted = if skipped > 0 { skipped } else { page.limit - records.len() };
            let found = self.engine.list(selection, after, wanted.min(SKIPPED_AT_ONCE)).await.map_err(of_engine)?;
            offset += found.documents.len();
            records.extend(found.documents.into_iter().skip(skipped));
            let Some(next) = found.next else { break };
            after = Some(next);
            self.cursors.keep(list, changes, offset, next);
        }
        records.truncate(page.limit);
        Ok(Listed { records, total })
    }

    /// A document with its whole text. None if there is no such document.
    ///
    /// # Errors
    ///
    /// If Weaviate fails.
    pub async fn whole_document(&self, doc_id: &str) -> Result<Option<WholeDocument>, IndexError> {
        let Some(whole) = self.engine.whole_document(doc_id).await.map_err(of_engine)? else { return Ok(None) };
        let chunk = |(ordinal, place): (u32, ragengine_weaviate::ChunkPlace)| ChunkPlace {
            node_id: node_id(&self.name, doc_id, ordinal, &hash_of(&place.hash)),
            ordinal,
            start: place.start,
            end: place.end,
            heading: place.heading,
            page: place.page,
        };
        let ragengine_weaviate::WholeDocument { record, text, chunks } = whole;
        let chunks = (0..).zip(chunks).map(chunk).collect();
        let DocumentRecord { doc_id, metadata, source, .. } = record;
        Ok(Some(WholeDocument { doc_id, text, metadata, source, chunks }))
    }

    /// Whether a document still has this chunk, unchanged.
    ///
    /// # Errors
    ///
    /// If Weaviate fails.
    pub async fn has_chunk(&self, doc_id: &str, ordinal: u32, node_id: &str) -> Result<bool, IndexError> {
        let document = self.whole_document(doc_id).await?;
        let chunk = document.as_ref().and_then(|document| document.chunks.get(ordinal as usize));
        Ok(chunk.is_some_and(|chunk| chunk.node_id == node_id))
    }
}
