//! What Prometheus sees of indexes.

use std::collections::BTreeMap;
use std::sync::Arc;

use ragengine_metrics::prometheus::Error;
use ragengine_metrics::{Builder, IndexLabels, metrics};

use crate::IndexSize;

metrics! {
    /// What Prometheus sees of indexes.
    struct Series: "" {
        /// Snapshots of vectors that were looked for when an index was opened. `result` is `loaded`, `missing` (there should have been
        /// one), or why it was of no use: `damaged`, `foreign` (of another store), `newer` (of a newer format) or `disk`. Without one,
        /// searches are exact until the graph is built again from the stored vectors.
        index_snapshot_reads_total: Counters["result"],
        /// Snapshots of vectors that were to be written. `result` is `written`, or why not: `no_room` or `disk`.
        index_snapshot_writes_total: Counters["result"],
        /// Documents of an index.
        index_documents: Gauges["index"],
        /// Chunks of an index.
        index_chunks: Gauges["index"],
        /// Bytes of the texts of an index's documents.
        index_text_bytes: Gauges["index"],
        /// Documents that the next generation of an index has already. Not there when none is being built.
        generation_documents: Gauges["index"],
        /// Documents that the next generation of an index is to have. Not there when none is being built.
        generation_total_documents: Gauges["index"],
        /// Next generations of indexes. `outcome` is `finished`, `abandoned`, or `failed`: an attempt that is made again.
        generations_total: Counters["outcome"],
    }
}

/// What Prometheus sees of indexes, and which of them have labels of their own.
pub struct IndexMetrics {
    series: Series,
    labels: Arc<IndexLabels>,
}

impl IndexMetrics {
    /// All of them, at zero.
    ///
    /// # Errors
    ///
    /// When two metrics have one name, which a test rules out.
    pub fn new(builder: &mut Builder) -> Result<Arc<Self>, Error> {
        Ok(Arc::new(Self { series: Series::new(builder)?, labels: builder.index_labels() }))
    }

    /// The labels of indexes.
    pub fn labels(&self) -> &IndexLabels {
        &self.labels
    }

    /// A snapshot of vectors was looked for.
    pub fn snapshot_read(&self, result: &str) {
        self.series.index_snapshot_reads_total.with_label_values(&[result]).inc();
    }

    /// A snapshot of vectors was written, or was not.
    pub fn snapshot_written(&self, result: &str) {
        self.series.index_snapshot_writes_total.with_label_values(&[result]).inc();
    }

    /// The building of a generation has ended so.
    pub fn generation_ended(&self, outcome: &str) {
        self.series.generations_total.with_label_values(&[outcome]).inc();
    }

    /// How far the next generations of indexes are: documents, and how many there are to be.
    pub fn generations_grow(&self, generations: &[(String, u64, u64)]) {
        let Series { generation_documents, generation_total_documents, .. } = &self.series;
        let mut labelled: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for (name, documents, total) in generations {
            let sum = labelled.entry(self.labels.of_one_there(name)).or_default();
            *sum = (sum.0 + documents, sum.1 + total);
        }
        generation_documents.reset();
        generation_total_documents.reset();
        for (label, (documents, total)) in labelled {
            generation_documents.with_label_values(&[&label]).set(documents.cast_signed());
            generation_total_documents.with_label_values(&[&label]).set(total.cast_signed());
        }
    }

    /// The sizes of all indexes as they are now.
    pub fn sizes_are(&self, indexes: &[(String, IndexSize)]) {
        let Series { index_documents, index_chunks, index_text_bytes, .. } = &self.series;
        let mut labelled: BTreeMap<String, IndexSize> = BTreeMap::new();
        for (name, size) in indexes {
            let sum = labelled.entry(self.labels.of_one_there(name)).or_default();
            sum.documents += size.documents;
            sum.chunks += size.chunks;
            sum.text_bytes += size.text_bytes;
        }
        for gauges in [index_documents, index_chunks, index_text_bytes] {
            gauges.reset();
        }
        for (label, size) in labelled {
            index_documents.with_label_values(&[&label]).set(size.documents.cast_signed());
            index_chunks.with_label_values(&[&label]).set(size.chunks.cast_signed());
            index_text_bytes.with_label_values(&[&label]).set(size.text_bytes.cast_signed());
        }
    }

    /// How often snapshots were looked for (`reads`) or were to be written (`writes`) with a result.
    #[cfg(test)]
    pub(crate) fn snapshots(&self, what: &str, result: &str) -> usize {
        let counters = match what {
            "reads" => &self.series.index_snapshot_reads_total,
            _ => &self.series.index_snapshot_writes_total,
        };
        usize::try_from(counters.with_label_values(&[result]).get()).unwrap()
    }

    /// Metrics that nobody reads.
    #[cfg(test)]
    pub(crate) fn unread() -> Arc<Self> {
        Self::new(&mut Builder::new(std::time::Duration::from_secs(1)).unwrap()).unwrap()
    }
}
