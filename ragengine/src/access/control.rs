//! Authentication and the rules for indexes, as the settings say.

use std::sync::Arc;

use axum::http::{HeaderMap, header};
use ragengine_access::{
    Access, AccessRules, AuthOptions, Authenticator, Dependency, IssuerOptions, KeysAt, Mode, Refused, RuleTexts, Rules,
};
use ragengine_settings::{self as settings, Auth, AuthMode, JwtIssuer};
use ragengine_stores::SessionTokens;

use super::write_token::bearer;
use super::{Caller, Unauthorized};

/// Who callers are, and what they may do.
pub struct AccessControl {
    authenticator: Authenticator,
    rules: Arc<AccessRules>,
    /// Whether callers must be known. Otherwise only the operator is.
    has_modes: bool,
}

impl AccessControl {
    /// Reads rules and keys. None if the settings have neither modes nor an issuer of the cluster.
    ///
    /// # Errors
    ///
    /// In words, when the settings cannot be used.
    pub async fn open(auth: &Auth, sessions: Option<SessionTokens>) -> Result<Option<Self>, String> {
        let has_cluster = auth.jwt.iter().any(|issuer| issuer.kubernetes);
        if auth.modes.is_empty() && !has_cluster {
            return Ok(None);
        }
        let default =
            Rules::parse(&texts(&auth.default_access)).map_err(|error| format!("auth.defaultAccess.{error}"))?;
        let rules = match &auth.access_file {
            Some(file) => AccessRules::open(file.clone(), default).await,
            None => {
                let indexes: Vec<(String, RuleTexts)> =
                    auth.indexes.iter().map(|(name, rules)| (name.clone(), texts(rules))).collect();
                let indexes = indexes.iter().map(|(name, rules)| (name, rules));
                AccessRules::fixed(Access::of_texts(default, indexes).map_err(|error| format!("auth.{error}"))?)
            }
        };
        let rules = Arc::new(rules);
        let options = AuthOptions {
            modes: auth.modes.iter().map(|mode| mode_of(*mode)).collect(),
            api_keys_folder: auth.api_keys_folder.clone(),
            jwt: auth.jwt.iter().map(issuer).collect(),
        };
        let authenticator =
            Authenticator::open(options, sessions, Arc::clone(&rules)).await.map_err(|error| error.to_string())?;
        Ok(Some(Self { authenticator, rules, has_modes: !auth.modes.is_empty() }))
    }

    /// Determines the caller. `refusal` is the error for writes without the write token.
    pub async fn authenticate(&self, headers: &HeaderMap, refusal: Option<Unauthorized>) -> Caller {
        let sent = headers.get(header::AUTHORIZATION).and_then(|value| bearer(value.as_bytes()));
        let token = sent.and_then(|token| std::str::from_utf8(token).ok());
        let access = self.rules.current();
        match (self.authenticator.authenticate(token).await, access) {
            (Ok(identity), Some(access)) => Caller::known(identity, Some(access)),
            (Ok(_), None) if self.has_modes => Caller::refused(Refused::Unavailable { which: Dependency::Rules }),
            (Err(refused), _) if self.has_modes => Caller::refused(refused),
            (Ok(_) | Err(_), _) => Caller::anonymous(refusal),
        }
    }

    /// Whether rules were read, without which no caller is let in.
    pub fn is_ready(&self) -> bool {
        self.rules.current().is_some() || !self.has_modes
    }

    /// What is wrong with the rules or with keys.
    pub fn problem(&self) -> Option<String> {
        self.authenticator.problem()
    }
}

/// The refusal of callers before rules and keys are read.
pub(super) fn not_loaded() -> Refused {
    Refused::Unavailable { which: Dependency::Rules }
}

fn texts(rules: &settings::AccessRules) -> RuleTexts {
    RuleTexts { read: rules.read.clone(), write: rules.write.clone() }
}

fn mode_of(mode: AuthMode) -> Mode {
    match mode {
        AuthMode::ApiKey => Mode::ApiKey,
        AuthMode::SessionToken => Mode::SessionToken,
        AuthMode::Jwt => Mode::Jwt,
    }
}

fn issuer(issuer: &JwtIssuer) -> IssuerOptions {
    let keys = match (&issuer.jwks_file, &issuer.jwks_url) {
        (Some(file), _) => KeysAt::File(file.clone()),
        (None, url) => KeysAt::Url(url.clone().unwrap_or_default()),
    };
    IssuerOptions {
        issuer: issuer.issuer.clone(),
        audience: issuer.audience.clone(),
        keys,
        kubernetes: issuer.kubernetes,
    }
}
