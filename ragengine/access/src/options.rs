use std::path::PathBuf;

use crate::IssuerOptions;

/// A way to authenticate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// A key of a folder.
    ApiKey,
    /// A token of a session in Redis.
    SessionToken,
    /// A token that an issuer signed.
    Jwt,
}

impl Mode {
    /// The tokens of this mode, for people.
    fn tokens(self) -> &'static str {
        match self {
            Self::ApiKey => "an API key",
            Self::SessionToken => "a session token",
            Self::Jwt => "a JWT of a known issuer",
        }
    }
}

/// How callers are authenticated.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuthOptions {
    /// `auth.modes`. Their order does not matter.
    pub modes: Vec<Mode>,
    /// `auth.apiKeysFolder`, which the mode `apiKey` needs.
    pub api_keys_folder: Option<PathBuf>,
    /// `auth.jwt`, which the mode `jwt` needs. Without it, only the cluster's issuer counts, for the operator.
    pub jwt: Vec<IssuerOptions>,
}

impl AuthOptions {
    /// Whether this mode is on.
    pub(crate) fn has(&self, mode: Mode) -> bool {
        self.modes.contains(&mode)
    }

    /// The tokens that are taken, for people.
    pub(crate) fn accepted(&self) -> String {
        let kinds = [Mode::ApiKey, Mode::SessionToken, Mode::Jwt].into_iter().filter(|mode| self.has(*mode));
        let kinds: Vec<&str> = kinds.map(Mode::tokens).collect();
        match kinds.split_last() {
            None => "a token of the operator".to_owned(),
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
        }
    }
}

/// The options of authentication cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// The mode `apiKey` has no folder.
    #[error("auth.modes has apiKey: set auth.apiKeysFolder to the folder of the keys")]
    NoFolder,
    /// The mode `sessionToken` has no Redis server.
    #[error("auth.modes has sessionToken: set redis.url to the server with the sessions")]
    NoSessions,
    /// The mode `jwt` has no issuer.
    #[error("auth.modes has jwt: set auth.jwt to the issuers, each with issuer, audience, and jwksUrl or jwksFile")]
    NoIssuer,
    /// An issuer or its audience is no usable text.
    #[error("auth.jwt: issuer and audience must not be empty, and must have no control characters")]
    Issuer,
    /// An audience is that of the operator.
    #[error("auth.jwt: the audience ragengine-operator is the operator's: choose another one for this server")]
    Audience,
    /// An issuer is there twice.
    #[error("auth.jwt has the issuer {0} twice: join both")]
    TwoIssuers(String),
    /// There are two clusters.
    #[error("auth.jwt: only one issuer may have kubernetes: true")]
    TwoClusters,
    /// There are too many issuers.
    #[error("auth.jwt has too many issuers")]
    TooManyIssuers,
    /// The address of an issuer's keys is invalid. It is not quoted.
    #[error("auth.jwt: jwksUrl must be an address such as https://HOST/jwks.json, without a password")]
    KeysUrl,
    /// The client for addresses cannot be made.
    #[error("auth.jwt: the client cannot be made: {0}")]
    Client(String),
}
