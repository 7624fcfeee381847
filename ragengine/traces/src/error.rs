use opentelemetry_otlp::ExporterBuildError;

/// Why traces cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum TracesError {
    /// The address cannot be used, or no connection can be prepared.
    #[error("traces cannot be sent to {endpoint}: {cause}")]
    Exporter {
        /// The address of the collector.
        endpoint: String,
        /// The cause.
        cause: ExporterBuildError,
    },
}

impl TracesError {
    /// A short name.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Exporter { .. } => "exporter",
        }
    }
}
