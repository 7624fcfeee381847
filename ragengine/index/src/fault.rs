//! The classes of an index's errors, and what the log may contain of them.

use ragengine_compute::ShuttingDown;
use ragengine_errors::{Class, Fault, Logged, RetryAfter, texts};

use super::IndexError;
use super::archive::ArchiveError;
use super::persisted::PersistedError;
use super::sources::InvalidSync;
use super::store::StoreError;

impl From<ShuttingDown> for IndexError {
    fn from(_: ShuttingDown) -> Self {
        Self::ShuttingDown
    }
}

impl Fault for IndexError {
    fn class(&self) -> Class {
        match self {
            Self::NoSuchIndex(_) | Self::NoGeneration(_) => Class::NotFound,
            Self::Name(_)
            | Self::Document { .. }
            | Self::SlowDocument { .. }
            | Self::Chunking(_)
            | Self::Filter(_)
            | Self::ManyIndexes { .. }
            | Self::NotPossible(_)
            | Self::NotInCopy { .. } => Class::Invalid,
            Self::Engine(error) => error.class(),
            Self::TooMany(_) | Self::OtherModel { .. } | Self::Exists(_) | Self::SourceHeld(_) => Class::Conflict,
            Self::Archive(error) => class_of_archive(error),
            Self::Persisted(error) => class_of_persisted(error),
            Self::Embedding(error) => error.class(),
            Self::ShuttingDown
            | Self::ModelMissing { .. }
            | Self::NotShown { .. }
            | Self::Superseded(_)
            | Self::Unavailable { .. }
            | Self::StillChanging => Class::Unavailable,
            Self::Store(error) => class_of_store(error),
            Self::OtherVectors(_) => Class::Upstream,
            Self::Vectors(_) => Class::Internal,
        }
    }

    fn kind(&self) -> &'static str {
        self.kind()
    }

    fn retry_after(&self) -> Option<RetryAfter> {
        match self {
            Self::Unavailable { .. }
            | Self::ModelMissing { .. }
            | Self::NotShown { .. }
            | Self::Store(StoreError::Latched) => Some(RetryAfter::Seconds(5)),
            Self::Superseded(_) => Some(RetryAfter::Seconds(1)),
            Self::Embedding(error) => error.retry_after(),
            Self::Engine(error) => error.retry_after(),
            _ => None,
        }
    }
}

fn class_of_store(error: &StoreError) -> Class {
    match error {
        StoreError::Full => Class::Full,
        StoreError::Latched => Class::Unavailable,
        StoreError::InUse(_)
        | StoreError::Format(_)
        | StoreError::Damaged(_)
        | StoreError::Catalog(_)
        | StoreError::Disk(_) => Class::Internal,
    }
}

fn class_of_archive(error: &ArchiveError) -> Class {
    match error {
        ArchiveError::Foreign | ArchiveError::Newer(_) | ArchiveError::BrokenOff | ArchiveError::Damaged(_) => {
            Class::Invalid
        }
        ArchiveError::Read(_) => Class::Lost,
        ArchiveError::Write(_) => Class::Internal,
    }
}

fn class_of_persisted(error: &PersistedError) -> Class {
    match error {
        PersistedError::Name(_) | PersistedError::Odd(_) => Class::Invalid,
        PersistedError::Missing(_) => Class::NotFound,
        PersistedError::Store(error) => class_of_store(error),
    }
}

impl Logged for IndexError {
    fn own_words(&self) -> Option<String> {
        match self {
            Self::Document { position, reason } => Some(format!("document {position}: {}", texts::length(reason))),
            Self::Archive(ArchiveError::Damaged(reason)) => {
                Some(format!("the copy cannot be used: it is damaged ({})", texts::length(reason)))
            }
            Self::Persisted(PersistedError::Odd(_) | PersistedError::Store(_)) => Some(self.to_string()),
            Self::Embedding(error) => error.own_words(),
            Self::Engine(error) => error.own_words(),
            Self::Filter(error) => Some(error.own_words()),
            Self::TooMany(_)
            | Self::OtherModel { .. }
            | Self::Exists(_)
            | Self::ManyIndexes { .. }
            | Self::Archive(_)
            | Self::Superseded(_)
            | Self::StillChanging
            | Self::NoGeneration(_)
            | Self::Chunking(_)
            | Self::Vectors(_)
            | Self::Store(_)
            | Self::Unavailable { .. }
            | Self::OtherVectors(_)
            | Self::NotPossible(_)
            | Self::NotShown { .. }
            | Self::ShuttingDown => Some(self.to_string()),
            _ => None,
        }
    }
}

impl Fault for InvalidSync {
    fn class(&self) -> Class {
        Class::Invalid
    }

    fn kind(&self) -> &'static str {
        "meaning"
    }
}

impl Logged for InvalidSync {
    fn own_words(&self) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use ragengine_embedding::Error as EmbeddingError;

    use super::*;

    const MARKER: &str = "a client's text";

    #[test]
    fn the_log_contains_no_text_of_clients() {
        let marker = || MARKER.to_owned();
        let embedding = EmbeddingError::Upstream { status: 429, message: marker() };
        for (error, expected) in [
            (IndexError::NoSuchIndex(marker()), "bytes"),
            (IndexError::Document { position: 3, reason: marker() }, "document 3: 15 bytes"),
            (IndexError::Embedding(embedding), "429 with a message of 15 bytes"),
            (ArchiveError::Damaged(marker()).into(), "15 bytes"),
            (PersistedError::Missing(marker()).into(), "bytes"),
            (IndexError::NotInCopy { index: marker(), indexes: vec![marker()] }, "bytes"),
        ] {
            let words = error.for_log();
            assert!(words.contains(expected) && !words.contains(MARKER), "{error:?}: {words}");
        }
    }
}
