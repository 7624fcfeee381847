//! The queue of chats for the language model. It limits the running chats and the waiting chats and refuses any more.

use std::time::Duration;

use ragengine_settings::InferenceService;

use super::LlmError;
use crate::admission::{Gate, Permit};
use crate::telemetry::metrics::AdmissionMetrics;

/// The metric label of this queue.
const WORK: &str = "language_model";

/// Limits the chats that run at the language model.
pub(super) struct Queue {
    gate: Gate,
    max_running: u32,
    timeout: Duration,
    metrics: AdmissionMetrics,
}

impl Queue {
    /// A queue with the limits of the settings.
    pub fn new(settings: &InferenceService, metrics: &AdmissionMetrics) -> Self {
        let (running, waiting) = (settings.max_concurrent_requests, settings.max_waiting_requests);
        Self {
            gate: Gate::new(WORK, running, waiting, metrics),
            max_running: running,
            timeout: Duration::from_secs(settings.queue_timeout_seconds),
            metrics: metrics.clone(),
        }
    }

    /// Waits for a permit. The chat runs until the permit is dropped. Dropping the future leaves the queue.
    ///
    /// # Errors
    ///
    /// [`LlmError::QueueFull`], or [`LlmError::WaitedTooLong`].
    pub async fn turn(&self) -> Result<Permit, LlmError> {
        let Some(place) = self.gate.queue() else {
            self.metrics.refused(WORK, "queue_full");
            return Err(LlmError::QueueFull { running: self.max_running, waiting: self.gate.max_waiting() });
        };
        tokio::time::timeout(self.timeout, self.gate.turn(place)).await.map_err(|_| {
            self.metrics.refused(WORK, "waited_too_long");
            LlmError::WaitedTooLong { seconds: self.timeout.as_secs() }
        })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::telemetry::metrics::Metrics;

    /// A queue for one running and one waiting chat, which waits two seconds.
    fn narrow(metrics: &Metrics) -> Queue {
        let settings = InferenceService {
            max_concurrent_requests: 1,
            max_waiting_requests: 1,
            queue_timeout_seconds: 2,
            ..InferenceService::default()
        };
        Queue::new(&settings, &metrics.admission)
    }

    #[tokio::test(start_paused = true)]
    async fn one_asks_one_waits_and_one_more_is_refused() {
        let metrics = Metrics::new(Duration::from_secs(300)).unwrap();
        let queue = narrow(&metrics);
        let asking = queue.turn().await.unwrap();
        {
            let mut waiting = Box::pin(queue.turn());
            assert!(futures_util::poll!(&mut waiting).is_pending());
            let shown = metrics.render(&[]).unwrap();
            assert!(shown.contains(r#"ragengine_requests_waiting{work="language_model"} 1"#), "{shown}");
            assert!(matches!(queue.turn().await, Err(LlmError::QueueFull { running: 1, waiting: 1 })));
        }
        // The caller that stopped waiting has left the queue.
        assert!(matches!(queue.turn().await, Err(LlmError::WaitedTooLong { seconds: 2 })));
        drop(asking);
        assert!(queue.turn().now_or_never().unwrap().is_ok());
        let shown = metrics.render(&[]).unwrap();
        for line in [
            r#"ragengine_requests_waiting{work="language_model"} 0"#,
            r#"ragengine_requests_running{work="language_model"} 0"#,
            r#"ragengine_requests_refused_total{reason="queue_full",work="language_model"} 1"#,
            r#"ragengine_requests_refused_total{reason="waited_too_long",work="language_model"} 1"#,
        ] {
            assert!(shown.contains(line), "{line} is not in\n{shown}");
        }
    }
}
