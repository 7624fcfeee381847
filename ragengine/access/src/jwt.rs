//! JSON Web Tokens (RFC 7519) of configured issuers.

mod cache;
mod claims;
mod issuer_keys;
mod key_set;
mod key_source;
mod ring_provider;
#[cfg(test)]
pub(crate) mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation, decode, decode_header};

use self::cache::{Cache, Entry, TokenHash};
pub(crate) use self::claims::Verified;
use self::claims::{Claims, IssuerOnly};
use self::issuer_keys::{Current, IssuerKeys, Pace};
use self::key_set::NoKey;
use self::key_source::KeySource;
use crate::AuthError;
use crate::clock::now_s;

/// The audience of the tokens that the operator sends.
pub const OPERATOR_AUDIENCE: &str = "ragengine-operator";

/// The longest token, in bytes. Longer ones are not even parsed.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// Clocks may differ so much, in seconds.
const LEEWAY_S: u64 = 30;

/// The issuers at most.
const MAX_ISSUERS: usize = 20;

/// The keys that are tried at most, when several have the token's `kid`.
const MAX_TRIALS: usize = 4;

/// An issuer of JWTs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerOptions {
    /// The claim `iss` of its tokens.
    pub issuer: String,
    /// What the claim `aud` must include.
    pub audience: String,
    /// Where its public keys are.
    pub keys: KeysAt,
    /// Whether it is the API server of the cluster, whose subjects may be service accounts.
    pub kubernetes: bool,
}

/// Where the public keys of an issuer are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeysAt {
    /// A file, which is read again when it changes.
    File(PathBuf),
    /// An address that begins with `http://` or `https://`, which is read again every 300 s.
    Url(String),
}

/// Verifies tokens of some issuers.
pub(crate) struct Jwt {
    issuers: Vec<Issuer>,
    cache: Cache,
}

struct Issuer {
    options: IssuerOptions,
    keys: IssuerKeys,
}

/// What a text is as a JWT.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is not a JWT, or names an unknown issuer.
    NotOurs,
    /// It is right.
    Verified(Arc<Verified>),
    /// It is right, but has expired.
    Expired,
    /// It is wrong. The text says why, without quoting it.
    Refused(&'static str),
    /// No keys of its issuer have been read yet.
    NoKeys,
}

impl Jwt {
    /// Begins to read the keys of the issuers. Must be called in a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`AuthError`] if an issuer's options cannot be used.
    pub async fn open(issuers: Vec<IssuerOptions>) -> Result<Self, AuthError> {
        Self::with_pace(issuers, Pace::default()).await
    }

    async fn with_pace(issuers: Vec<IssuerOptions>, pace: Pace) -> Result<Self, AuthError> {
        ring_provider::install();
        check(&issuers)?;
        let sources: Vec<_> = issuers.iter().map(|options| KeySource::new(&options.keys)).collect::<Result<_, _>>()?;
        // All at once, because the server waits for it.
        let opening: Vec<_> = issuers
            .iter()
            .zip(sources)
            .map(|(options, source)| tokio::spawn(IssuerKeys::open(options.issuer.clone(), source, pace)))
            .collect();
        let mut opened = Vec::new();
        for (options, keys) in issuers.into_iter().zip(opening) {
            let keys = keys.await.map_err(|error| AuthError::Client(error.to_string()))?;
            opened.push(Issuer { options, keys });
        }
        Ok(Self { issuers: opened, cache: Cache::default() })
    }

    /// What is wrong with the keys of the issuers now, in words for people.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        self.issuers.iter().filter_map(|issuer| issuer.keys.problem())
    }

    /// Checks a token.
    pub async fn verify(&self, token: &str) -> Outcome {
        if token.len() > MAX_TOKEN_BYTES || token.bytes().filter(|byte| *byte == b'.').count() != 2 {
            return Outcome::NotOurs;
        }
        let hash = cache::hash(token);
        if let Some(verified) = self.remembered(&hash) {
            return Outcome::Verified(verified);
        }
        let Ok(IssuerOnly { iss }) = insecure_decode_claims(token) else { return Outcome::NotOurs };
        let Some(place) = self.issuers.iter().position(|issuer| issuer.options.issuer == iss) else {
            return Outcome::NotOurs;
        };
        // Headers with keys, or with addresses of keys, are read and mean nothing.
        let Ok(header) = decode_header(token) else {
            return Outcome::Refused("its header is not that of a token that is signed with a public key's algorithm");
        };
        if let Some(reason) = refuse(&header) {
            return Outcome::Refused(reason);
        }
        let issuer = &self.issuers[place];
        match issuer.verify(token, &header).await {
            Ok((verified, expires_at_s, generation)) => {
                let verified = Arc::new(verified);
                let entry = Entry { verified: Arc::clone(&verified), expires_at_s, issuer: place, generation };
                self.cache.keep(hash, entry, now_s());
                Outcome::Verified(verified)
            }
            Err(outcome) => outcome,
        }
    }

    /// A token that was verified with the keys that still hold.
    fn remembered(&self, hash: &TokenHash) -> Option<Arc<Verified>> {
        let entry = self.cache.get(hash, now_s())?;
        let current = self.issuers[entry.issuer].keys.current();
        if current.is_some_and(|current| current.generation == entry.generation) {
            return Some(entry.verified);
        }
        self.cache.forget(hash);
        None
    }
}

