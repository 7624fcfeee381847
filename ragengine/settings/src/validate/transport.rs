//! TLS on the server's port, the collector of traces, and the place of the first backup.

use super::{Invalid, is_http};
use crate::Settings;

/// What is wrong with `tls`, `tracing` and `bootstrap`.
pub(super) fn check(settings: &Settings) -> impl Iterator<Item = Invalid> {
    let (tls, tracing) = (&settings.tls, &settings.tracing);
    let endpoint = tracing.otlp_endpoint.as_deref();
    let checks = [
        (
            tls.certificate_file.is_some() == tls.key_file.is_some(),
            "tls",
            "must have both certificateFile and keyFile, or neither",
        ),
        (
            endpoint.is_none_or(is_http),
            "tracing.otlpEndpoint",
            "must begin with http:// or https://, such as http://otel-collector:4318",
        ),
        (
            endpoint.is_none_or(|endpoint| !endpoint.contains(['@', '?', '#'])),
            "tracing.otlpEndpoint",
            "must have no user name, password, query or fragment",
        ),
        ((0.0..=1.0).contains(&tracing.sample_ratio), "tracing.sampleRatio", "must be between 0 and 1"),
    ];
    let restore = settings.bootstrap.restore.as_ref();
    let place = restore.and_then(|restore| restore.place.check().err());
    let place = place.map(|message| (false, "bootstrap.restore.place", message));
    checks
        .into_iter()
        .chain(place)
        .filter(|(is_valid, ..)| !is_valid)
        .map(|(_, setting, message)| Invalid { setting: setting.to_owned(), message: message.to_owned() })
}
