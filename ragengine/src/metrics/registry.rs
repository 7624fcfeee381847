use std::collections::HashMap;

use prometheus::core::{Collector, MetricVec, MetricVecBuilder};
use prometheus::{Error, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

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

/// Drops the series of one index from one metric.
pub type DropSeries = Box<dyn Fn(&str) + Send + Sync>;

/// What was made: the registry, what is in it, and how the series of an index are dropped from all that have some.
pub struct Built {
    pub registry: Registry,
    pub entries: Vec<Entry>,
    pub by_index: Vec<DropSeries>,
}

/// Makes metrics, registers them and remembers what each is.
pub struct Builder(Built);

impl Builder {
    /// An empty registry whose metrics begin with `ragengine_`.
    ///
    /// # Errors
    ///
    /// Never: the prefix is a good one.
    pub fn new() -> Result<Self, Error> {
        let registry = Registry::new_custom(Some("ragengine".to_owned()), None)?;
        Ok(Self(Built { registry, entries: Vec::new(), by_index: Vec::new() }))
    }

    /// What was made.
    pub fn finish(self) -> Built {
        self.0
    }

    /// Numbers that only grow.
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
    pub fn gauge(&mut self, name: &'static str, help: &'static str) -> Result<IntGauge, Error> {
        let metric = IntGauge::new(name, help)?;
        self.add(metric, Entry { name, kind: "gauge", help, labels: &[], buckets: Vec::new() })
    }

    /// Counts of measurements, by their size.
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
        self.0.registry.register(Box::new(metric.clone()))?;
        self.0.entries.push(entry);
        Ok(metric)
    }

    /// A metric that has series for each index loses those of one that is deleted.
    fn note_series_of_indexes<T: MetricVecBuilder + 'static>(&mut self, metric: &MetricVec<T>, labels: &[&str]) {
        if labels.contains(&"index") {
            let metric = metric.clone();
            self.0.by_index.push(Box::new(move |index| drop_series(&metric, index)));
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

/// The metrics as a page of documentation.
pub fn markdown(entries: &[Entry]) -> String {
    let mut page = String::from(
        "<!-- Written by `make generate` from the code. -->\n\n# Metrics\n\nWhat `GET /metrics` shows, for Prometheus. \
         Labels `index` have the first 100 indexes by name; the rest are summed under `other`. The series of an index that is deleted are gone, \
         and its label goes to the next one. The buckets of durations below are those \
         of the default `inferenceService.timeoutSeconds`; a longer one adds a bucket.\n",
    );
    for Entry { name, kind, help, labels, buckets } in entries {
        let labels = match labels {
            [] => String::new(),
            labels => format!("{{{}}}", labels.join(", ")),
        };
        page.push_str(&format!("\n## `ragengine_{name}{labels}`\n\n{kind}. {help}\n"));
        if !buckets.is_empty() {
            let bounds: Vec<String> = buckets.iter().map(f64::to_string).collect();
            page.push_str(&format!("\nBuckets: {}.\n", bounds.join(", ")));
        }
    }
    page
}
