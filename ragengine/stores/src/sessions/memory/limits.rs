use super::super::MAX_TURNS;

/// A mebibyte.
const MIB: usize = 1024 * 1024;

/// How much is kept in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Sessions at most.
    pub sessions: usize,
    /// Bytes of all sessions at most.
    pub bytes: usize,
    /// Bytes of each session at most.
    pub session_bytes: usize,
    /// Turns of each session at most.
    pub session_turns: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { sessions: 10_000, bytes: 128 * MIB, session_bytes: 8 * MIB, session_turns: MAX_TURNS }
    }
}
