//! Pages of documents.

use ragengine_client::wire::{DocumentList, ListedDocument, SourceDocument, SourceDocuments};

use super::filter::Filter;
use super::{Index, IndexError};

/// Which documents are listed.
#[derive(Debug, Clone)]
pub struct Page {
    /// How many at most.
    pub limit: usize,
    /// How many are skipped.
    pub offset: usize,
}

impl Index {
    /// A page of the documents that pass a filter, with at most `max_text_length` characters of each text.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
    pub fn list(&self, filter: &Filter, page: &Page, max_text_length: usize) -> Result<DocumentList, IndexError> {
        let (matching, all, reader) = {
            let view = self.view.read();
            let matching = view.matching(filter);
            let all = matching.is_none().then(|| view.page(page.offset, page.limit));
            (matching, all.unwrap_or_default(), view.reader().clone())
        };
        let (numbers, total_items) = matching.map_or(all, |matching| matching.page(page.offset, page.limit));
        let mut documents = Vec::with_capacity(numbers.len());
        for number in numbers {
            let Some(record) = reader.document(number)? else { continue };
            let (text, is_truncated) = reader.text(number, max_text_length)?;
            let metadata = record.metadata();
            documents.push(ListedDocument {
                doc_id: record.doc_id,
                text,
                metadata,
                source: record.source,
                is_truncated,
            });
        }
        Ok(DocumentList { count: documents.len(), documents, total_items })
    }

    /// A page of a source's documents, by content.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
    pub fn list_source(&self, source: &str, page: &Page) -> Result<SourceDocuments, IndexError> {
        let (numbers, total_items, reader) = {
            let view = self.view.read();
            let (numbers, total) = view.page_of_source(source, page.offset, page.limit);
            (numbers, total, view.reader().clone())
        };
        let mut documents = Vec::with_capacity(numbers.len());
        let revisions = reader.revisions(numbers.iter().copied())?;
        for (number, revision) in numbers.into_iter().zip(revisions) {
            let Some(record) = reader.document(number)? else { continue };
            documents.push(SourceDocument { doc_id: record.doc_id, content_hash: record.content_hash, revision });
        }
        Ok(SourceDocuments { documents, total_items })
    }
}
