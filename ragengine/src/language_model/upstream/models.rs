//! The endpoint's list of models for callers who request it. One request at a time is sent for all callers, and its
//! result is cached briefly.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout};

use super::Upstream;
use super::endpoint::MAX_FACTS_BYTES;
use super::reply::{read_bounded, refusal, unreachable};
use crate::language_model::{LlmError, ModelList};
use crate::telemetry::metrics::AdmissionMetrics;

/// The time limit for fetching the list.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The age up to which a list is shown without fetching it again.
const VALIDITY: Duration = Duration::from_secs(10);

/// The age up to which a list is shown while it is fetched again.
const USEFULNESS: Duration = Duration::from_secs(60);

/// The age up to which a failure is shown without fetching again.
const FAILURE_VALIDITY: Duration = Duration::from_secs(2);

/// The most callers that may wait while there is no list to show.
const MAX_WAITING: usize = 64;

/// The metric label for callers that wait.
const WORK: &str = "models";

/// The cached list of models, and the callers that wait for a new one.
pub(super) struct Listing {
    told: watch::Sender<Told>,
    is_asking: AtomicBool,
    waiting: Semaphore,
    metrics: AdmissionMetrics,
}

/// The last result of fetching the list.
#[derive(Clone, Default)]
struct Told {
    /// The number of fetches so far.
    times: u64,
    /// The last result and its time. None before the first fetch has ended.
    last: Option<(Result<Arc<ModelList>, LlmError>, Instant)>,
}

/// How to answer a caller.
#[derive(Debug)]
enum Decision {
    Show(Result<Arc<ModelList>, LlmError>),
    ShowAndAskAgain(Arc<ModelList>),
    Wait,
}

impl Told {
    fn decision(&self, now: Instant) -> Decision {
        let Some((answer, when)) = &self.last else { return Decision::Wait };
        let age = now.saturating_duration_since(*when);
        match answer {
            Ok(list) if age < VALIDITY => Decision::Show(Ok(Arc::clone(list))),
            Ok(list) if age < USEFULNESS => Decision::ShowAndAskAgain(Arc::clone(list)),
            Err(error) if age < FAILURE_VALIDITY => Decision::Show(Err(error.clone())),
            _ => Decision::Wait,
        }
    }
}

impl Listing {
    pub fn new(metrics: &AdmissionMetrics) -> Self {
        Self {
            told: watch::Sender::default(),
            is_asking: AtomicBool::new(false),
            waiting: Semaphore::new(MAX_WAITING),
            metrics: metrics.clone(),
        }
    }
}

impl Upstream {
    /// The endpoint's list of models, at most a minute old, without models that are not allowed. A caller waits only if
    /// there is no list to show. The number of waiting callers is limited.
    ///
    /// # Errors
    ///
    /// [`LlmError`]: refused with the endpoint's status and message, timed out, unreachable, or too many callers wait.
    pub async fn models(self: &Arc<Self>) -> Result<Arc<ModelList>, LlmError> {
        let listing = &self.listing;
        let (decision, times) = {
            let told = listing.told.borrow();
            (told.decision(Instant::now()), told.times)
        };
        match decision {
            Decision::Show(answer) => return answer,
            Decision::ShowAndAskAgain(list) => {
                self.ask_for_models();
                return Ok(list);
            }
            Decision::Wait => {}
        }
        let Ok(_place) = listing.waiting.try_acquire() else {
            listing.metrics.refused(WORK, "queue_full");
            return Err(LlmError::ListAwaited { waiting: MAX_WAITING });
        };
        let _waiting = listing.metrics.waits(WORK);
        let mut told = listing.told.subscribe();
        self.ask_for_models();
        // Fetching has a shorter time limit, so its own error is reported first.
        let answered = timeout(TIMEOUT * 2, told.wait_for(|told| told.times > times)).await;
        let answer = answered.ok().and_then(Result::ok).and_then(|told| told.last.clone());
        answer.map_or_else(|| Err(self.is_slow_to_list()), |(answer, _)| answer)
    }

    /// Fetches the list in the background unless a fetch is running. So it continues if the first caller disconnects.
    fn ask_for_models(self: &Arc<Self>) {
        if self.listing.is_asking.swap(true, Ordering::AcqRel) {
            return;
        }
        let upstream = Arc::clone(self);
        tokio::spawn(async move {
            let asking = Asking(&upstream.listing.is_asking);
            let answer = match timeout(TIMEOUT, upstream.read_models()).await {
                Ok(answer) => answer.map(Arc::new),
                Err(_) => Err(upstream.is_slow_to_list()),
            };
            drop(asking);
            let last = Some((answer, Instant::now()));
            upstream.listing.told.send_modify(|told| *told = Told { times: told.times + 1, last });
        });
    }

    async fn read_models(&self) -> Result<ModelList, LlmError> {
        let endpoint = &self.endpoint;
        let reach = |error: reqwest::Error| unreachable(&error, Arc::clone(&endpoint.addresses.shown));
        let request = endpoint.http.get(endpoint.addresses.models.clone()).headers(endpoint.authorization());
        let response = request.send().await.map_err(reach)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let Some(body) = read_bounded(response.bytes_stream(), MAX_FACTS_BYTES).await else {
            let what = format!("its list of models broke off, or has more than {MAX_FACTS_BYTES} bytes");
            return Err(LlmError::Nonsense(what));
        };
        if !status.is_success() {
            return Err(refusal(status, &headers, &body, endpoint.api_key.as_ref()));
        }
        let (allowed, bytes) = (self.allowed.clone(), body.len());
        // Some endpoints list thousands of models.
        let reading = tokio::task::spawn_blocking(move || ModelList::read(&body, &allowed));
        let list = reading.await.ok().flatten();
        let list =
            list.ok_or_else(|| LlmError::Nonsense(format!("its list of models is not JSON, of {bytes} bytes")))?;
        self.endpoint.lists(list.ids());
        Ok(list)
    }

    fn is_slow_to_list(&self) -> LlmError {
        LlmError::ListTimeout { url: Arc::clone(&self.endpoint.addresses.shown), seconds: TIMEOUT.as_secs() }
    }
}

/// Marks a fetch as running until this is dropped.
struct Asking<'a>(&'a AtomicBool);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(answer: Result<Arc<ModelList>, LlmError>, age: Duration) -> (Told, Instant) {
        let when = Instant::now();
        (Told { times: 1, last: Some((answer, when)) }, when + age)
    }

    #[test]
    fn what_was_told_is_shown_for_a_while() {
        let list = || Ok(Arc::new(ModelList::of(json!({"data": []}))));
        let failure = || Err(LlmError::Nonsense("no".to_owned()));
        let seconds = Duration::from_secs;
        for (answer, age, expected) in [
            (list(), seconds(0), "Show(Ok"),
            (list(), VALIDITY - seconds(1), "Show(Ok"),
            (list(), VALIDITY, "ShowAndAskAgain"),
            (list(), USEFULNESS, "Wait"),
            (failure(), seconds(0), "Show(Err"),
            (failure(), FAILURE_VALIDITY, "Wait"),
        ] {
            let (told, now) = told(answer, age);
            let decision = format!("{:?}", told.decision(now));
            assert!(decision.starts_with(expected), "{age:?}: {decision}");
        }
        assert!(matches!(Told::default().decision(Instant::now()), Decision::Wait));
    }
}
