//! Patterns and CEL rules that several fields share.

use kube::core::Rule;

/// Pattern of the name of a Kubernetes object, such as a Secret, a PersistentVolumeClaim or a storage class.
pub(crate) const OBJECT_NAME: &str = "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$";

/// The field must be an HTTP URL. Users and passwords are rejected because the URL is stored in a ConfigMap.
pub(crate) fn http_url(field: &str, example: &str) -> Rule {
    let message = format!(
        "{field} must be an http:// or https:// URL with a host and without a user or password: for example {example}. \
         Put keys and passwords into a Secret."
    );
    Rule::new("isURL(self) && self.matches('^https?://[^/?#@]+([/?#].*)?$')").message(message.as_str())
}

/// The field must be a path that a volume can be mounted at.
pub(crate) fn mount_path(field: &str) -> Rule {
    Rule::new("self.matches('^(/[A-Za-z0-9_-][A-Za-z0-9._-]*)+$')")
        .message(format!("{field} must be an absolute path below /: for example /mnt/data").as_str())
}
