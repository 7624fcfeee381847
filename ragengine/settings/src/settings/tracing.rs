use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Traces of requests, for an OpenTelemetry collector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Tracing {
    /// The address of the collector for OTLP over HTTP, such as `http://otel-collector:4318`. Spans go to `v1/traces`
    /// below it. Not set: no traces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otlp_endpoint: Option<String>,
    /// The part of the requests that is traced, from 0 to 1. For a caller that sends a trace context, the context
    /// decides.
    pub sample_ratio: f64,
}

impl Default for Tracing {
    fn default() -> Self {
        Self { otlp_endpoint: None, sample_ratio: 1.0 }
    }
}
