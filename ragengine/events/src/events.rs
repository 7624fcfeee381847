use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::timeout;
use tracing::warn;

use crate::message::{Message, Stamp};
use crate::options::EventOptions;
use crate::sender;
use crate::state::State;
use crate::{Event, EventMetrics, EventsError};

/// Publishes events on RabbitMQ, in the background. Stops at once when this is dropped.
pub struct Events {
    state: Arc<State>,
    source: String,
    task: AbortHandle,
}

impl Events {
    /// Starts a background task that connects with RabbitMQ, now and whenever the connection is lost. Must be called in
    /// a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`EventsError`] if the options are invalid. That RabbitMQ is out of reach is no error.
    pub fn start(options: &EventOptions, metrics: EventMetrics) -> Result<Self, EventsError> {
        let target = options.target()?;
        let state = Arc::new(State::new(metrics));
        let source = target.source.clone();
        let task = tokio::spawn(sender::run(Arc::clone(&state), target)).abort_handle();
        Ok(Self { state, source, task })
    }

    /// Publishes an event. Never waits: when too much waits already, the oldest events are dropped.
    pub fn publish(&self, event: impl Into<Event>) {
        self.publish_traced(event, None);
    }

    /// The same, for an event that belongs to a trace: the header `traceparent` of W3C Trace Context.
    pub fn publish_traced(&self, event: impl Into<Event>, traceparent: Option<&str>) {
        self.state.push(Message::new(&event.into(), &Stamp::now(&self.source, traceparent)));
    }

    /// What is wrong now, in words for people and without secrets.
    pub fn problem(&self) -> Option<String> {
        self.state.problem()
    }

    /// Takes no more events, and waits until all are confirmed, at most for `grace`. The others are dropped.
    pub async fn shut_down(&self, grace: Duration) {
        self.state.close();
        let emptied = async {
            loop {
                let emptied = self.state.emptied.notified();
                if self.state.is_empty() {
                    return;
                }
                emptied.await;
            }
        };
        // What remains is counted.
        drop(timeout(grace, emptied).await);
        self.task.abort();
        let dropped = self.state.drop_all();
        if dropped > 0 {
            warn!(dropped, "events were not confirmed by RabbitMQ before the end: they may be lost");
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.task.abort();
        self.state.drop_all();
    }
}
