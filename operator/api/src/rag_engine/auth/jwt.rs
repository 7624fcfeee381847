use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::rules::http_url;

/// An issuer of JSON Web Tokens. A caller is `user:SUBJECT`, in the groups of the claim `groups`.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JwtIssuer {
    /// Claim `iss` of its tokens.
    #[schemars(length(min = 1, max = 200), regex(pattern = r"^[!-~]+$"))]
    pub issuer: String,
    /// Value that the claim `aud` must contain.
    #[schemars(length(min = 1, max = 200), regex(pattern = r"^[!-~]+$"))]
    #[x_kube(
        validation = Rule::new("self != 'ragengine-operator'").message(
            "auth.jwt[].audience must not be ragengine-operator, which tokens of the operator have: write the audience \
             that the issuer puts into tokens for this server"
        )
    )]
    pub audience: String,
    /// URL of its keys, a JSON Web Key Set. Read again every 300 seconds.
    #[schemars(length(min = 1, max = 2048))]
    #[x_kube(validation = http_url("auth.jwt[].jwksUrl", "https://login.example/keys"))]
    pub jwks_url: String,
}
