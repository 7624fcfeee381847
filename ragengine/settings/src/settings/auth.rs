use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SecretReference;

/// Who may use the server. Without `modes`, reading and chatting need no token, and writes need the write token if there
/// is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Auth {
    /// The token that every write must carry as `Authorization: Bearer TOKEN`. Not set: writes need no token. A file is
    /// read again while the server runs, so that the token can be changed. With `modes`, its bearer may do everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_token: Option<SecretReference>,
    /// Describes where to find the token. Shown to a client that writes without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_token_source: Option<String>,
    /// How long the previous token remains valid after a change, in seconds.
    pub previous_token_seconds: u64,
    /// How callers prove who they are, as `Authorization: Bearer TOKEN`: `apiKey` (a key of `apiKeysFolder`),
    /// `sessionToken` (a session in `redis`) and `jwt` (signed by an issuer of `jwt`). Empty: every caller is let in, and
    /// there can be no rules in `accessFile`, `defaultAccess` and `indexes`.
    pub modes: Vec<AuthMode>,
    /// The folder of the API keys, such as the volume of a Secret. The name of each file is the key's name, and its
    /// content is the key. Read again every 2 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_keys_folder: Option<PathBuf>,
    /// A YAML file with the rules of indexes, `indexes: {NAME: {read: […], write: […]}}`, instead of `indexes`. Read again
    /// when it changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_file: Option<PathBuf>,
    /// The rules of indexes that have none.
    pub default_access: AccessRules,
    /// The rules of indexes, by name.
    pub indexes: BTreeMap<String, AccessRules>,
    /// The sessions of the mode `sessionToken`.
    pub session_token: SessionToken,
    /// The issuers of the mode `jwt`.
    pub jwt: Vec<JwtIssuer>,
}

impl Default for Auth {
    fn default() -> Self {
        Self {
            write_token: None,
            write_token_source: None,
            previous_token_seconds: 300,
            modes: Vec::new(),
            api_keys_folder: None,
            access_file: None,
            default_access: AccessRules { read: vec!["*".to_owned()], write: Vec::new() },
            indexes: BTreeMap::new(),
            session_token: SessionToken::default(),
            jwt: Vec::new(),
        }
    }
}

/// How callers prove who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AuthMode {
    /// By a key of the folder `apiKeysFolder`. The caller is `key:NAME`.
    ApiKey,
    /// By a session in Redis. The caller is `user:ID`, in the groups `group:NAME`.
    SessionToken,
    /// By a token that an issuer signed. The caller is `user:SUBJECT`, or `serviceAccount:NAMESPACE/NAME` for the
    /// cluster's issuer, in the groups `group:NAME`.
    Jwt,
}

/// Who may use an index. A rule is a caller such as `user:ann`, a group such as `group:staff`,
/// `serviceAccount:NAMESPACE/*`, or `*` for every known caller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AccessRules {
    /// Who may ask, retrieve, list and vote. Rules without it: only those in `write`.
    pub read: Vec<String>,
    /// Who may do that, and change documents, settings and sources.
    pub write: Vec<String>,
}

/// The sessions of other programs in Redis: JSON objects with `user_id`, and if known `groups`, `model_id` and
/// `expires_at`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SessionToken {
    /// The beginning of a session's key, before the token.
    pub key_prefix: String,
}

impl Default for SessionToken {
    fn default() -> Self {
        Self { key_prefix: "session:".to_owned() }
    }
}

/// An issuer of JWTs. Has either `jwksUrl` or `jwksFile`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct JwtIssuer {
    /// The claim `iss` of its tokens.
    pub issuer: String,
    /// What the claim `aud` must contain.
    pub audience: String,
    /// The address of its keys, a JSON Web Key Set. Read again every 300 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks_url: Option<String>,
    /// A file with its keys. Read again when it changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks_file: Option<PathBuf>,
    /// Whether it is the issuer of the cluster's ServiceAccounts.
    pub kubernetes: bool,
}
