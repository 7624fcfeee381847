//! The Prometheus metrics of requests to the vector database.

use ragengine_metrics::metrics;

metrics! {
    /// The Prometheus metrics of requests to the vector database.
    pub struct VectorDatabaseMetrics: "" {
        /// Requests to the vector database, each attempt of its own. `operation` is `query` (a search, a list or a
        /// count), `write`, `read` (an object), `delete`, or `schema`. `outcome` is `done`, or the kind of the error,
        /// such as `unreachable`, `timeout`, `unavailable` or `refused`.
        pub(crate) vector_engine_requests_total: Counters["operation", "outcome"],
        /// Seconds of requests to the vector database, with further attempts and the waits between them.
        pub(crate) vector_engine_request_seconds: Durations["operation"],
        /// 1 while a replica of Weaviate misses writes: writes then wait for a majority, and searches may miss new
        /// documents. 0 when all replicas have done the last write that was sent to all.
        pub(crate) vector_engine_replica_missing: Gauge[],
    }
}
