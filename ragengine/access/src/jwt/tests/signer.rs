use std::process::Command;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::Algorithm;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
    RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaKeyPair,
};
use ring::{hmac, rsa};
use serde_json::{Value, json};

/// A private key of an issuer, made for the test.
pub(crate) enum Signer {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Signer {
    /// # Panics
    ///
    /// If the Debian package `openssl` is missing: ring makes no RSA keys.
    pub fn rsa() -> Self {
        static KEY: OnceLock<Vec<u8>> = OnceLock::new();
        let key = KEY.get_or_init(|| rsa_key(2048));
        // Versions of OpenSSL differ in the format.
        Self::Rsa(RsaKeyPair::from_pkcs8(key).or_else(|_| RsaKeyPair::from_der(key)).unwrap())
    }

    pub fn p256() -> Self {
        let (curve, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let key = EcdsaKeyPair::generate_pkcs8(curve, &random).unwrap();
        Self::P256(EcdsaKeyPair::from_pkcs8(curve, key.as_ref(), &random).unwrap())
    }

    pub fn p384() -> Self {
        let (curve, random) = (&ECDSA_P384_SHA384_FIXED_SIGNING, SystemRandom::new());
        let key = EcdsaKeyPair::generate_pkcs8(curve, &random).unwrap();
        Self::P384(EcdsaKeyPair::from_pkcs8(curve, key.as_ref(), &random).unwrap())
    }

    pub fn ed25519() -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed25519(Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap())
    }

    /// The public key, with further fields.
    pub fn jwk(&self, others: &Value) -> Value {
        let mut jwk = match self {
            Self::Rsa(key) => {
                let public = rsa::PublicKeyComponents::<Vec<u8>>::from(key.public());
                json!({ "kty": "RSA", "n": encoded(public.n), "e": encoded(public.e) })
            }
            Self::P256(key) => ec("P-256", key.public_key().as_ref()),
            Self::P384(key) => ec("P-384", key.public_key().as_ref()),
            Self::Ed25519(key) => json!({ "kty": "OKP", "crv": "Ed25519", "x": encoded(key.public_key()) }),
        };
        jwk.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        jwk
    }

    /// The algorithm that is used unless a test names another one.
    pub fn algorithm(&self) -> Algorithm {
        match self {
            Self::Rsa(_) => Algorithm::RS256,
            Self::P256(_) => Algorithm::ES256,
            Self::P384(_) => Algorithm::ES384,
            Self::Ed25519(_) => Algorithm::EdDSA,
        }
    }

    /// A token with a `kid`.
    pub fn token(&self, id: &str, claims: &Value) -> String {
        self.signed(&json!({ "alg": format!("{:?}", self.algorithm()), "kid": id }), claims)
    }

    /// A token with this header, whose signature fits its algorithm if the key does.
    pub fn signed(&self, header: &Value, claims: &Value) -> String {
        let message = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
        let signature = self.sign(header["alg"].as_str().unwrap_or_default(), message.as_bytes());
        format!("{message}.{}", encoded(signature))
    }

    fn sign(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(key) => {
                let padding: &dyn ring::signature::RsaEncoding = match algorithm {
                    "RS384" => &RSA_PKCS1_SHA384,
                    "RS512" => &RSA_PKCS1_SHA512,
                    "PS256" => &RSA_PSS_SHA256,
                    "PS384" => &RSA_PSS_SHA384,
                    "PS512" => &RSA_PSS_SHA512,
                    _ => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(padding, &random, message, &mut signature).unwrap();
                signature
            }
            Self::P256(key) | Self::P384(key) => key.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Ed25519(key) => key.sign(message).as_ref().to_vec(),
        }
    }
}

/// A token that is signed with a secret.
pub(super) fn with_secret(header: &Value, claims: &Value, secret: &[u8]) -> String {
    let message = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
    format!("{message}.{}", encoded(signature))
}

/// A private RSA key.
fn rsa_key(bits: u32) -> Vec<u8> {
    let mut openssl = Command::new("openssl");
    openssl.args(["genpkey", "-algorithm", "RSA", "-outform", "DER", "-pkeyopt", &format!("rsa_keygen_bits:{bits}")]);
    let output = openssl.output().expect("install OpenSSL: apt-get install openssl");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn ec(curve: &str, point: &[u8]) -> Value {
    let (x, y) = point[1..].split_at(point.len() / 2);
    json!({ "kty": "EC", "crv": curve, "x": encoded(x), "y": encoded(y) })
}
