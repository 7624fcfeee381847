use crate::number;

/// A scrape of the operator's metrics.
pub struct Metrics(String);

impl Metrics {
    /// Wraps metrics in the Prometheus text format.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Number of write requests to the API server, except those for the lease.
    pub fn writes(&self) -> f64 {
        let is_write = |line: &&str| {
            ["create", "update", "patch", "delete"].iter().any(|verb| line.contains(&format!("verb=\"{verb}\"")))
                && !line.contains("resource=\"leases\"")
        };
        // The sum of an empty iterator is -0.0; adding 0.0 makes it 0.0.
        self.lines("ragengine_operator_kubernetes_requests_total").filter(is_write).filter_map(value).sum::<f64>() + 0.0
    }

    /// Number of successful reconciles.
    pub fn reconciles(&self) -> usize {
        let ended = self.lines("ragengine_operator_reconciles_total").filter(|line| line.contains("result=\"ok\""));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let count = ended.filter_map(value).sum::<f64>() as usize;
        count
    }

    /// Whether the queue is empty and no reconcile runs.
    pub fn is_idle(&self) -> bool {
        ["ragengine_operator_queue_length", "ragengine_operator_reconciles_running"]
            .iter()
            .all(|name| self.lines(name).filter_map(value).all(|value| value == 0.0))
    }

    fn lines(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.lines().filter(move |line| {
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{') || rest.starts_with(' '))
        })
    }
}

fn value(line: &str) -> Option<f64> {
    number(line.rsplit(' ').next()?).ok()
}

#[cfg(test)]
mod tests {
    use super::Metrics;

    #[test]
    fn metrics_are_summed_by_name_and_label() {
        let metrics = Metrics::new(
            "ragengine_operator_kubernetes_requests_total\
             {group=\"\",resource=\"secrets\",status=\"201\",verb=\"create\"} 2\n\
             ragengine_operator_kubernetes_requests_total\
             {group=\"\",resource=\"secrets\",status=\"200\",verb=\"list\"} 9\n\
             ragengine_operator_kubernetes_requests_total\
             {group=\"coordination.k8s.io\",resource=\"leases\",status=\"200\",verb=\"update\"} 7\n\
             ragengine_operator_reconciles_total{kind=\"RAGEngine\",result=\"ok\"} 5\n\
             ragengine_operator_reconciles_total{kind=\"RAGEngine\",result=\"error\"} 1\n\
             ragengine_operator_queue_length 0\nragengine_operator_reconciles_running 1\n"
                .to_owned(),
        );
        assert_eq!((metrics.writes(), metrics.reconciles(), metrics.is_idle()), (2.0, 5, false));
    }
}
