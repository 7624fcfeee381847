use ragengine_client::ClientError;
use ragengine_client::content_hash;
use ragengine_client::wire::Document;
use ragengine_parsers::{Content, Format, Input, ParseError, Parsed, ParsedDocument, Parser, Problem, charset_of};
use ragengine_sources::{FetchError, Fetched, FetchedFile, Item, Opened};
use tokio::sync::mpsc;

use super::Mirror;
use crate::document::{FileFacts, document};
use crate::error::SyncError;
use crate::identity::escaped;
use crate::leaving::FileRead;
use crate::outbox::Outgoing;
use crate::revision::Place;

/// Documents that a parser may be ahead.
const MAX_AHEAD: usize = 16;

/// What came out of a file, its last document aside.
#[derive(Default)]
struct Taken {
    /// It is not sent before it is known to be the last.
    last: Option<ParsedDocument>,
    documents: usize,
    first_problem: Option<Problem>,
    problems: usize,
}

impl Mirror<'_> {
    /// Brings the server's documents of one file to its state.
    pub(super) async fn file(&mut self, opened: &Opened, item: &Item, parser: &mut Parser) -> Result<(), SyncError> {
        let known = self.known.revision(&self.reading, &item.path).map(str::to_owned);
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
        self.staying.file(escaped(&item.path));
    }

    /// A file was listed, or named one by one, and is not there. What the index has of it leaves; that it never had any is an error.
    fn gone(&mut self, item: &Item) {
        if !self.known.has_file(&item.path) {
            self.account.lock().missed(&item.path, "it is not there");
        }
    }

    fn did_not_arrive(&mut self, item: &Item, error: &FetchError) {
        self.staying.file(escaped(&item.path));
        let mut account = self.account.lock();
        match error {
            // It will not be shorter the next time.
            FetchError::TooLarge { .. } => account.unreadable(&item.path, &error.to_string()),
            _ => account.missed(&item.path, &error.to_string()),
        }
    }

    async fn changed(&mut self, item: &Item, file: &FetchedFile, parser: &mut Parser) -> Result<(), SyncError> {
        self.revisions.insert(item.path.clone(), file.revision.clone());
        let content_type = file.content_type.as_deref();
        let format = match Format::of(&item.path, content_type) {
            Ok(format) => format,
            Err(error) => return self.ended(item, file, Taken::default(), Err(error)).await,
        };
        let input = Input {
            format,
            charset: content_type.and_then(charset_of).map(str::to_owned),
            content: Content::File(file.path_on_disk.to_path_buf()),
        };
        let (sender, receiver) = mpsc::channel(MAX_AHEAD);
        let parse = async move {
            let outcome = parser.parse(input, &sender).await;
            // Its end is the end of the documents.
            drop(sender);
            outcome
        };
        let (outcome, taken) = tokio::join!(parse, self.take(item, file, receiver));
        self.ended(item, file, taken?, outcome).await
    }

    /// Sends the documents of a file as they come, but for the last. When that fails, the parser is stopped: nobody takes what it has.
    async fn take(
        &mut self,
        item: &Item,
        file: &FetchedFile,
        mut parsed: mpsc::Receiver<Parsed>,
    ) -> Result<Taken, SyncError> {
        let mut taken = Taken::default();
        while let Some(parsed) = parsed.recv().await {
            match parsed {
                Parsed::Problem(problem) => {
                    taken.problems += 1;
                    taken.first_problem.get_or_insert(problem);
                }
                Parsed::Document(next) => {
                    taken.documents += 1;
                    if let Some(before) = taken.last.replace(next) {
                        self.send(item, file, before, Place::Inner).await?;
                    }
                }
            }
        }
        Ok(taken)
    }

    /// A file was read to its end, or to where it could not be read any more.
    async fn ended(
        &mut self,
        item: &Item,
        file: &FetchedFile,
        taken: Taken,
        outcome: Result<(), ParseError>,
    ) -> Result<(), SyncError> {
        let is_whole = outcome.is_ok() && taken.problems == 0;
        if let Some(last) = taken.last {
            // A file with errors is read again each time, so that they are told again.
            let place = if is_whole { Place::Last { documents: taken.documents } } else { Place::Inner };
            self.send(item, file, last, place).await?;
        }
        match outcome {
            // An empty file has nothing, and there is nothing wrong with it, unless it had something before.
            Ok(()) | Err(ParseError::Empty) => {
                let (revision, documents) = (file.revision.clone(), taken.documents);
                let read = FileRead { revision, documents, is_whole: taken.problems == 0 };
                self.staying.read(escaped(&item.path), read);
            }
            Err(ParseError::NoWorker(reason)) => return Err(SyncError::Reader(reason)),
            // What the server had of it stays: an answer of yesterday is better than none.
            Err(error) => {
                self.staying.file(escaped(&item.path));
                self.account.lock().unreadable(&item.path, &error.to_string());
            }
        }
        if let Some(problem) = taken.first_problem {
            self.account.lock().unreadable(&item.path, &in_words(&problem, taken.problems));
        }
        Ok(())
    }

    /// Sends a document that the server does not have like this.
    async fn send(
        &mut self,
        item: &Item,
        file: &FetchedFile,
        parsed: ParsedDocument,
        place: Place,
    ) -> Result<(), ClientError> {
        let facts = FileFacts { path: &item.path, url: file.url.as_deref(), modified: file.modified.as_deref() };
        let mark = self.reading.mark(&file.revision, place);
        let document = Document { revision: Some(mark), ..document(self.name, facts, parsed, &self.source.metadata) };
        let doc_id = document.doc_id.as_deref().unwrap_or_default();
        if !self.staying.document(doc_id.to_owned()) {
            self.account.lock().unreadable(&item.path, &format!("two of its documents have the id {doc_id}"));
            return Ok(());
        }
        if self.known.has(doc_id, &content_hash(&document.text, &document.metadata), document.revision.as_deref()) {
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
        more => format!("{place}: {message}; and {} more places", more - 1),
    }
}
