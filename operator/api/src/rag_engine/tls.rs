use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::OBJECT_NAME;

/// TLS on port 80 of the Service. The port for metrics stays plain HTTP. `ingress` then needs the annotation of its
/// controller for backends with TLS, and `httpRoute` a BackendTLSPolicy for the Service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tls {
    /// Name of a Secret of the type `kubernetes.io/tls`: `tls.crt` is the certificate for `NAME.NAMESPACE.svc` and
    /// `NAME.NAMESPACE.svc.cluster.local`, with those of its issuers, `tls.key` its key, and the optional `ca.crt` the
    /// authority that the Jobs of Indexes trust. A renewed certificate needs no restart.
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub secret_name: String,
}
