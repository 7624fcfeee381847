use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::rules::bare_url;

/// Traces of requests, for an OpenTelemetry collector.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.sampleRatio) || has(self.otlpEndpoint)").message(
        "tracing.sampleRatio needs tracing.otlpEndpoint: write the address of the collector too, or remove sampleRatio"
    )
)]
pub struct Tracing {
    /// Address of the collector for OTLP over HTTP, such as `http://otel-collector.observability.svc:4318`. Spans go to
    /// `v1/traces` below it. Default: no traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    #[x_kube(validation = bare_url("tracing.otlpEndpoint", "http://otel-collector.observability.svc:4318"))]
    pub otlp_endpoint: Option<String>,
    /// Part of the requests that is traced, from 0 to 1. For a caller that sends a trace context, the context decides.
    /// Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub sample_ratio: Option<f64>,
}
