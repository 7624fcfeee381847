use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{OBJECT_NAME, amqp_url};

/// Events about questions and answers, published on RabbitMQ. `endpoints` says for which.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.accessSecret) || has(self.url)")
        .message("events.accessSecret needs events.url: write the address of the server too, or remove accessSecret")
)]
pub struct Events {
    /// URL of the server, such as `amqp://USER@HOST:5672`, or `amqps://USER@HOST:5671/VIRTUAL_HOST`, without a password.
    /// With `amqps://`, the connection is encrypted and the server's certificate is verified. Default: no events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    #[x_kube(validation = amqp_url("events.url", "events.accessSecret"))]
    pub url: Option<String>,
    /// Name of a Secret whose key `RABBITMQ_ACCESS_SECRET` is the user's password. Default: no password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub access_secret: Option<String>,
    /// Topic exchange that events are published on. The server declares it as durable. Default: `ragengine`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 127), regex(pattern = r"^[A-Za-z0-9_.:-]+$"))]
    #[x_kube(
        validation = Rule::new("!self.startsWith('amq.')").message(
            "events.exchange must not begin with amq., which RabbitMQ reserves: write another name, such as ragengine"
        )
    )]
    pub exchange: Option<String>,
}