impl Issuer {
    /// What a token says, when it expires (in seconds since 1970), and the generation of the keys.
    async fn verify(&self, token: &str, header: &Header) -> Result<(Verified, f64, u64), Outcome> {
        let Some(mut current) = self.keys.current() else { return Err(Outcome::NoKeys) };
        let id = header.kid.as_deref();
        if current.keys.select(id, header.alg).is_err_and(|error| error == NoKey::UnknownId) {
            self.keys.refresh().await;
            current = self.keys.current().unwrap_or(current);
        }
        let Current { keys, generation } = current;
        let selected = keys.select(id, header.alg).map_err(|error| match error {
            NoKey::UnknownId => Outcome::Refused("its issuer has no key with its kid"),
            NoKey::Unfit => Outcome::Refused("the key of its kid is not for its algorithm, or kid is missing"),
        })?;
        let mut last = Outcome::Refused("its signature is wrong");
        for key in selected.into_iter().take(MAX_TRIALS) {
            match self.claims(token, header.alg, key) {
                Ok((verified, expires_at_s)) => return Ok((verified, expires_at_s, generation)),
                Err(outcome @ Outcome::Expired) => return Err(outcome),
                Err(outcome) => last = outcome,
            }
        }
        Err(last)
    }

    fn claims(&self, token: &str, algorithm: Algorithm, key: &DecodingKey) -> Result<(Verified, f64), Outcome> {
        let mut validation = Validation::new(algorithm);
        validation.leeway = LEEWAY_S;
        validation.validate_nbf = true;
        validation.set_required_spec_claims(&["aud", "exp", "iss", "sub"]);
        validation.set_issuer(&[&self.options.issuer]);
        let mut audiences = vec![self.options.audience.as_str()];
        if self.options.kubernetes {
            audiences.push(OPERATOR_AUDIENCE);
        }
        validation.set_audience(&audiences);
        let claims = decode::<Claims>(token, key, &validation).map_err(|error| match error.kind() {
            ErrorKind::ExpiredSignature => Outcome::Expired,
            ErrorKind::ImmatureSignature => Outcome::Refused("it is not valid yet (nbf)"),
            ErrorKind::InvalidAudience => Outcome::Refused("aud does not include this server"),
            ErrorKind::InvalidSignature => Outcome::Refused("its signature is wrong"),
            _ => Outcome::Refused("a claim is missing or has the wrong type"),
        })?;
        let verified = claims.claims.verified(&self.options).map_err(Outcome::Refused)?;
        Ok((verified, claims.claims.exp))
    }
}

/// Why a token with this header is refused, whatever its signature is.
fn refuse(header: &Header) -> Option<&'static str> {
    if matches!(header.alg, Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512) {
        return Some("its algorithm uses a secret");
    }
    if header.crit.is_some() {
        return Some("its header has crit, of which nothing is supported");
    }
    // The payload of an unencoded token (RFC 7797), or of one that is encrypted or compressed, is something else.
    let is_other = header.extras.inner().contains_key("b64") || header.enc.is_some() || header.zip.is_some();
    is_other.then_some("its payload is not plain JSON")
}

fn check(issuers: &[IssuerOptions]) -> Result<(), AuthError> {
    if issuers.len() > MAX_ISSUERS {
        return Err(AuthError::TooManyIssuers);
    }
    for (place, IssuerOptions { issuer, audience, .. }) in issuers.iter().enumerate() {
        let is_bad = |text: &str| text.is_empty() || text.contains(crate::principal::changes_a_line);
        if is_bad(issuer) || is_bad(audience) {
            return Err(AuthError::Issuer);
        }
        if audience == OPERATOR_AUDIENCE {
            return Err(AuthError::Audience);
        }
        if issuers[..place].iter().any(|other| other.issuer == *issuer) {
            return Err(AuthError::TwoIssuers(issuer.clone()));
        }
    }
    if issuers.iter().filter(|issuer| issuer.kubernetes).count() > 1 {
        return Err(AuthError::TwoClusters);
    }
    Ok(())
}
