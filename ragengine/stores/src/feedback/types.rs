use std::sync::Arc;

/// An answer that can be voted on.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Its id, unique in the store.
    pub id: String,
    /// The caller it was given to.
    pub owner: String,
    /// The index whose chunks were in the prompt.
    pub index_name: String,
    /// The question.
    pub question: String,
    /// The embedding model of the vector.
    pub fingerprint: String,
    /// The question's normalised vector.
    pub vector: Vec<f32>,
    /// The chunks in the prompt.
    pub node_ids: Vec<String>,
    /// Its key in the response cache.
    pub cache_key: Option<String>,
    /// When it was given, in milliseconds since 1970.
    pub created_at_ms: i64,
}

/// A vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rating {
    /// The answer was good.
    Up,
    /// The answer was bad.
    Down,
}

impl Rating {
    /// `up` or `down`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }

    /// The rating for up votes.
    pub(super) fn of(is_up: bool) -> Self {
        if is_up { Self::Up } else { Self::Down }
    }
}

/// A vote to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewVote {
    /// The answer.
    pub answer_id: String,
    /// Who votes.
    pub voter: String,
    /// The vote.
    pub rating: Rating,
    /// What the voter says about it.
    pub comment: Option<String>,
    /// When the vote was given, in milliseconds since 1970.
    pub voted_at_ms: i64,
}

/// Which votes are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VoteQuery {
    /// Only votes on answers from this index. None for all.
    pub index_name: Option<String>,
    /// Only votes of this voter. None for all.
    pub voter: Option<String>,
    /// The length of the page, at most 1,000.
    pub limit: usize,
    /// The votes before the page.
    pub offset: usize,
}

/// A page of a list of votes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VotePage {
    /// The votes of the page.
    pub votes: Vec<ListedVote>,
    /// The number of votes on all pages.
    pub total: u64,
}

/// A vote in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedVote {
    /// The answer.
    pub answer_id: String,
    /// The vote.
    pub rating: Rating,
    /// Who voted.
    pub voter: String,
    /// What the voter said about it.
    pub comment: Option<String>,
    /// When the vote was given, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// The index of the answer.
    pub index_name: String,
}

/// A vote on an answer that was given from a chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkVote {
    /// Who voted.
    pub voter: String,
    /// When the vote was given, in milliseconds since 1970.
    pub voted_at_ms: i64,
    /// Whether the answer was good.
    pub is_up: bool,
    /// The normalised vector of the answered question. Empty if it is of another embedding model.
    pub question_vector: Arc<[f32]>,
}
