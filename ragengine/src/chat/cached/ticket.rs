use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use ragengine_errors::Logged as _;
use ragengine_stores::{CachedAnswer, Epoch, FeedbackStore, Leader, LookUp};
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use super::{Entry, Keys};
use crate::app::App;
use crate::stores::AnswerCache;

/// How long a reply waits until the answer is kept. Those who wait for an equal question wait no longer for the storing.
const KEEPING_TIMEOUT: Duration = Duration::from_millis(300);

/// Tells whether a question got a down vote, also if the cache has forgotten it since, by a restart or a purge.
struct Votes {
    store: Arc<FeedbackStore>,
    /// How long a question with a down vote gets no answer from the cache: as long as the cache keeps answers.
    lifetime: Duration,
}

impl Votes {
    fn of(app: &App) -> Option<Self> {
        let store = Arc::clone(app.loaded().ok()?.stores.feedback()?);
        Some(Self { store, lifetime: Duration::from_secs(u64::from(app.settings.cache.ttl_days) * 24 * 60 * 60) })
    }

    /// None: that is unknown.
    async fn are_down(&self, keys: &Keys) -> Option<bool> {
        let lifetime_ms = i64::try_from(self.lifetime.as_millis()).unwrap_or(i64::MAX);
        let since_ms = Timestamp::now().as_millisecond().saturating_sub(lifetime_ms);
        match self.store.was_voted_down(&format!(" {}", keys.down_vote), since_ms).await {
            Ok(was_voted_down) => Some(was_voted_down),
            Err(error) => {
                warn!(
                    kind = error.kind(),
                    reason = error.for_log(),
                    "answer not kept for equal questions: votes unknown"
                );
                None
            }
        }
    }
}

/// The right to keep an answer.
pub(in crate::chat) struct Ticket {
    cache: Arc<AnswerCache>,
    /// The votes. None if votes are not kept.
    votes: Option<Votes>,
    /// The keys of the question.
    pub keys: Keys,
    epoch: Option<Epoch>,
    /// The questions that wait for the answer. None: others do not wait.
    leader: Option<Leader<Entry>>,
}

impl Ticket {
    /// The right to keep the answer to a question that was looked up in this epoch. None: the look-up failed.
    pub fn new(
        app: &App,
        cache: Arc<AnswerCache>,
        keys: Keys,
        epoch: Option<Epoch>,
        leader: Option<Leader<Entry>>,
    ) -> Self {
        Self { cache, votes: Votes::of(app), keys, epoch, leader }
    }

    /// Keeps an answer, if there is one to keep, and gives it to those who wait. If the stores are slow, this returns
    /// earlier, and the answer is kept later.
    pub async fn end(self, entry: Option<Entry>, similarity: f32) {
        let Some(entry) = entry else { return land(self.leader, None) };
        let (background, until) = (self.cache.background.clone(), Instant::now() + KEEPING_TIMEOUT);
        // A separate task, so that a client that disconnects does not stop it. A panic in it has been reported.
        drop(timeout_at(until, background.spawn(self.keep(Arc::new(entry), similarity, until))).await);
    }

    /// Keeps an answer. Those who wait get it when it is kept. Once the votes are known, not later than `until`.
    async fn keep(self, entry: Arc<Entry>, similarity: f32, until: Instant) {
        let Self { cache, votes, keys, epoch, mut leader } = self;
        let Some(epoch) = epoch else { return land(leader, Some(entry)) };
        // If the votes are not known, there may be one.
        if is_down(&cache, votes.as_ref(), &keys).await != Some(false) {
            return land(leader, None);
        }
        let storing = store(&cache, &keys, epoch, &entry, similarity);
        in_time(storing, until, || land(leader.take(), Some(Arc::clone(&entry)))).await;
        land(leader, Some(entry));
        // After this time the reply has been sent, and a vote on it may have found nothing to remove.
        if Instant::now() >= until && is_down(&cache, votes.as_ref(), &keys).await == Some(true) {
            remove(&cache, &keys).await;
        }
    }
}

/// Ends the flight, if there is one.
fn land(leader: Option<Leader<Entry>>, entry: Option<Arc<Entry>>) {
    leader.into_iter().for_each(|leader| leader.done(entry.clone()));
}

/// Waits for some work, and calls `is_late` if it is not done then.
async fn in_time<T>(work: impl Future<Output = T>, until: Instant, is_late: impl FnOnce()) -> T {
    let mut work = pin!(work);
    if let Ok(done) = timeout_at(until, &mut work).await {
        return done;
    }
    is_late();
    work.await
}

/// Whether a question got a down vote, so that others do not get its answer, either. None: that is unknown.
async fn is_down(cache: &AnswerCache, votes: Option<&Votes>, keys: &Keys) -> Option<bool> {
    if let Some(votes) = votes
        && votes.are_down(keys).await?
    {
        return Some(true);
    }
    match cache.answers.look_up_again(&keys.down_vote).await {
        LookUp::Miss(_) => Some(false),
        LookUp::Hit(_) => Some(true),
        LookUp::Failed => None,
    }
}

async fn store(cache: &AnswerCache, keys: &Keys, epoch: Epoch, entry: &Entry, similarity: f32) {
    let Ok(value) = serde_json::to_vec(entry) else { return };
    let answer = CachedAnswer { value, confidence: similarity };
    if let Err(error) = cache.answers.store(&keys.answer, epoch, &answer).await {
        warn!(kind = error.kind(), reason = error.for_log(), "answer not kept for equal questions");
    }
}

async fn remove(cache: &AnswerCache, keys: &Keys) {
    if let Err(error) = cache.answers.remove(&keys.answer).await {
        warn!(kind = error.kind(), reason = error.for_log(), "a down vote did not reach the cache");
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn those_who_wait_are_told_when_work_is_late() {
        let until = Instant::now() + KEEPING_TIMEOUT;
        let late = async {
            tokio::time::sleep(2 * KEEPING_TIMEOUT).await;
            7
        };
        let mut told_at = None;
        assert_eq!(in_time(ready(7), until, || panic!("it is not late")).await, 7);
        assert_eq!(in_time(late, until, || told_at = Some(Instant::now())).await, 7);
        assert!(told_at.unwrap() < until + KEEPING_TIMEOUT / 2, "they wait for the work");
        let mut was_told = false;
        let endless = in_time(pending::<()>(), until, || was_told = true);
        assert!(tokio::time::timeout(KEEPING_TIMEOUT, endless).await.is_err());
        assert!(was_told);
    }
}
