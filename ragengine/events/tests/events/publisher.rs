//! A publisher, with its metrics.

use std::time::{Duration, Instant};

use ragengine_events::{EventMetrics, EventOptions, Events, QuerySubmitted};
use ragengine_metrics::Builder;
use ragengine_metrics::prometheus::Registry;

use crate::test_rabbitmq::{PASSWORD, TestRabbitMq, USER};

/// What is awaited must happen within this time.
const LIMIT: Duration = Duration::from_secs(40);

pub struct Publisher {
    pub events: Events,
    registry: Registry,
}

/// The options for the user who may do everything.
pub fn options(server: &TestRabbitMq, exchange: &str) -> EventOptions {
    EventOptions {
        url: server.url(USER),
        password: Some(PASSWORD.to_owned()),
        exchange: exchange.to_owned(),
        source: "/ragengine/team.docs".to_owned(),
    }
}

pub fn question(number: usize) -> QuerySubmitted {
    QuerySubmitted { query: number.to_string(), user_id: None, session_id: None, model_id: None }
}

impl Publisher {
    pub fn start(options: &EventOptions) -> Self {
        let mut builder = Builder::new(Duration::from_secs(1)).unwrap();
        let metrics = EventMetrics::new(&mut builder).unwrap();
        Self { events: Events::start(options, metrics).unwrap(), registry: builder.finish().registry }
    }

    pub fn ask(&self, numbers: impl IntoIterator<Item = usize>) {
        numbers.into_iter().for_each(|number| self.events.publish(question(number)));
    }

    /// The events of this outcome.
    pub fn ended(&self, outcome: &str) -> u64 {
        self.sum("ragengine_events_total", Some(outcome))
    }

    pub fn sent_again(&self) -> u64 {
        self.sum("ragengine_events_sent_again_total", None)
    }

    pub fn waiting(&self) -> u64 {
        self.sum("ragengine_events_waiting", None)
    }

    pub fn is_connected(&self) -> bool {
        self.sum("ragengine_events_connected", None) == 1
    }

    /// Waits for a problem with these words.
    pub async fn has_problem(&self, words: &str) {
        let says = || self.events.problem().is_some_and(|problem| problem.contains(words));
        self.until(words, says).await;
    }

    /// Waits until something is so.
    pub async fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < LIMIT, "{what}: {:?}", self.events.problem());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until all is confirmed.
    pub async fn has_sent(&self, events: u64) {
        self.until("confirmed", || self.ended("confirmed") == events && self.waiting() == 0).await;
    }

    fn sum(&self, name: &str, outcome: Option<&str>) -> u64 {
        let families = self.registry.gather();
        let family = families.iter().find(|family| family.name() == name).unwrap();
        let is_wanted = |label: &str| outcome.is_none_or(|outcome| outcome == label);
        let series = family.get_metric().iter().filter(|metric| {
            let outcome = metric.get_label().iter().find(|label| label.name() == "outcome");
            outcome.is_none_or(|label| is_wanted(label.value()))
        });
        series.map(|metric| (metric.get_counter().get_value() + metric.get_gauge().get_value()) as u64).sum()
    }
}
