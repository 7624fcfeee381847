use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{OBJECT_NAME, redis_url};

/// Redis server, for the stores that use one. The names of its keys begin with `ragengine:`. Engines can share a
/// server.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.accessSecret) || has(self.url)")
        .message("redis.accessSecret needs redis.url: write the address of the server too, or remove accessSecret")
)]
pub struct Redis {
    /// URL of the server, such as `redis://HOST:6379`, or `redis://USER@HOST:6379/1` with a user and the number of a
    /// database, without a password. With `rediss://`, the connection is encrypted and the server's certificate is
    /// verified. Default: no server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    #[x_kube(validation = redis_url("redis.url", "redis.accessSecret"))]
    pub url: Option<String>,
    /// Name of a Secret whose key `REDIS_ACCESS_SECRET` is the password. Default: no password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub access_secret: Option<String>,
}
