//! The Prometheus metrics of indexes.

use std::collections::BTreeMap;
use std::sync::Arc;

use ragengine_metrics::prometheus::Error;
use ragengine_metrics::{Builder, IndexLabels, metrics};

use crate::IndexSize;

metrics! {
    /// The series of indexes.
    struct Series: "" {
        /// Reads of vector snapshots when an index was opened. `result` is `loaded`, `missing` (one was expected), or
        /// the reason why it was unusable: `damaged`, `foreign` (of another store), `newer` (of a newer format) or
        /// `disk`. Without a snapshot, searches are exact until the graph is rebuilt from the stored vectors.
        index_snapshot_reads_total: Counters["result"],
        /// Writes of vector snapshots. `result` is `written`, or the reason of the failure: `no_room` or `disk`.
        index_snapshot_writes_total: Counters["result"],
        /// Reads of saved full text when an index was opened. `result` is `loaded`, or the reason why it was unusable:
        /// `damaged`, `foreign` (of another store or language), `newer` (of a newer format) or `disk`. Without it, the
        /// full text is made again from the stored chunks.
        full_text_reads_total: Counters["result"],
        /// Writes of full text. `result` is `written`, or the reason of the failure, such as `no_room` or `disk`.
        full_text_writes_total: Counters["result"],
        /// Documents of an index.
        index_documents: Gauges["index"],
        /// Chunks of an index.
        index_chunks: Gauges["index"],
        /// Bytes of the texts of an index's documents.
        index_text_bytes: Gauges["index"],
        /// Finished documents of an index's next generation. Absent when none is being built.
        generation_documents: Gauges["index"],
        /// All documents of an index's next generation. Absent when none is being built.
        generation_total_documents: Gauges["index"],
        /// Builds of next generations. `outcome` is `finished`, `abandoned`, or `failed` (an attempt that is retried).
        generations_total: Counters["outcome"],
    }
}

/// The Prometheus metrics of indexes, and their `index` labels.
pub struct IndexMetrics {
    series: Series,
    labels: Arc<IndexLabels>,
}

impl IndexMetrics {
    /// Registers the metrics, at zero.
    ///
    /// # Errors
    ///
    /// If two metrics have the same name, which a test rules out.
    pub fn new(builder: &mut Builder) -> Result<Arc<Self>, Error> {
        Ok(Arc::new(Self { series: Series::new(builder)?, labels: builder.index_labels() }))
    }

    /// The labels of indexes.
    pub fn labels(&self) -> &IndexLabels {
        &self.labels
    }

    /// Counts an attempt to read a snapshot.
    pub fn snapshot_read(&self, result: &str) {
        self.series.index_snapshot_reads_total.with_label_values(&[result]).inc();
    }

    /// Counts an attempt to write a snapshot.
    pub fn snapshot_written(&self, result: &str) {
        self.series.index_snapshot_writes_total.with_label_values(&[result]).inc();
    }

    /// Counts an attempt to read saved full text.
    pub fn full_text_read(&self, result: &str) {
        self.series.full_text_reads_total.with_label_values(&[result]).inc();
    }

    /// Counts an attempt to save full text.
    pub fn full_text_written(&self, result: &str) {
        self.series.full_text_writes_total.with_label_values(&[result]).inc();
    }

    /// Counts a build of a generation that ended.
    pub fn generation_ended(&self, outcome: &str) {
        self.series.generations_total.with_label_values(&[outcome]).inc();
    }

    /// Sets the progress of all builds: index, documents done, documents in total.
    pub fn generations_grow(&self, generations: &[(String, u64, u64)]) {
        let Series { generation_documents, generation_total_documents, .. } = &self.series;
        let mut labelled: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for (name, documents, total) in generations {
            let sum = labelled.entry(self.labels.claimed(name)).or_default();
            *sum = (sum.0 + documents, sum.1 + total);
        }
        generation_documents.reset();
        generation_total_documents.reset();
        for (label, (documents, total)) in labelled {
            generation_documents.with_label_values(&[&label]).set(documents.cast_signed());
            generation_total_documents.with_label_values(&[&label]).set(total.cast_signed());
        }
    }

    /// Sets the sizes of all indexes.
    pub fn sizes_are(&self, indexes: &[(String, IndexSize)]) {
        let Series { index_documents, index_chunks, index_text_bytes, .. } = &self.series;
        let mut labelled: BTreeMap<String, IndexSize> = BTreeMap::new();
        for (name, size) in indexes {
            let sum = labelled.entry(self.labels.claimed(name)).or_default();
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

    /// How many snapshot `reads` or `writes` had a result.
    #[cfg(test)]
    pub(crate) fn snapshots(&self, what: &str, result: &str) -> usize {
        let counters = match what {
            "reads" => &self.series.index_snapshot_reads_total,
            _ => &self.series.index_snapshot_writes_total,
        };
        usize::try_from(counters.with_label_values(&[result]).get()).unwrap()
    }

    /// How many `reads` or `writes` of full text had a result.
    #[cfg(test)]
    pub(crate) fn full_text(&self, what: &str, result: &str) -> usize {
        let counters = match what {
            "reads" => &self.series.full_text_reads_total,
            _ => &self.series.full_text_writes_total,
        };
        usize::try_from(counters.with_label_values(&[result]).get()).unwrap()
    }

    /// Metrics that are not exported.
    #[cfg(test)]
    pub(crate) fn unread() -> Arc<Self> {
        Self::new(&mut Builder::new(std::time::Duration::from_secs(1)).unwrap()).unwrap()
    }
}
