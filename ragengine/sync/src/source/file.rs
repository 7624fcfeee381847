use ragengine_client::ClientError;
use ragengine_client::content_hash;
use ragengine_client::wire::Document;
use ragengine_parsers::{Content, Format, Input, ParseError, Parsed, ParsedDocument, Parser, Problem, charset_of};
use ragengine_sources::{FetchError, Fetched, FetchedFile, Item, Opened};
use tokio::sync::mpsc;

use super::Mirror;
use crate::deletion::FileRead;
use crate::document::{FileFacts, document};
use crate::error::SyncError;
use crate::outbox::Outgoing;
use crate::revision::Position;

/// The maximum number of parsed documents that wait to be sent.
const MAX_AHEAD: usize = 16;

/// The result of parsing a file.
#[derive(Default)]
struct ParseSummary {
    /// The last document so far. It is sent later, because its stored revision differs if it is the last of the file.
    last: Option<ParsedDocument>,
    documents: usize,
    first_problem: Option<Problem>,
    problems: usize,
}

impl Mirror<'_> {
    /// Synchronises the documents of one file.
    pub(super) async fn file(&mut self, opened: &Opened, item: &Item, parser: &mut Parser) -> Result<(), SyncError> {
        let known = self.indexed.revision(&self.fingerprint, &self.name.file(&item.path)).map(str::to_owned);
        match opened.fetch(item, known.as_deref()).await {
            Ok(Fetched::Gone) => {
                self.gone(item);
                Ok(())
            }
            Ok(Fetched::Unchanged) => {
                self.stays(item, known);
                Ok(())
            }
            Ok(Fetched::File(file)) if Some(&file.revision) == known.as_ref() => {
                self.stays(item, known);
                Ok(())
            }
            Ok(Fetched::File(file)) => self.changed(item, &file, parser).await,
            Err(error) => {
                self.did_not_arrive(item, &error);
                Ok(())
            }
        }
    }

    fn stays(&mut self, item: &Item, revision: Option<String>) {
        self.revisions.extend(revision.map(|revision| (item.path.clone(), revision)));
        self.current.file(self.name.file(&item.path));
    }

    /// The file was listed or configured, but does not exist. It is an error if the index has no documents of it;
    /// otherwise they are deleted like those of any removed file.
    fn gone(&mut self, item: &Item) {
        if !self.indexed.has_file(&self.name.file(&item.path)) {
            self.progress.lock().missed(&item.path, "it does not exist: remove it from the source, or restore it");
        }
    }

    fn did_not_arrive(&mut self, item: &Item, error: &FetchError) {
        self.current.file(self.name.file(&item.path));
        let mut progress = self.progress.lock();
        match error {
            // A retry does not help: the size is part of this revision.
            FetchError::TooLarge { .. } => progress.unreadable(&item.path, &error.to_string()),
            _ => progress.missed(&item.path, &error.to_string()),
        }
    }

    async fn changed(&mut self, item: &Item, file: &FetchedFile, parser: &mut Parser) -> Result<(), SyncError> {
        self.revisions.insert(item.path.clone(), file.revision.clone());
        let content_type = file.content_type.as_deref();
        let format = match Format::of(&item.path, content_type) {
            Ok(format) => format,
            Err(error) => return self.ended(item, file, ParseSummary::default(), Err(error)).await,
        };
        let input = Input {
            format,
            charset: content_type.and_then(charset_of).map(str::to_owned),
            content: Content::File(file.path_on_disk.to_path_buf()),
        };
        let (sender, receiver) = mpsc::channel(MAX_AHEAD);
        let parse = async move {
            let outcome = parser.parse(input, &sender).await;
            // Ends the loop of the receiver.
            drop(sender);
            outcome
        };
        let (outcome, summary) = tokio::join!(parse, self.send_documents(item, file, receiver));
        self.ended(item, file, summary?, outcome).await
    }

    /// Sends the documents of a file as they are parsed, except the last. If sending fails, the channel is dropped,
    /// which stops the parser.
    async fn send_documents(
        &mut self,
        item: &Item,
        file: &FetchedFile,
        mut parsed: mpsc::Receiver<Parsed>,
    ) -> Result<ParseSummary, SyncError> {
        let mut summary = ParseSummary::default();
        while let Some(parsed) = parsed.recv().await {
            match parsed {
                Parsed::Problem(problem) => {
                    summary.problems += 1;
                    summary.first_problem.get_or_insert(problem);
                }
                Parsed::Document(next) => {
                    summary.documents += 1;
                    if let Some(before) = summary.last.replace(next) {
                        self.send(item, file, before, Position::Inner).await?;
                    }
                }
            }
        }
        Ok(summary)
    }

    /// Sends the last document, and records the result of the file.
    async fn ended(
        &mut self,
        item: &Item,
        file: &FetchedFile,
        summary: ParseSummary,
        outcome: Result<(), ParseError>,
    ) -> Result<(), SyncError> {
        let is_whole = outcome.is_ok() && summary.problems == 0;
        if let Some(last) = summary.last {
            // A file with errors is never stored as complete, so each synchronisation reads it and reports its errors.
            let place = if is_whole { Position::Last { documents: summary.documents } } else { Position::Inner };
            self.send(item, file, last, place).await?;
        }
        match outcome {
            // An empty file is not an error. If it had documents before, it counts as truncated.
            Ok(()) | Err(ParseError::Empty) => {
                let (revision, documents) = (file.revision.clone(), summary.documents);
                let read = FileRead { revision, documents, is_whole: summary.problems == 0 };
                self.current.read(self.name.file(&item.path), read);
            }
            Err(ParseError::NoWorker(reason)) => return Err(SyncError::Reader(reason)),
            // The documents on the server are kept: outdated documents are better than none.
            Err(error) => {
                self.current.file(self.name.file(&item.path));
                self.progress.lock().unreadable(&item.path, &error.to_string());
            }
        }
        if let Some(problem) = summary.first_problem {
            self.progress.lock().unreadable(&item.path, &in_words(&problem, summary.problems));
        }
        Ok(())
    }

    /// Sends a document, unless the server has the same one.
    async fn send(
        &mut self,
        item: &Item,
        file: &FetchedFile,
        parsed: ParsedDocument,
        place: Position,
    ) -> Result<(), ClientError> {
        let facts = FileFacts { path: &item.path, url: file.url.as_deref(), modified: file.modified.as_deref() };
        let mark = self.fingerprint.stored_revision(&file.revision, place);
        let document = Document { revision: Some(mark), ..document(self.name, facts, parsed, &self.source.metadata) };
        let doc_id = document.doc_id.as_deref().unwrap_or_default();
        if !self.current.document(doc_id.to_owned()) {
            self.progress
                .lock()
                .unreadable(&item.path, &format!("two of its documents have the id {doc_id}: give them different ids"));
            return Ok(());
        }
        let (path, hash) = (self.name.file(&item.path), content_hash(&document.text, &document.metadata));
        if self.indexed.has(&path, doc_id, &hash, document.revision.as_deref()) {
            return Ok(());
        }
        self.sent += 1;
        let refused = self.outbox.send(self.server, Outgoing { path: item.path.clone(), document }).await?;
        self.note(&refused);
        Ok(())
    }
}

fn in_words(first: &Problem, problems: usize) -> String {
    let Problem { place, message } = first;
    match problems {
        0 | 1 => format!("{place}: {message}"),
        more => format!("{place}: {message}; and {} more errors", more - 1),
    }
}
