use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SecretReference;

/// Events about the questions and answers of `/query` and `/chat`, published on RabbitMQ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Events {
    /// The address, such as `amqp://USER@HOST:5672` or `amqps://USER@HOST:5671/VIRTUAL_HOST`, without a password. Not set:
    /// no events are published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The user's password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<SecretReference>,
    /// The topic exchange. The server declares it, durable. 1 to 127 bytes.
    pub exchange: String,
}

impl Default for Events {
    fn default() -> Self {
        Self { url: None, password: None, exchange: "ragengine".to_owned() }
    }
}
