use std::sync::Arc;

/// The number of an index's time between two purges. Answers of earlier epochs are not given any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub(super) i64);

/// What the cache knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookUp {
    /// The answer, as it was stored.
    Hit(Arc<[u8]>),
    /// There is none. A new one is stored under this epoch: a purge that comes between is not undone.
    Miss(Epoch),
    /// The stores failed, or did not answer in time. A new answer is not stored.
    Failed,
}

/// An answer to store.
#[derive(Debug, Clone, PartialEq)]
pub struct CachedAnswer {
    /// The answer in any form. At most [`MAX_ANSWER_BYTES`].
    pub value: Vec<u8>,
    /// The similarity of the best chunk.
    pub confidence: f32,
}

/// A larger answer is not stored.
pub const MAX_ANSWER_BYTES: usize = 1 << 20;

/// What a backend found.
#[derive(Debug)]
pub(super) struct Found {
    /// The index's epoch.
    pub epoch: Epoch,
    /// The answer.
    pub value: Option<Arc<[u8]>>,
}
