use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use prometheus::core::{Collector, MetricVec, MetricVecBuilder};
use prometheus::{Error, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

use crate::labels::IndexLabels;

/// From a millisecond to the longest default timeout, and past it.
const SECONDS: &[f64] =
    &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0];

/// What a metric is, for the documentation.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its name without the prefix.
    pub name: &'static str,
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// What it says.
    pub help: &'static str,
    /// Its labels.
    pub labels: &'static [&'static str],
    /// The upper bounds of a histogram's buckets.
    pub buckets: Vec<f64>,
}

/// What was made: the registry, and what is in it.
pub struct Built {
    /// What Prometheus reads.
    pub registry: Registry,
    /// Each metric in it.
    pub entries: Vec<Entry>,
}

/// Makes metrics, registers them and remembers what each is.
pub struct Builder {
    built: Built,
    seconds: Vec<f64>,
    labels: Arc<IndexLabels>,
}

impl Builder {
    /// An empty registry whose metrics begin with `ragengine_`. Durations have buckets up to the longest timeout.
    ///
    /// # Errors
    ///
    /// Never: the prefix is a good one.
    pub fn new(longest_timeout: Duration) -> Result<Self, Error> {
        let registry = Registry::new_custom(Some("ragengine".to_owned()), None)?;
        Ok(Self {
            built: Built { registry, entries: Vec::new() },
            seconds: up_to(longest_timeout),
            labels: Arc::default(),
        })
    }

    /// What was made.
    pub fn finish(self) -> Built {
        self.built
    }

    /// The labels of indexes, which all metrics share.
    pub fn index_labels(&self) -> Arc<IndexLabels> {
        Arc::clone(&self.labels)
    }

    /// Numbers that only grow.
    ///
    /// # Errors
    ///
    /// When there is a metric of this name already.
    pub fn counters(
        &mut self,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
    ) -> Result<IntCounterVec, Error> {
        let metric = IntCounterVec::new(Opts::new(name, help), labels)?;
        self.note_series_of_indexes(&metric, labels);
        self.add(metric, Entry { name, kind: "counter", help, labels, buckets: Vec::new() })
    }

    /// Numbers that go up and down.
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
        self.note_series_of_indexes(&metric, labels);
        self.add(metric, Entry { name, kind: "gauge", help, labels, buckets: Vec::new() })
    }

    /// One number that goes up and down.
    ///
    /// # Errors
    ///
    /// As [`Self::counters`].
    pub fn gauge(&mut self, name: &'static str, help: &'static str) -> Result<IntGauge, Error> {
        let metric = IntGauge::new(name, help)?;
        self.add(metric, Entry { name, kind: "gauge", help, labels: &[], buckets: Vec::new() })
    }

    /// Counts of durations, by their length.
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

    /// Counts of measurements, by their size.
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
        self.note_series_of_indexes(&metric, labels);
        self.add(metric, Entry { name, kind: "histogram", help, labels, buckets: buckets.to_vec() })
    }

    fn add<M: Collector + Clone + 'static>(&mut self, metric: M, entry: Entry) -> Result<M, Error> {
        self.built.registry.register(Box::new(metric.clone()))?;
        self.built.entries.push(entry);
        Ok(metric)
    }

    /// A metric that has series for each index loses those of one that is deleted.
    fn note_series_of_indexes<T: MetricVecBuilder + 'static>(&mut self, metric: &MetricVec<T>, labels: &[&str]) {
        if labels.contains(&"index") {
            let metric = metric.clone();
            self.labels.note_series(Box::new(move |index| drop_series(&metric, index)));
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
                // Gone already is as good.
                drop(metric.remove(&labels));
            }
        }
    }
}

/// The buckets of durations, with one more when a timeout is longer than all of them.
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
