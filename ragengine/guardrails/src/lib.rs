//! Checks of answers against a policy, also while they are streamed.
//!
//! ```text
//! guardrails.yaml ── PolicyFile: read again when it changes; no answer without a valid policy
//!   └─ Policy: the scanners, in their order
//!        ├─ check: a whole answer
//!        └─ stream: an answer that arrives piece by piece
//!             ├─ a chain of stages, one for each scanner, each on the output of the one before
//!             └─ permits_call: a tool call of the answer; any finding blocks the answer
//! ```
//!
//! # Scanners
//!
//! | type | fields (default) | finds | `redact` puts in its place | held back on a stream |
//! |---|---|---|---|---|
//! | `regex` | `patterns`, `match_type` search, all or fullmatch (search), `is_blocked` (true) | the patterns; with `is_blocked: false`, an answer without any | `[REDACTED]` | a match in progress; with fullmatch or `is_blocked: false` all |
//! | `ban_substrings` | `substrings`, `match_type` word or str (word), `case_sensitive` (false), `contains_all` (false) | the phrases | `[REDACTED]` | a match in progress; with `contains_all` all |
//! | `secrets` | `redact_mode` all, partial or hash (all) | keys, tokens, passwords in URLs | `******`, `ab..yz`, or the SHA-256 | a match in progress |
//! | `sensitive` | `detectors` of email, phone, credit_card, ip_address (all) | personal data | `<EMAIL>` and so on | a match in progress |
//! | `invisible_text` | | invisible characters | nothing | nothing |
//! | `json` | `required_elements` (0), `repair` (true) | answers that are not JSON | `[REDACTED]` for the whole | all |
//! | `token_limit` | `limit` (4096), `encoding_name` (cl100k_base) or `model_name` | longer answers | the end is cut off | the last word near the limit |
//! | `reading_time` | `max_time` in minutes, `truncate` (false) | longer answers, at 200 words per minute | `[REDACTED]` for the rest; nothing with `truncate` | space at the limit |
//!
//! All matches of all patterns are replaced. With the action `block`, any finding blocks the answer.
//!
//! # Order
//!
//! The scanners work in the policy's order, each on what the one before has left. A redaction can make text that an
//! earlier scanner looks for. So afterwards scanners that block look again if a later one redacts, and those that redact
//! if a later one removes characters.
//!
//! # Tool calls
//!
//! A redaction would break the arguments of a tool call, so any finding in a call blocks the answer. The arguments must
//! hold the whole policy, as an answer must. In the id, the name and the text behind JSON escapes, such as `\u0041`, only
//! the scanners look that find something forbidden: `json`, `token_limit`, `reading_time` and `regex` with
//! `is_blocked: false` do not.
//!
//! # Example
//!
//! ```
//! use ragengine_guardrails::{Outcome, Policy};
//!
//! let policy = Policy::parse("scanners: [{type: ban_substrings, substrings: [Project Atlas]}]")?;
//! let mut stream = policy.stream();
//! let pieces = ["About Pro", "ject At", "las is ready"].map(|piece| stream.push(piece));
//! assert_eq!(pieces, ["About ", "", "[REDACTED] is ready"]);
//! assert_eq!(stream.finish(), "");
//! assert_eq!(stream.outcome(), Outcome::Redacted);
//! # Ok::<(), ragengine_guardrails::PolicyError>(())
//! ```
//!
//! # Time and memory
//!
//! Text is held from the earliest position at which a match may be in progress. A match is replaced when up to three more
//! bytes are known. Where some pattern is always in progress, that position is computed only now and then, so up to 64
//! bytes more, or twice as much as needed, may be held.
//!
//! Patterns cannot look around or refer back, so they take time proportional to the text. A match in progress longer
//! than [`limits::MAX_HELD_BYTES`], and an answer longer than [`limits::MAX_WHOLE_BYTES`] for a scanner that needs the
//! whole of it, fail closed: the answer is blocked, or `[REDACTED]` stands for everything up to the end of the match, and
//! for a few characters after it.

mod call;
mod checked;
mod error;
mod file;
pub mod limits;
mod patterns;
mod policy;
mod redaction;
mod scanner;
mod stage;
mod stream;

pub use call::Call;
pub use checked::{Checked, Outcome};
pub use error::PolicyError;
pub use file::{PolicyFile, PolicyProblem};
pub use policy::{DEFAULT_BLOCK_MESSAGE, Policy};
pub use stream::GuardStream;
