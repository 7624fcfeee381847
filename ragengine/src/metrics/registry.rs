use prometheus::core::Collector;
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

/// Makes metrics, registers them and remembers what each is.
pub struct Builder {
    registry: Registry,
    entries: Vec<Entry>,
}

impl Builder {
    /// An empty registry whose metrics begin with `ragengine_`.
    ///
    /// # Errors
    ///
    /// Never: the prefix is a good one.
    pub fn new() -> Result<Self, Error> {
        Ok(Self { registry: Registry::new_custom(Some("ragengine".to_owned()), None)?, entries: Vec::new() })
    }

    /// The registry, and what is in it.
    pub fn finish(self) -> (Registry, Vec<Entry>) {
        (self.registry, self.entries)
    }

    /// Numbers that only grow.
    pub fn counters(
        &mut self,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
    ) -> Result<IntCounterVec, Error> {
        let metric = IntCounterVec::new(Opts::new(name, help), labels)?;
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
        self.add(metric, Entry { name, kind: "histogram", help, labels, buckets: buckets.to_vec() })
    }

    fn add<M: Collector + Clone + 'static>(&mut self, metric: M, entry: Entry) -> Result<M, Error> {
        self.registry.register(Box::new(metric.clone()))?;
        self.entries.push(entry);
        Ok(metric)
    }
}

/// The metrics as a page of documentation.
pub fn markdown(entries: &[Entry]) -> String {
    let mut page = String::from(
        "<!-- Written by `make generate` from the code. -->\n\n# Metrics\n\nWhat `GET /metrics` shows, for Prometheus. \
         Labels `index` have the first 100 indexes by name; the rest are summed under `other`. The buckets of durations below are those \
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
