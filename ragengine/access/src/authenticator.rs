//! Finds out who a caller is, by the bearer token of the request.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use ragengine_stores::{SessionTokens, StoreError};
use tracing::{debug, warn};

use crate::clock::now_s;
use crate::jwt::{Jwt, Outcome, Verified};
use crate::problem::{Change, Problem};
use crate::session::{SessionError, read_session};
use crate::{AccessRules, ApiKeys, AuthError, AuthOptions, Dependency, Identity, Mode, Refused, Standing};

/// Authenticates callers. It has background tasks, which end with it.
pub struct Authenticator {
    api_keys: Option<ApiKeys>,
    sessions: Option<Sessions>,
    jwt: Option<Jwt>,
    /// Whether tokens of issuers count for others than the operator.
    has_jwt_mode: bool,
    access: Arc<AccessRules>,
    accepted: Arc<str>,
}

struct Sessions {
    tokens: SessionTokens,
    /// Values in Redis that are no sessions.
    damage: Problem,
}

impl Authenticator {
    /// Reads keys, for which it waits some seconds at most. Must be called in a tokio runtime.
    ///
    /// `sessions` are those of the mode `sessionToken`. `access` names the operator, whose tokens count whatever the
    /// modes are.
    ///
    /// # Errors
    ///
    /// [`AuthError`].
    pub async fn open(
        options: AuthOptions,
        sessions: Option<SessionTokens>,
        access: Arc<AccessRules>,
    ) -> Result<Self, AuthError> {
        let accepted = options.accepted().into();
        let [has_api_keys, has_sessions, has_jwt_mode] =
            [Mode::ApiKey, Mode::SessionToken, Mode::Jwt].map(|mode| options.has(mode));
        if has_jwt_mode && options.jwt.is_empty() {
            return Err(AuthError::NoIssuer);
        }
        let folder = has_api_keys.then(|| options.api_keys_folder.ok_or(AuthError::NoFolder)).transpose()?;
        let sessions = has_sessions.then(|| sessions.ok_or(AuthError::NoSessions)).transpose()?;
        let issuers: Vec<_> = options.jwt.into_iter().filter(|issuer| has_jwt_mode || issuer.kubernetes).collect();
        let jwt = if issuers.is_empty() { None } else { Some(Jwt::open(issuers).await?) };
        let api_keys = match folder {
            Some(folder) => Some(ApiKeys::open(folder).await),
            None => None,
        };
        let sessions = sessions.map(|tokens| Sessions { tokens, damage: Problem::default() });
        Ok(Self { api_keys, sessions, jwt, has_jwt_mode, access, accepted })
    }

    /// Who sends a request with this bearer token, the text after `Bearer `. The server tries the write token before.
    ///
    /// # Errors
    ///
    /// [`Refused`].
    pub async fn authenticate(&self, bearer: Option<&str>) -> Result<Identity, Refused> {
        let token = bearer.map(str::trim_ascii).filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| Refused::Missing { accepted: Arc::clone(&self.accepted) })?;
        let mut unavailable = None;
        match self.api_keys.as_ref().map(|keys| keys.check(token)) {
            Some(Ok(Some(principal))) => return Ok(Identity::of(principal)),
            Some(Ok(None)) | None => {}
            Some(Err(_)) => unavailable = Some(Dependency::ApiKeys),
        }
        // A token that names an issuer is no session token. It is not sent to Redis, which may log it.
        let outcome = match &self.jwt {
            Some(jwt) => jwt.verify(token).await,
            None => Outcome::NotOurs,
        };
        let known = match outcome {
            Outcome::NotOurs => self.of_session(token).await,
            Outcome::Verified(verified) => self.of_jwt(&verified),
            Outcome::Expired => Err(Why::Expired),
            Outcome::NoKeys => Err(Why::Unavailable(Dependency::IssuerKeys)),
            Outcome::Refused(reason) => {
                debug!(reason, "a JWT is refused");
                Err(Why::Unknown)
            }
        };
        known.map_err(|why| match (why, unavailable) {
            (Why::Expired, _) => Refused::Expired,
            (Why::Unavailable(which), _) | (Why::Unknown, Some(which)) => Refused::Unavailable { which },
            (Why::Unknown, None) => Refused::Unknown { accepted: Arc::clone(&self.accepted) },
        })
    }

    /// What is wrong now, in words for people and without secrets. None if all keys were read at the last attempt.
    /// Redis has its own.
    pub fn problem(&self) -> Option<String> {
        let problems = self.api_keys.as_ref().and_then(ApiKeys::problem).into_iter();
        let problems = problems.chain(self.jwt.iter().flat_map(Jwt::problems)).chain(self.access.problem());
        let problems: Vec<String> = problems.collect();
        (!problems.is_empty()).then(|| problems.join("; "))
    }

    fn of_jwt(&self, verified: &Verified) -> Result<Identity, Why> {
        if verified.is_for_operator {
            let access = self.access.current();
            let is_operator =
                access.as_ref().map(|access| access.operator.as_ref() == Some(&verified.identity.principal));
            match is_operator {
                Some(true) => return Ok(Identity { standing: Standing::Operator, ..verified.identity.clone() }),
                None if !verified.is_for_server => return Err(Why::Unavailable(Dependency::Rules)),
                Some(false) | None => {}
            }
        }
        let is_caller = verified.is_for_server && self.has_jwt_mode;
        if is_caller { Ok(verified.identity.clone()) } else { Err(Why::Unknown) }
    }

    async fn of_session(&self, token: &str) -> Result<Identity, Why> {
        let Some(Sessions { tokens, damage }) = &self.sessions else { return Err(Why::Unknown) };
        let value = match tokens.look_up(token).await {
            Ok(Some(value)) => value,
            Ok(None) => return Err(Why::Unknown),
            Err(StoreError::Damaged(words)) => return Err(damaged(damage, &words)),
            Err(_) => return Err(Why::Unavailable(Dependency::Sessions)),
        };
        match read_session(&value, now_s()) {
            Ok(identity) => {
                damage.set(None);
                Ok(identity)
            }
            Err(SessionError::Expired) => Err(Why::Expired),
            Err(SessionError::Malformed(words)) => Err(damaged(damage, words)),
        }
    }
}

/// Why a token is refused.
enum Why {
    Unknown,
    Expired,
    Unavailable(Dependency),
}

/// Refuses a token whose value is no session. The log has it once.
fn damaged(damage: &Problem, words: &str) -> Why {
    if damage.set(Some(words)) == Change::Began {
        warn!(problem = words, "a session in Redis is refused: another program writes it otherwise than expected");
    }
    Why::Unknown
}
