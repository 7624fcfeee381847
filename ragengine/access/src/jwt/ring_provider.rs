//! The signatures of JWTs, checked with ring, which the server's TLS uses, too.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::signature::{Error, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: no_signer,
    verifier_factory: verifier,
    // They are for making keys from other formats, which nothing here does.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Lets the library use ring, in the whole process.
pub(super) fn install() {
    // Only the first call has an effect.
    let _ = PROVIDER.install_default();
}

fn no_signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    Err(ErrorKind::InvalidAlgorithm.into())
}

/// Checks signatures of one algorithm with one key.
struct RingVerifier {
    algorithm: Algorithm,
    key: Key,
}

enum Key {
    Rsa(&'static RsaParameters, RsaPublicKeyComponents<Vec<u8>>),
    Bytes(UnparsedPublicKey<Vec<u8>>),
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    // A key is used for nothing else than what it was made for: no public key becomes a secret of HS256.
    if key.family() != algorithm.family() || key.family() == AlgorithmFamily::Hmac {
        return Err(ErrorKind::InvalidAlgorithm.into());
    }
    let key = match key.kind() {
        DecodingKeyKind::RsaModulusExponent { n, e } => {
            Key::Rsa(rsa(*algorithm)?, RsaPublicKeyComponents { n: n.clone(), e: e.clone() })
        }
        DecodingKeyKind::SecretOrDer(bytes) => Key::Bytes(UnparsedPublicKey::new(curve(*algorithm)?, bytes.clone())),
    };
    Ok(Box::new(RingVerifier { algorithm: *algorithm, key }))
}

fn rsa(algorithm: Algorithm) -> Result<&'static RsaParameters> {
    match algorithm {
        Algorithm::RS256 => Ok(&RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Ok(&RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Ok(&RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Ok(&RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Ok(&RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Ok(&RSA_PSS_2048_8192_SHA512),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

fn curve(algorithm: Algorithm) -> Result<&'static dyn VerificationAlgorithm> {
    match algorithm {
        Algorithm::ES256 => Ok(&ECDSA_P256_SHA256_FIXED),
        Algorithm::ES384 => Ok(&ECDSA_P384_SHA384_FIXED),
        Algorithm::EdDSA => Ok(&ED25519),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let verified = match &self.key {
            Key::Rsa(parameters, key) => key.verify(parameters, message, signature),
            Key::Bytes(key) => key.verify(message, signature),
        };
        verified.map_err(|_| Error::new())
    }
}
