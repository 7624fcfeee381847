//! `POST /feedback`, `GET /feedback`, `DELETE /feedback/{answer_id}` and `DELETE /interactions`.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use jiff::Timestamp;
use ragengine_client::wire::{ErrorDetail, ListVotes, ListedVote, Rating, Success, Vote, VoteList};
use ragengine_stores::{self as stores, FeedbackStore, NewVote, VotePage, VoteQuery};

use super::extract::{JsonBody, PathParameters, QueryString, out_of_bounds};
use crate::access::{Action, Caller, may};
use crate::app::App;
use crate::chat::answer_id::{session_voter, voter};
use crate::chat::cached::{down_vote_withdrawn, voted_down};
use crate::error::{ApiError, PlainError};
use crate::stores::AnswerCache;

/// The longest comment, in characters.
const MAX_COMMENT_CHARACTERS: usize = 4000;

/// The longest page.
const MAX_PAGE: usize = 100;

/// Votes on an answer. A later vote of the same voter replaces the earlier one.
#[utoipa::path(post, path = "/feedback", tag = "feedback", request_body = Vote, responses(
    (status = 200, description = "The vote is kept.", body = Success),
    (status = 400, description = "Votes are not kept on this server.", body = ErrorDetail),
    (status = 404, description = "No such answer, or another caller's.", body = ErrorDetail),
    (status = 422, description = "The body does not match the schema.", body = ErrorDetail),
    (status = 503, description = "The store cannot be used now.", body = ErrorDetail),
))]
pub async fn vote(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    JsonBody(vote): JsonBody<Vote>,
) -> Result<Json<Success>, PlainError> {
    if vote.comment.as_ref().is_some_and(|comment| comment.chars().nth(MAX_COMMENT_CHARACTERS).is_some()) {
        return Err(out_of_bounds(["body", "comment"], "of at most 4000 characters").into());
    }
    may(&caller, Action::Read, None).map_err(ApiError::from)?;
    let (is_down, answer_id) = (matches!(vote.rating, Rating::Down), vote.answer_id.clone());
    let vote = NewVote {
        answer_id: vote.answer_id,
        voter: voter(&caller, &answer_id),
        rating: match vote.rating {
            Rating::Up => stores::Rating::Up,
            Rating::Down => stores::Rating::Down,
        },
        comment: vote.comment,
        voted_at_ms: Timestamp::now().as_millisecond(),
    };
    let feedback = store(&app)?;
    may_vote(feedback, &caller, &answer_id).await?;
    let in_cache = in_cache(&app, feedback, &answer_id).await?;
    feedback.vote(caller.owner(), vote).await.map_err(ApiError::from)?;
    match in_cache {
        Some((cache, keys)) if is_down => voted_down(cache, &keys).await,
        Some((cache, keys)) => down_vote_withdrawn(cache, &keys).await,
        None => {}
    }
    Ok(Json(Success::default()))
}

/// Lists votes, the newest first: the caller's own, or all votes if the caller may write. A caller whose name is not
/// known finds its own by its session.
#[utoipa::path(get, path = "/feedback", tag = "feedback", params(ListVotes), responses(
    (status = 200, description = "A page of votes.", body = VoteList),
    (status = 400, description = "Votes are not kept on this server.", body = ErrorDetail),
    (status = 422, description = "The query does not match the schema.", body = ErrorDetail),
    (status = 503, description = "The store cannot be used now.", body = ErrorDetail),
))]
pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    QueryString(query): QueryString<ListVotes>,
) -> Result<Json<VoteList>, PlainError> {
    if !(1..=MAX_PAGE).contains(&query.limit) {
        return Err(out_of_bounds(["query", "limit"], "between 1 and 100").into());
    }
    let index = query.index_name.as_deref();
    may(&caller, Action::Read, index).map_err(ApiError::from)?;
    let sees_all = may(&caller, Action::Write, index).is_ok();
    let store = store(&app)?;
    let voter = match shown(&caller, sees_all, query.session_id.as_deref()) {
        Shown::All => None,
        Shown::Of(voter) => Some(voter),
        Shown::Nothing => return Ok(Json(VoteList::default())),
    };
    let query = VoteQuery { index_name: query.index_name, voter, limit: query.limit, offset: query.offset };
    let VotePage { votes, total } = store.list(query).await.map_err(ApiError::from)?;
    let feedback: Vec<ListedVote> = votes.into_iter().map(listed).collect();
    Ok(Json(VoteList { count: feedback.len(), feedback, total_items: total }))
}

