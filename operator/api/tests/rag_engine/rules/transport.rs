//! The rules of traces.

use super::Rule;

pub const RULES: &[Rule] = &[
    ("tracing.sampleRatio needs tracing.otlpEndpoint", "tracing: {}", "tracing: {sampleRatio: 1}"),
    (
        "tracing.sampleRatio needs tracing.otlpEndpoint",
        "tracing: {otlpEndpoint: 'http://otel-collector.observability.svc:4318', sampleRatio: 0.1}",
        "{tracing: {sampleRatio: 0.1}, tls: {secretName: certificate}}",
    ),
    (
        "tracing.otlpEndpoint must be",
        "tracing: {otlpEndpoint: 'https://collector.example/otlp'}",
        "tracing: {otlpEndpoint: 'otel-collector:4318'}",
    ),
    (
        "tracing.otlpEndpoint must be",
        "tracing: {otlpEndpoint: 'http://[::1]:4318/'}",
        "tracing: {otlpEndpoint: 'grpc://otel-collector:4317'}",
    ),
    (
        "tracing.otlpEndpoint must be",
        "tracing: {otlpEndpoint: 'http://collector'}",
        "tracing: {otlpEndpoint: 'http://user:password@collector:4318'}",
    ),
    (
        "tracing.otlpEndpoint must be",
        "tracing: {otlpEndpoint: 'http://10.0.0.1:4318'}",
        "tracing: {otlpEndpoint: 'http://collector:4318/?key=secret'}",
    ),
    (
        "tracing.otlpEndpoint must be",
        "tracing: {otlpEndpoint: 'http://c/a/b'}",
        "tracing: {otlpEndpoint: 'http://c#a'}",
    ),
    ("tracing.otlpEndpoint must be", "tracing: {otlpEndpoint: 'http://c'}", "tracing: {otlpEndpoint: ''}"),
];
