//! Lists of documents, by page.

use ragengine_client::wire::{DocumentList, ListedDocument, SourceDocument, SourceDocuments};

use super::{Index, IndexError};
use ragengine_pipeline::filter::Filter;

/// A page of a list.
#[derive(Debug, Clone)]
pub struct Page {
    /// The most documents on the page.
    pub limit: usize,
    /// How many documents are skipped.
    pub offset: usize,
}

/// Limits on the listed texts, in characters.
#[derive(Debug, Clone, Copy)]
pub struct TextLength {
    /// The limit for one text.
    pub each: usize,
    /// The limit for all texts of a page. Texts late on the page get what is left.
    pub together: usize,
}

impl Index {
    /// Returns a page of the documents that match a filter, with the beginnings of their texts.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn list(&self, filter: &Filter, page: &Page, length: TextLength) -> Result<DocumentList, IndexError> {
        let (matching, all, reader) = {
            let view = self.view.read();
            let matching = view.matching(filter);
            let all = matching.is_none().then(|| view.page(page.offset, page.limit));
            (matching, all.unwrap_or_default(), view.reader().clone())
        };
        let (numbers, total_items) = matching.map_or(all, |matching| matching.page(page.offset, page.limit));
        let mut documents = Vec::with_capacity(numbers.len());
        let mut left = length.together;
        for number in numbers {
            let Some(record) = reader.document(number)? else { continue };
            let (text, is_truncated) = reader.text(number, length.each.min(left))?;
            left -= text.chars().count();
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

    /// Returns a page of a source's documents, with their content hashes and revisions.
    ///
    /// # Errors
    ///
    /// If the disk fails.
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
