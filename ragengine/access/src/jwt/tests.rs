//! Tokens of issuers whose keys are made here.

mod addresses;
mod key_server;
mod keys;
mod signer;
mod tokens;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub(crate) use self::signer::Signer;
use super::*;

pub(crate) const ISSUER: &str = "https://issuer.test";
pub(crate) const CLUSTER: &str = "https://kubernetes.default.svc";
pub(crate) const AUDIENCE: &str = "http://rag.web.svc";

/// Waits until a condition holds.
pub(crate) async fn until(mut condition: impl AsyncFnMut() -> bool) {
    let limit = Instant::now() + Duration::from_secs(30);
    while !condition().await {
        assert!(Instant::now() < limit, "it took too long");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A file with the public keys.
pub(crate) fn jwks(keys: &[Value]) -> Vec<u8> {
    json!({ "keys": keys }).to_string().into_bytes()
}

/// The options of an issuer with these keys in a file of the folder.
pub(crate) fn issuer(folder: &tempfile::TempDir, issuer: &str, keys: &[Value]) -> IssuerOptions {
    let path: PathBuf = folder.path().join(if issuer == CLUSTER { "cluster.json" } else { "jwks.json" });
    fs::write(&path, jwks(keys)).unwrap();
    IssuerOptions {
        issuer: issuer.to_owned(),
        audience: AUDIENCE.to_owned(),
        keys: KeysAt::File(path),
        kubernetes: issuer == CLUSTER,
    }
}

/// The claims of a token that is right for an hour.
pub(crate) fn claims() -> Value {
    json!({ "iss": ISSUER, "sub": "ann", "aud": AUDIENCE, "exp": now_s() + 3_600.0 })
}

/// The same with other claims. Those that are null are left out.
pub(crate) fn claims_with(others: &Value) -> Value {
    let mut claims = claims();
    for (name, value) in others.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    claims
}

/// A verifier with one issuer, whose keys are these.
async fn with_keys(keys: &[Value]) -> (tempfile::TempDir, Jwt) {
    let folder = tempfile::tempdir().unwrap();
    let jwt = Jwt::open(vec![issuer(&folder, ISSUER, keys)]).await.unwrap();
    (folder, jwt)
}

/// The principals of a verified token, or the words of the outcome.
fn told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Verified(verified) => {
            let names: Vec<_> = verified.identity.principals().map(crate::Principal::as_str).collect();
            names.join(" ")
        }
        Outcome::NotOurs => "not ours".to_owned(),
        Outcome::Expired => "expired".to_owned(),
        Outcome::NoKeys => "no keys".to_owned(),
        Outcome::Refused(reason) => (*reason).to_owned(),
    }
}

#[tokio::test]
async fn options_that_cannot_be_used_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let good = issuer(&folder, ISSUER, &[]);
    let url = |url: &str| IssuerOptions { keys: KeysAt::Url(url.to_owned()), ..good.clone() };
    let cluster = |name: &str| IssuerOptions { issuer: name.to_owned(), kubernetes: true, ..good.clone() };
    for (issuers, expected) in [
        (vec![good.clone(), good.clone()], "twice"),
        (vec![cluster("a"), cluster("b")], "kubernetes"),
        (vec![IssuerOptions { issuer: String::new(), ..good.clone() }], "must not be empty"),
        (vec![IssuerOptions { audience: "a\nb".to_owned(), ..good.clone() }], "control"),
        (vec![IssuerOptions { audience: OPERATOR_AUDIENCE.to_owned(), ..good.clone() }], "operator"),
        (vec![url("ftp://a/s3cret")], "jwksUrl"),
        (vec![url("s3cret")], "jwksUrl"),
        (vec![url("https://ann:s3cret@a/b")], "jwksUrl"),
        ((0..21).map(|number| cluster(&number.to_string())).collect(), "too many"),
    ] {
        let error = Jwt::open(issuers).await.err().unwrap().to_string();
        assert!(error.contains(expected) && !error.contains("s3cret"), "{error}");
    }
}
