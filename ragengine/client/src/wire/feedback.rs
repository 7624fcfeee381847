use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A vote on an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Vote {
    /// The id of the answer, from the header `x-answer-id`.
    pub answer_id: String,
    /// Whether the answer is good.
    pub rating: Rating,
    /// What the voter says about it: at most 4,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// Whether an answer is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rating {
    /// It is.
    Up,
    /// It is not.
    Down,
}

/// Which votes are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListVotes {
    /// Only votes on answers from this index.
    #[serde(default)]
    pub index_name: Option<String>,
    /// Only votes of callers whose names are not known, on answers of this session. Such a caller needs it to find its
    /// votes, unless it may write. For others without the right to write it changes nothing.
    #[serde(default)]
    pub session_id: Option<String>,
    /// Maximum number of votes: 1 to 100.
    #[serde(default = "default_limit")]
    #[param(default = 10, minimum = 1, maximum = 100)]
    pub limit: usize,
    /// Number of votes to skip.
    #[serde(default)]
    #[param(default = 0)]
    pub offset: usize,
}

fn default_limit() -> usize {
    10
}

/// A page of votes, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VoteList {
    /// The votes.
    pub feedback: Vec<ListedVote>,
    /// Number of votes on this page.
    pub count: usize,
    /// Number of votes on all pages.
    pub total_items: u64,
}

/// A vote in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListedVote {
    /// The id of the answer.
    pub answer_id: String,
    /// The index of the answer.
    pub index_name: String,
    /// Whether the answer is good.
    pub rating: Rating,
    /// The voter: the caller's name. For callers whose names are not known, `session:` and a hash of the answer's
    /// session, or `-` for an answer without a session.
    pub voter: String,
    /// What the voter said about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// When the vote was given, as in `2026-11-23T09:00:00Z`.
    pub created_at: String,
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Success {
    /// `success`.
    pub status: String,
}

impl Default for Success {
    fn default() -> Self {
        Self { status: "success".to_owned() }
    }
}

/// The index whose answers are forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PurgeCache {
    /// The index.
    pub index_name: String,
}
