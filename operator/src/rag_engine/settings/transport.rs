//! TLS on the server's port, and the collector of traces.

use std::path::PathBuf;

use ragengine_operator_api::{TLS_CERTIFICATE, TLS_KEY, Tls, Tracing};
use ragengine_settings as settings;

use super::access::secret_folder;

/// The name of the volume with the certificate and its key.
pub const TLS: &str = "server-tls";

/// The folder of the certificate and its key. The server reads them again when they change.
pub fn tls_folder() -> PathBuf {
    secret_folder(TLS)
}

pub(super) fn tls(tls: Option<&Tls>) -> settings::Tls {
    let file = |key: &str| tls.map(|_| tls_folder().join(key));
    settings::Tls { certificate_file: file(TLS_CERTIFICATE), key_file: file(TLS_KEY) }
}

pub(super) fn tracing(tracing: Option<&Tracing>) -> settings::Tracing {
    let Tracing { otlp_endpoint, sample_ratio } = tracing.cloned().unwrap_or_default();
    let defaults = settings::Tracing::default();
    settings::Tracing { otlp_endpoint, sample_ratio: sample_ratio.unwrap_or(defaults.sample_ratio) }
}
