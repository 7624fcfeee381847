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

/// The field must be the address of a PostgreSQL database. The server supports more parameters: `host` and `port` are
/// not allowed, because the annotation of a Secret restricts the host that the password is sent to.
pub(crate) fn postgres_url(field: &str, secret: &str) -> Rule {
    let message = format!(
        "{field} must be postgres://USER@HOST:5432/DATABASE, without a password and with no other parameters than \
         sslmode, sslrootcert, sslcert, sslkey and application_name: for example \
         postgres://rag@postgres.db.svc/rag?sslmode=verify-full. Name a Secret with the password in {secret}."
    );
    Rule::new(
        "self.matches('^postgres(ql)?://([^:/?#@[:space:]]+@)?([A-Za-z0-9._-]+|\\\\[[0-9A-Fa-f:.]+\\\\])(:[0-9]{1,5})?(/[^?#]*)?\
         ([?]((sslmode=(disable|allow|prefer|require|verify-ca|verify-full)|\
         (sslrootcert|sslcert|sslkey|application_name)=[^&#]*)(&|$))*)?$')",
    )
    .message(message.as_str())
}

/// The store of a section of the specification needs a database if it is `postgres`.
pub(crate) fn store_needs_database(section: &str) -> Rule {
    let message = format!(
        "{section}.store: postgres needs postgres.url: write the address of the database there, such as \
         postgres://rag@postgres.db.svc/rag, or store: redb"
    );
    Rule::new(format!(
        "!has(self.{section}) || !has(self.{section}.store) || self.{section}.store != 'postgres' || \
         (has(self.postgres) && has(self.postgres.url))"
    ))
    .message(message.as_str())
}

/// The model of a section must be one that clients may request, if they may not request all. `exception` is the CEL
/// condition under which the model is not at `inferenceService.url`.
pub(crate) fn model_is_allowed(section: &str, exception: Option<&str>) -> Rule {
    let model = format!("self.{section}.model");
    let exception = exception.map(|exception| format!("{exception} || ")).unwrap_or_default();
    let message = format!(
        "{section}.model must be in inferenceService.models: add it there, or leave that list empty to allow every model"
    );
    Rule::new(format!(
        "!has(self.{section}) || !has({model}) || {exception}!has(self.inferenceService) || \
         !has(self.inferenceService.models) || self.inferenceService.models.size() == 0 || \
         (has(self.inferenceService.model) && self.inferenceService.model == {model}) || \
         {model} in self.inferenceService.models"
    ))
    .message(message.as_str())
}
