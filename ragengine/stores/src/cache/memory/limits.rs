/// How much is kept in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Answers at most.
    pub answers: usize,
    /// Bytes of all answers at most.
    pub bytes: usize,
    /// Indexes at most whose purges are remembered one by one.
    pub indexes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { answers: 10_000, bytes: 64 << 20, indexes: 1_000 }
    }
}
