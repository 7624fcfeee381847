//! Bounds on policies and on the memory of a check.

/// The size of a policy in bytes.
pub const MAX_POLICY_BYTES: usize = 256 * 1024;
/// Scanners in a policy.
pub const MAX_SCANNERS: usize = 64;
/// Patterns or substrings in a scanner.
pub const MAX_PATTERNS: usize = 256;
/// The length of a pattern or substring in characters.
pub const MAX_PATTERN_CHARS: usize = 2_000;
/// The length of the block message in characters.
pub const MAX_BLOCK_MESSAGE_CHARS: usize = 4_000;
/// The size in bytes of all compiled patterns of a scanner.
pub const MAX_COMPILED_BYTES: usize = 4 * 1024 * 1024;
/// Nested groups in a pattern.
pub const MAX_PATTERN_NESTING: u32 = 100;
/// The length in bytes of a match in progress on a stream. A longer one fails closed. It is noticed before twice this
/// length is held.
pub const MAX_HELD_BYTES: usize = 16 * 1024;
/// The length in bytes of an answer for scanners that need the whole of it. A longer one fails closed.
pub const MAX_WHOLE_BYTES: usize = 1024 * 1024;
/// The memory in bytes for the states of one scanner's automaton, if all streams can share them.
pub(crate) const MAX_TABLE_BYTES: usize = 256 * 1024;
/// The memory in bytes for the states of one scanner's automaton, for each stream, if they are too many to share.
pub(crate) const STATES_BYTES: usize = 512 * 1024;
/// The bytes of text that are searched at once.
pub(crate) const PIECE_BYTES: usize = 4 * 1024;
