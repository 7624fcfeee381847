mod access;
mod jwt;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use access::{AccessRules, DefaultAccess, is_access_rule};
pub use jwt::JwtIssuer;

use crate::rules::OBJECT_NAME;

/// Access control of the server.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new(
        "!has(self.modes) || !self.modes.exists(mode, mode == 'apiKey') || has(self.apiKeysSecret)"
    )
    .message(
        "auth.modes: apiKey needs auth.apiKeysSecret: name a Secret whose values are the keys, such as apiKeysSecret: \
         keys, or remove the mode"
    ),
    validation = Rule::new("!has(self.modes) || self.modes.size() == 0 || self.writes != 'open'").message(
        "auth.modes cannot be used with auth.writes: open, because callers would be known and everybody could write: \
         write writes: token, and who may write into defaultAccess or into access of an Index"
    ),
)]
pub struct Auth {
    /// Who may write documents. `token`: clients that send the token of the Secret `NAME-write` (key `token`) as
    /// `Authorization: Bearer`. `open`: every client that can reach the Service. With `modes`, the token may do
    /// everything, and others what the rules say. Default: `token`.
    #[serde(default)]
    pub writes: Writes,
    /// How callers prove who they are, as `Authorization: Bearer`: `apiKey` (a key of `apiKeysSecret`), `sessionToken` (a
    /// session in the server of `redis`) and `jwt` (a token of a ServiceAccount of the cluster for the audience
    /// `http://NAME.NAMESPACE.svc`, or of an issuer in `jwt`). Default: none, and everybody may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 3))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub modes: Vec<AuthMode>,
    /// Name of a Secret with API keys: each of its keys is the name of a caller `key:NAME`, and the value is the API key.
    /// A change needs no restart. Required with the mode `apiKey`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub api_keys_secret: Option<String>,
    /// Rules of indexes that no Index with `access` fills.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_access: Option<DefaultAccess>,
    /// Sessions of the mode `sessionToken`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_token: Option<SessionToken>,
    /// Further issuers of tokens of the mode `jwt`. Ids and groups of all of them are one set of names: list issuers of
    /// one directory only. The cluster's issuer is always there. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    // The server has at most 20 issuers, and one is the cluster's.
    #[schemars(length(max = 19))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["issuer".into()]))]
    pub jwt: Vec<JwtIssuer>,
}

/// Who may write documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Writes {
    /// Clients that send the token of the Secret `NAME-write` (key `token`) as `Authorization: Bearer`. The operator
    /// creates the Secret if it does not exist.
    #[default]
    Token,
    /// Every client that can reach the Service. Any pod of the cluster can then change the answers.
    Open,
}

/// How callers prove who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AuthMode {
    /// By an API key.
    ApiKey,
    /// By a session in Redis.
    SessionToken,
    /// By a token that an issuer signed.
    Jwt,
}

/// Sessions of other programs in the server of `redis`: JSON objects with `user_id`, and if known `groups`, `model_id`
/// and `expires_at`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionToken {
    /// Beginning of a session's key, before the token. Default: `session:`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200), regex(pattern = r"^[!-~]+$"))]
    pub key_prefix: Option<String>,
}
