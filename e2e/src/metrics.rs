//! A parser of Prometheus' text format, for the tests.

use std::collections::BTreeMap;

/// One sample of a scrape.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The metric's name.
    pub name: String,
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// The value.
    pub value: f64,
}

/// All samples of a scrape.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metrics(pub Vec<Sample>);

impl Metrics {
    /// Parses a scrape. Other lines than samples are ignored.
    pub fn parse(text: &str) -> Self {
        Self(text.lines().filter(|line| !line.starts_with('#')).filter_map(sample).collect())
    }

    /// The samples of a metric.
    pub fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Sample> {
        self.0.iter().filter(move |sample| sample.name == name)
    }

    /// The sum of a metric's samples with these labels.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let has = |sample: &&Sample| {
            labels.iter().all(|(label, value)| sample.labels.get(*label).is_some_and(|found| found == value))
        };
        self.of(name).filter(has).map(|sample| sample.value).sum()
    }
}

/// Label values must not contain commas or quotes.
fn sample(line: &str) -> Option<Sample> {
    let (described, value) = line.rsplit_once(' ')?;
    let (name, labels) = described.split_once('{').unwrap_or((described, ""));
    let labels = labels.trim_end_matches('}').split(',').filter_map(|label| {
        let (name, value) = label.split_once('=')?;
        Some((name.to_owned(), value.trim_matches('"').to_owned()))
    });
    Some(Sample { name: name.to_owned(), labels: labels.collect(), value: value.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::Metrics;

    #[test]
    fn samples_are_summed_by_their_labels() {
        let metrics = Metrics::parse(
            "# TYPE requests counter\n\
             requests{verb=\"get\",group=\"\"} 2\n\
             requests{verb=\"list\",group=\"\"} 3\n\
             up 1\n",
        );
        assert_eq!(metrics.sum("requests", &[]), 5.0);
        assert_eq!(metrics.sum("requests", &[("verb", "list"), ("group", "")]), 3.0);
        assert_eq!(metrics.sum("up", &[]), 1.0);
        assert_eq!(metrics.sum("down", &[]), 0.0);
    }
}
