//! Patterns and CEL rules that several fields share.

pub(crate) mod external;
pub(crate) mod several;

use kube::core::Rule;

/// Pattern of the name of a Kubernetes object, such as a Secret, a PersistentVolumeClaim or a storage class.
pub(crate) const OBJECT_NAME: &str = "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$";

/// Pattern of the name of an index in an engine.
pub(crate) const INDEX_NAME: &str = "^[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?$";

/// Pattern of the name of a host, without wildcards.
pub(crate) const DOMAIN: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// The field must be an HTTP URL. Users and passwords are rejected because the URL is stored in a ConfigMap.
pub(crate) fn http_url(field: &str, example: &str) -> Rule {
    let message = format!(
        "{field} must be an http:// or https:// URL with a host and without a user or password: for example {example}. \
         Put keys and passwords into a Secret."
    );
    Rule::new("isURL(self) && self.matches('^https?://[^/?#@]+([/?#].*)?$')").message(message.as_str())
}

/// The field must be the address of a server, to which paths are added. Users and passwords are rejected as in
/// [`http_url`].
pub(crate) fn bare_url(field: &str, example: &str) -> Rule {
    let message = format!(
        "{field} must be an http:// or https:// URL with a host and without a user, password, query or fragment: for \
         example {example}"
    );
    Rule::new("isURL(self) && self.matches('^https?://[^/?#@]+(/[^?#@]*)?$')").message(message.as_str())
}

/// The field must be the path of an ONNX file in a model's repository.
pub(crate) fn onnx_file(field: &str) -> Rule {
    Rule::new("self.matches('^([A-Za-z0-9_-][A-Za-z0-9._-]*/){0,3}[A-Za-z0-9_-][A-Za-z0-9._-]*[.]onnx$')").message(
        format!("{field} must be the path of an ONNX file in the model's repository: for example onnx/model_int8.onnx")
            .as_str(),
    )
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

/// The field must be the address of a Redis server. No parameters are allowed, because some weaken the encryption.
pub(crate) fn redis_url(field: &str, secret: &str) -> Rule {
    let message = format!(
        "{field} must be redis://HOST:6379 or redis://USER@HOST:6379/1, or the same with rediss:// to encrypt \
         the connection, without a password and without parameters: for example {}. Name a Secret with the password in \
         {secret}.",
        REDIS.1
    );
    Rule::new(
        "self.matches('^rediss?://([^:/?#@[:space:]]+@)?\
         ([A-Za-z0-9._-]+|\\\\[[0-9A-Fa-f:.]+\\\\])(:[0-9]{1,5})?(/[0-9]{0,5})?$')",
    )
    .message(message.as_str())
}

/// The field must be the address of a RabbitMQ server. No parameters are allowed, because some weaken the encryption.
pub(crate) fn amqp_url(field: &str, secret: &str) -> Rule {
    let message = format!(
        "{field} must be amqp://USER@HOST:5672 or amqp://USER@HOST:5672/VIRTUAL_HOST, or the same with amqps:// to \
         encrypt the connection, without a password and without parameters: for example \
         amqp://rag@rabbitmq.events.svc:5672. Name a Secret with the password in {secret}."
    );
    Rule::new(
        "self.matches('^amqps?://([^:/?#@[:space:]]+@)?\
         ([A-Za-z0-9._-]+|\\\\[[0-9A-Fa-f:.]+\\\\])(:[0-9]{1,5})?(/[^/?#[:space:]]*)?$')",
    )
    .message(message.as_str())
}

/// The passages of an endpoint must have numbers if its answers cite them. `is_cited` is the CEL condition for it.
pub(crate) fn citations_need_numbers(endpoint: &str, is_cited: &str) -> Rule {
    let message = format!(
        "endpoints.{endpoint}.contextFormat must not be source beside citations: true, because answers cite numbers: \
         write contextFormat: numbered, or citations: false"
    );
    Rule::new(format!("!has(self.contextFormat) || self.contextFormat != 'source' || !{is_cited}"))
        .message(message.as_str())
}

/// A section that lets clients from outside in needs authentication.
pub(crate) fn outside_needs_auth(section: &str) -> Rule {
    let message = format!(
        "{section} needs auth.modes, because everybody outside of the cluster could read the documents: write modes, such \
         as auth: {{modes: [jwt]}}, or allowAnonymous: true"
    );
    Rule::new(format!(
        "!has(self.{section}) || (has(self.allowAnonymous) && self.allowAnonymous) || \
         (has(self.auth) && has(self.auth.modes) && self.auth.modes.size() > 0)"
    ))
    .message(message.as_str())
}

/// Stores in a database: their name, which is also that of the section with the address, and an example of an address.
pub(crate) const POSTGRES: (&str, &str) = ("postgres", "postgres://rag@postgres.db.svc/rag");

/// Stores in a Redis server, like [`POSTGRES`].
pub(crate) const REDIS: (&str, &str) = ("redis", "redis://redis.cache.svc:6379");

/// The store of a section of the specification needs an address if it is this one. `other` needs none.
pub(crate) fn store_needs_url(section: &str, (store, example): (&str, &str), other: &str) -> Rule {
    let message = format!(
        "{section}.store: {store} needs {store}.url: write the address there, such as {example}, or store: {other}"
    );
    Rule::new(format!(
        "!has(self.{section}) || !has(self.{section}.store) || self.{section}.store != '{store}' || \
         (has(self.{store}) && has(self.{store}.url))"
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
