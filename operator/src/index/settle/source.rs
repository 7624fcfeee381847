//! The status of each source, from the engine's record.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_client::wire::{FileError, SourceDescription, SyncPhase};
use ragengine_operator_api::{Index, SourceError, SourceStatus};

use crate::finding::shortened;
use crate::times::whole_seconds;

/// The maximum number of file errors in a status: of all sources together, and of one source.
const MAX_ERRORS: (usize, usize) = (64, 10);
/// The maximum length of an error's path, an error's message and a source's message, in bytes. The texts come from the
/// server, and a status must stay small.
pub(super) const MAX_TEXT_BYTES: usize = 200;

/// The status of each source, limited in size.
pub(super) fn sources(index: &Index, found: &[SourceDescription], previous: &[SourceStatus]) -> Vec<SourceStatus> {
    let count = index.spec.sources.len().max(1);
    let max_errors = (MAX_ERRORS.0 / count).clamp(1, MAX_ERRORS.1);
    let names = index.spec.sources.iter().map(|source| source.name.as_str());
    names
        .map(|name| {
            let before = previous.iter().find(|source| source.name == name);
            match found.iter().find(|source| source.name == name) {
                Some(found) => source(found, before, max_errors),
                None => SourceStatus { name: name.to_owned(), ..SourceStatus::default() },
            }
        })
        .collect()
}

fn source(found: &SourceDescription, before: Option<&SourceStatus>, max_errors: usize) -> SourceStatus {
    let SourceDescription { name, documents, chunks, bytes, sync } = found;
    let complete = sync.as_ref().filter(|sync| sync.phase == SyncPhase::Complete);
    let ended = complete.and_then(|sync| sync.finished_at.as_ref()?.parse().ok()).map(Time).map(in_whole_seconds);
    let error = |error: &FileError| SourceError {
        path: shortened(&error.path, MAX_TEXT_BYTES),
        message: shortened(&error.message, MAX_TEXT_BYTES),
    };
    SourceStatus {
        name: name.clone(),
        documents: *documents,
        chunks: *chunks,
        bytes: *bytes,
        revision: sync.as_ref().and_then(|sync| sync.revision.as_deref()).map(|text| shortened(text, 100)),
        last_sync_time: ended.or_else(|| before?.last_sync_time.clone()),
        error_count: sync.as_ref().map_or(0, |sync| sync.error_count),
        errors: sync.iter().flat_map(|sync| &sync.errors).take(max_errors).map(error).collect(),
        held_back: sync.as_ref().map_or(0, |sync| sync.held_back),
        message: sync.as_ref().and_then(|sync| sync.message.as_deref()).map(|text| shortened(text, MAX_TEXT_BYTES)),
    }
}

fn in_whole_seconds(Time(time): Time) -> Time {
    Time(whole_seconds(time))
}
