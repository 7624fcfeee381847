//! What several fields have in common.

use kube::core::Rule;

/// The name of an object in the same namespace: a Secret, a PersistentVolumeClaim, a storage class.
pub(crate) const OBJECT_NAME: &str = "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$";

/// The field holds the URL of a service that is asked over HTTP. A URL with a password would be a secret in a ConfigMap.
pub(crate) fn http_url(field: &str, example: &str) -> Rule {
    Rule::new("isURL(self) && self.matches('^https?://[^/?#@]+([/?#].*)?$')").message(
        format!("{field} must be a http:// or https:// URL with a host, and without a user or password: for example {example}. A key goes into a Secret.").as_str(),
    )
}

/// The field holds the folder that a volume is mounted at.
pub(crate) fn mount_path(field: &str) -> Rule {
    Rule::new("self.matches('^(/[A-Za-z0-9_-][A-Za-z0-9._-]*)+$')")
        .message(format!("{field} must be an absolute path below /: for example /mnt/data").as_str())
}
