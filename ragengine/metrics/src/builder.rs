use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use prometheus::core::{Collector, MetricVec, MetricVecBuilder};
use prometheus::{Error, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

use crate::labels::IndexLabels;

/// Bucket bounds in seconds, from a millisecond to more than the longest default timeout.
const SECONDS: &[f64] =
    &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0];

/// The definition of a metric, for the documentation.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The name, without the prefix `ragengine_`.
    pub name: &'static str,
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// The help text.
    pub help: &'static str,
    /// The names of the labels.
    pub labels: &'static [&'static str],
    /// The upper bounds of a histogram's buckets. Empty for other kinds.
    pub buckets: Vec<f64>,
}

/// The registry and the definitions of its metrics.
pub struct Built {
    /// The registry that Prometheus scrapes.
    pub registry: Registry,
    /// The definition of each metric in the registry.
    pub entries: Vec<Entry>,
}

/// Creates and registers metrics, and collects their definitions.
pub struct Builder {
    built: Built,
    seconds: Vec<f64>,
    labels: Arc<IndexLabels>,
}

impl Builder {
    /// Creates an empty registry with the prefix `ragengine_`. Histograms of durations have buckets up to
    /// `longest_timeout`.
    ///
    /// # Errors
    ///
    /// Never, because the prefix is valid.
    pub fn new(longest_timeout: Duration) -> Result<Self, Error> {
        let registry = Registry::new_custom(Some("ragengine".to_owned()), None)?;
        Ok(Self {
            built: Built { registry, entries: Vec::new() },
            seconds: up_to(longest_timeout),
            labels: Arc::default(),
        })
    }

    /// Returns the registry and the definitions.
    pub fn finish(self) -> Built {
        self.built
    }

    /// The `index` labels, which all metrics share.
    pub fn index_labels(&self) -> Arc<IndexLabels> {
        Arc::clone(&self.labels)
    }

    /// Registers a counter with labels.
    ///
    /// # Errors
    ///
    /// When a metric with this name exists.
    pub fn counters(
        &mut self,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
    ) -> Result<IntCounterVec, Error> {
        let metric = IntCounterVec::new(Opts::new(name, help), labels)?;
        self.register_index_series(&metric, labels);
        self.add(metric, Entry { name, kind: "counter", help, labels, buckets: Vec::new() })
    }

    /// Registers a gauge with labels.
    ///
    /// # Errors
    ///
    /// As [`Self::counters`].
    pub fn gauges(
        &mut self,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
    ) -> Result<IntGaugeVec, Error> {
        let metric = IntGaugeVec::new(Opts::new(name, help), labels)?;
        self.register_index_series(&metric, labels);
        self.add(metric, Entry { name, kind: "gauge", help, labels, buckets: Vec::new() })
    }

    /// Registers a gauge without labels.
    ///
    /// # Errors
    ///
    /// As [`Self::counters`].
    pub fn gauge(&mut self, name: &'static str, help: &'static str) -> Result<IntGauge, Error> {
        let metric = IntGauge::new(name, help)?;
        self.add(metric, Entry { name, kind: "gauge", help, labels: &[], buckets: Vec::new() })
    }

    /// Registers a histogram of durations in seconds.
    ///
    /// # Errors
    ///
    /// As [`Self::counters`].
    pub fn durations(
        &mut self,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
    ) -> Result<HistogramVec, Error> {
        let seconds = self.seconds.clone();
        self.histograms(name, help, labels, &seconds)
    }

    /// Registers a histogram with these bucket bounds.
    ///
    /// # Errors
    ///
    /// As [`Self::counters`].
    pub fn histograms(
        &mut self,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
        buckets: &[f64],
    ) -> Result<HistogramVec, Error> {
        let metric = HistogramVec::new(HistogramOpts::new(name, help).buckets(buckets.to_vec()), labels)?;
        self.register_index_series(&metric, labels);
        self.add(metric, Entry { name, kind: "histogram", help, labels, buckets: buckets.to_vec() })
    }

    fn add<M: Collector + Clone + 'static>(&mut self, metric: M, entry: Entry) -> Result<M, Error> {
        self.built.registry.register(Box::new(metric.clone()))?;
        self.built.entries.push(entry);
        Ok(metric)
    }

    /// Registers the metric for removal of its series when their index is deleted.
    fn register_index_series<T: MetricVecBuilder + 'static>(&mut self, metric: &MetricVec<T>, labels: &[&str]) {
        if labels.contains(&"index") {
            let metric = metric.clone();
            self.labels.register_series(Box::new(move |index| drop_series(&metric, index)));
        }
    }
}

/// Removes every series of one index.
fn drop_series<T: MetricVecBuilder>(metric: &MetricVec<T>, index: &str) {
    for family in metric.collect() {
        for series in family.get_metric() {
            let labels: HashMap<&str, &str> =
                series.get_label().iter().map(|label| (label.name(), label.value())).collect();
            if labels.get("index") == Some(&index) {
                // A missing series needs no removal.
                drop(metric.remove(&labels));
            }
        }
    }
}

/// The buckets of durations, with one more if `longest` exceeds all of them.
fn up_to(longest: Duration) -> Vec<f64> {
    let longest = longest.as_secs_f64();
    let last = SECONDS.last().copied().filter(|last| *last < longest).map(|_| longest);
    SECONDS.iter().copied().chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_reach_the_timeout() {
        assert_eq!(up_to(Duration::from_secs(300)), SECONDS);
        assert_eq!(up_to(Duration::from_secs(3600)).last(), Some(&3600.0));
    }
}
