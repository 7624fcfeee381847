use std::str::FromStr as _;

use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

/// The keys of an issuer at most.
const MAX_KEYS: usize = 100;

/// The public keys of an issuer (a JWK set, RFC 7517) that can be used.
pub(super) struct KeySet(Vec<Key>);

struct Key {
    id: Option<String>,
    /// What the key may be used for.
    algorithms: Vec<Algorithm>,
    decoding: DecodingKey,
}

/// A JWK set cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum KeySetError {
    /// It is not a JWK set.
    #[error("it is not a JWK set: a JSON object with the list keys")]
    NoSet,
    /// It has too many keys.
    #[error("it has more than {MAX_KEYS} keys")]
    TooMany,
    /// It has no key for signatures that the server can check.
    #[error(
        "it has no key that can be used: RSA of 2048 to 8192 bits, EC with the curve P-256 or P-384, or OKP with \
         Ed25519, for signatures"
    )]
    NoKey,
}

/// No key of an issuer checks a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoKey {
    /// No key has the token's `kid`. Perhaps the keys are older than the token.
    UnknownId,
    /// The key is of another type than the token's algorithm, or the token has no `kid` and several keys fit.
    Unfit,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

/// A key as it is written. Other fields do not matter.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Reads a JWK set. Keys that cannot be used are left out.
    ///
    /// # Errors
    ///
    /// [`KeySetError`].
    pub fn parse(json: &[u8]) -> Result<Self, KeySetError> {
        let document: Document = serde_json::from_slice(json).map_err(|_| KeySetError::NoSet)?;
        if document.keys.len() > MAX_KEYS {
            return Err(KeySetError::TooMany);
        }
        let keys: Vec<Key> =
            document.keys.into_iter().filter_map(|key| usable(serde_json::from_value(key).ok()?)).collect();
        if keys.is_empty() { Err(KeySetError::NoKey) } else { Ok(Self(keys)) }
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The keys that may have signed a token with this header. Several keys may have the same `kid`.
    ///
    /// # Errors
    ///
    /// [`NoKey`].
    pub fn select(&self, id: Option<&str>, algorithm: Algorithm) -> Result<Vec<&DecodingKey>, NoKey> {
        let named: Vec<&Key> = self.0.iter().filter(|key| id.is_none() || key.id.as_deref() == id).collect();
        if named.is_empty() {
            return Err(NoKey::UnknownId);
        }
        let fitting = named.into_iter().filter(|key| key.algorithms.contains(&algorithm));
        let fitting: Vec<&DecodingKey> = fitting.map(|key| &key.decoding).collect();
        let is_clear = if id.is_some() { !fitting.is_empty() } else { fitting.len() == 1 };
        if is_clear { Ok(fitting) } else { Err(NoKey::Unfit) }
    }
}

/// The key, if it is for signatures that the server can check.
fn usable(jwk: Jwk) -> Option<Key> {
    use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
    let is_for_signatures = jwk.usage.as_deref().is_none_or(|usage| usage == "sig")
        && jwk.key_ops.as_ref().is_none_or(|operations| operations.iter().any(|operation| operation == "verify"));
    if !is_for_signatures {
        return None;
    }
    let (algorithms, decoding): (&[Algorithm], _) = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
        ("RSA", _) => {
            let decoding = DecodingKey::from_rsa_components(&jwk.n?, &jwk.e?).ok()?;
            (&[RS256, RS384, RS512, PS256, PS384, PS512], decoding)
        }
        ("EC", Some("P-256")) => (&[ES256], DecodingKey::from_ec_components(&jwk.x?, &jwk.y?).ok()?),
        ("EC", Some("P-384")) => (&[ES384], DecodingKey::from_ec_components(&jwk.x?, &jwk.y?).ok()?),
        ("OKP", Some("Ed25519")) => (&[EdDSA], DecodingKey::from_ed_components(&jwk.x?).ok()?),
        // Among them are secrets (oct), which must not be published.
        _ => return None,
    };
    let mut algorithms = algorithms.to_vec();
    if let Some(name) = jwk.alg {
        let only = Algorithm::from_str(&name).ok()?;
        algorithms.retain(|algorithm| *algorithm == only);
    }
    let has_strength = has_right_size(&decoding, algorithms.first()?);
    has_strength.then_some(Key { id: jwk.kid, algorithms, decoding })
}

/// Whether ring takes keys of this size. The log then has it when the keys are read, not only at a token.
fn has_right_size(key: &DecodingKey, algorithm: &Algorithm) -> bool {
    use jsonwebtoken::DecodingKeyKind::{RsaModulusExponent, SecretOrDer};
    match (key.kind(), algorithm) {
        // Without leading zeros.
        (RsaModulusExponent { n, .. }, _) => (256..=1024).contains(&n.len()) && n.first() != Some(&0),
        (SecretOrDer(point), Algorithm::ES256) => point.len() == 65,
        (SecretOrDer(point), Algorithm::ES384) => point.len() == 97,
        (SecretOrDer(point), _) => point.len() == 32,
    }
}
