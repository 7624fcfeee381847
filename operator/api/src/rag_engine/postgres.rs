use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{OBJECT_NAME, postgres_url};

/// PostgreSQL database, for the stores that use one. The server creates its tables, whose names begin with
/// `ragengine_`. Engines can share a database.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.accessSecret) || has(self.url)").message(
        "postgres.accessSecret needs postgres.url: write the address of the database too, or remove accessSecret"
    )
)]
pub struct Postgres {
    /// URL of the database, such as `postgres://USER@HOST:5432/DATABASE`, without a password. Connections are encrypted
    /// and the server's certificate is verified with `?sslmode=verify-full`. Default: no database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    #[x_kube(validation = postgres_url("postgres.url", "postgres.accessSecret"))]
    pub url: Option<String>,
    /// Name of a Secret whose key `POSTGRES_ACCESS_SECRET` is the user's password. Default: no password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub access_secret: Option<String>,
}