/// Deletes the caller's vote on an answer.
#[utoipa::path(delete, path = "/feedback/{answer_id}", tag = "feedback",
    params(("answer_id" = String, Path, description = "The id of the answer.")), responses(
    (status = 200, description = "The vote is deleted.", body = Success),
    (status = 400, description = "Votes are not kept on this server.", body = ErrorDetail),
    (status = 404, description = "No such answer or vote, or another caller's.", body = ErrorDetail),
    (status = 503, description = "The store cannot be used now.", body = ErrorDetail),
))]
pub async fn delete(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    PathParameters(answer_id): PathParameters<String>,
) -> Result<Json<Success>, PlainError> {
    may(&caller, Action::Read, None).map_err(ApiError::from)?;
    let feedback = store(&app)?;
    may_vote(feedback, &caller, &answer_id).await?;
    // When this fails, the vote is still there, and the request can be sent again.
    let in_cache = in_cache(&app, feedback, &answer_id).await?;
    feedback.remove_vote(caller.owner(), &answer_id, &voter(&caller, &answer_id)).await.map_err(ApiError::from)?;
    if let Some((cache, keys)) = in_cache {
        down_vote_withdrawn(cache, &keys).await;
    }
    Ok(Json(Success::default()))
}

/// Deletes all interactions of the caller.
#[utoipa::path(delete, path = "/interactions", tag = "feedback", responses(
    (status = 200, description = "The interactions are deleted.", body = Success),
    (status = 400, description = "Interactions are not kept on this server.", body = ErrorDetail),
    (status = 503, description = "The store cannot be used now.", body = ErrorDetail),
))]
pub async fn delete_interactions(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Success>, PlainError> {
    may(&caller, Action::Read, None).map_err(ApiError::from)?;
    let off = || {
        ApiError::InvalidRequest("interactions are not kept on this server (setting interactions.enabled)".to_owned())
    };
    let store = app.loaded()?.stores.interactions().ok_or_else(off)?;
    store.remove_all(caller.owner()).await.map_err(ApiError::from)?;
    Ok(Json(Success::default()))
}

/// Whose votes a caller sees.
#[derive(Debug, PartialEq, Eq)]
enum Shown {
    All,
    /// Those of this voter.
    Of(String),
    Nothing,
}

/// Whose votes a caller sees. Callers whose names are not known share one owner, so only a session tells their votes
/// apart: its id is known to those who asked in it.
fn shown(caller: &Caller, sees_all: bool, session_id: Option<&str>) -> Shown {
    match session_id {
        _ if caller.is_known() && !sees_all => Shown::Of(caller.owner().to_owned()),
        Some(session_id) => Shown::Of(session_voter(session_id)),
        None if sees_all => Shown::All,
        None => Shown::Nothing,
    }
}

fn store(app: &App) -> Result<&Arc<FeedbackStore>, ApiError> {
    let off = || ApiError::InvalidRequest("votes are not kept on this server (setting feedback.enabled)".to_owned());
    app.loaded()?.stores.feedback().ok_or_else(off)
}

/// The cache, and the keys of an answer in it. None if there is no cache, or the answer had none.
async fn in_cache<'a>(
    app: &'a App,
    feedback: &FeedbackStore,
    answer_id: &str,
) -> Result<Option<(&'a AnswerCache, String)>, ApiError> {
    let Some(cache) = app.loaded()?.stores.cache() else { return Ok(None) };
    Ok(feedback.cache_key(answer_id).await?.map(|keys| (&**cache, keys)))
}

/// Checks whether the caller may read the index of an answer. The rules may have changed since the answer.
async fn may_vote(feedback: &FeedbackStore, caller: &Caller, answer_id: &str) -> Result<(), ApiError> {
    let index = feedback.index_of(caller.owner(), answer_id).await?;
    Ok(may(caller, Action::Read, Some(&index))?)
}

fn listed(vote: stores::ListedVote) -> ListedVote {
    let time = Timestamp::from_millisecond(vote.created_at_ms).unwrap_or_default();
    ListedVote {
        answer_id: vote.answer_id,
        index_name: vote.index_name,
        rating: match vote.rating {
            stores::Rating::Up => Rating::Up,
            stores::Rating::Down => Rating::Down,
        },
        voter: vote.voter,
        comment: vote.comment,
        created_at: time.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use ragengine_access::{Identity, Principal};

    use super::*;

    #[test]
    fn nobody_sees_the_votes_of_others_without_the_right_to_write() {
        let (stranger, ann) =
            (Caller::anonymous(None), Caller::known(Identity::of(Principal::user("ann").unwrap()), None));
        let of_session = || Shown::Of(session_voter("session-1"));
        let of_ann = || Shown::Of(ann.owner().to_owned());
        for (caller, sees_all, session_id, expected) in [
            (&stranger, false, None, Shown::Nothing),
            (&stranger, false, Some("session-1"), of_session()),
            (&stranger, true, None, Shown::All),
            (&stranger, true, Some("session-1"), of_session()),
            (&ann, false, None, of_ann()),
            (&ann, false, Some("session-1"), of_ann()),
            (&ann, true, None, Shown::All),
            (&ann, true, Some("session-1"), of_session()),
        ] {
            assert_eq!(shown(caller, sees_all, session_id), expected, "{} {sees_all} {session_id:?}", caller.owner());
        }
    }
}
