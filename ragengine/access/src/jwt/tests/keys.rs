//! Which key of an issuer checks a token, and how keys in files change.

use super::super::key_set::{KeySet, KeySetError};
use super::*;

#[tokio::test]
async fn the_key_is_that_of_the_kid() {
    let [one, two, three] = [Signer::p256(), Signer::p256(), Signer::ed25519()];
    let keys =
        [one.jwk(&json!({ "kid": "same" })), two.jwk(&json!({ "kid": "same" })), three.jwk(&json!({ "kid": "three" }))];
    let (_folder, jwt) = with_keys(&keys).await;
    let without = |signer: &Signer| signer.signed(&json!({ "alg": format!("{:?}", signer.algorithm()) }), &claims());
    for (token, expected) in [
        (one.token("same", &claims()), "user:ann"),
        (two.token("same", &claims()), "user:ann"),
        (three.token("three", &claims()), "user:ann"),
        (one.token("three", &claims()), "the key of its kid"),
        (three.token("same", &claims()), "the key of its kid"),
        (one.token("other", &claims()), "its issuer has no key"),
        (one.token("", &claims()), "its issuer has no key"),
        (Signer::p256().token("same", &claims()), "its signature"),
        (two.token("same", &claims_with(&json!({ "exp": 1 }))), "expired"),
        // Without a kid, only one key may fit.
        (without(&three), "user:ann"),
        (without(&one), "the key of its kid"),
        (without(&Signer::rsa()), "the key of its kid"),
    ] {
        let told = told(&jwt.verify(&token).await);
        assert!(told.starts_with(expected), "{token}: {told}");
    }
}

#[tokio::test]
async fn a_missing_kid_means_the_only_key() {
    let signer = Signer::p256();
    for id in [json!({}), json!({ "kid": "1" })] {
        let (_folder, jwt) = with_keys(&[signer.jwk(&id)]).await;
        let token = signer.signed(&json!({ "alg": "ES256" }), &claims());
        assert_eq!(told(&jwt.verify(&token).await), "user:ann", "{id}");
        let other = Signer::p256().signed(&json!({ "alg": "ES256" }), &claims());
        assert_eq!(told(&jwt.verify(&other).await), "its signature is wrong");
    }
}

#[tokio::test]
async fn a_key_is_used_for_what_it_is_made_for() {
    let signer = Signer::rsa();
    let other = Signer::p256().jwk(&json!({ "kid": "other" }));
    for (fields, name, expected) in [
        (json!({ "alg": "RS256" }), "RS256", "user:ann"),
        (json!({ "alg": "RS256" }), "PS256", "the key of its kid"),
        (json!({ "alg": "RS512" }), "RS256", "the key of its kid"),
        (json!({ "alg": "PS256", "use": "sig" }), "PS256", "user:ann"),
        (json!({ "alg": "RSA-OAEP" }), "RS256", "its issuer has no key"),
        (json!({ "alg": "ES256" }), "RS256", "the key of its kid"),
        (json!({ "alg": "HS256" }), "RS256", "the key of its kid"),
        (json!({ "use": "enc" }), "RS256", "its issuer has no key"),
        (json!({ "use": "sig", "key_ops": ["verify"] }), "RS256", "user:ann"),
        (json!({ "key_ops": ["encrypt"] }), "RS256", "its issuer has no key"),
        (json!({ "x5c": ["MII"], "more": {} }), "RS256", "user:ann"),
    ] {
        let mut key = signer.jwk(&fields);
        key["kid"] = json!("1");
        let (_folder, jwt) = with_keys(&[other.clone(), key]).await;
        let told = told(&jwt.verify(&signer.signed(&json!({ "alg": name, "kid": "1" }), &claims())).await);
        // A key without a possible algorithm is left out.
        let is_left_out = expected.starts_with("the key") && told.starts_with("its issuer has no key");
        assert!(told.starts_with(expected) || is_left_out, "{fields} {name}: {told}");
    }
}

#[test]
fn a_set_without_usable_keys_is_refused() {
    let good = Signer::p256().jwk(&json!({}));
    let mut short = Signer::rsa().jwk(&json!({}));
    short["n"] = json!("A".repeat(171));
    let mut bent = good.clone();
    bent["crv"] = json!("P-384");
    for (json, expected) in [
        (b"".to_vec(), KeySetError::NoSet),
        (b"[]".to_vec(), KeySetError::NoSet),
        (b"{}".to_vec(), KeySetError::NoSet),
        (br#"{"keys":{}}"#.to_vec(), KeySetError::NoSet),
        (jwks(&[]), KeySetError::NoKey),
        (
            jwks(&[json!(null), json!({}), json!({ "kty": "EC" }), json!({ "kty": "EC", "crv": "P-256" })]),
            KeySetError::NoKey,
        ),
        (jwks(&[json!({ "kty": "oct", "k": "c2VjcmV0" })]), KeySetError::NoKey),
        (jwks(&[json!({ "kty": "EC", "crv": "P-521", "x": "AA", "y": "AA" })]), KeySetError::NoKey),
        (jwks(&[short, bent]), KeySetError::NoKey),
        (jwks(&vec![good.clone(); 101]), KeySetError::TooMany),
    ] {
        assert_eq!(KeySet::parse(&json).map(|keys| keys.len()), Err(expected), "{}", String::from_utf8_lossy(&json));
    }
    assert_eq!(KeySet::parse(&jwks(&[json!({}), good])).map(|keys| keys.len()), Ok(1));
}

#[tokio::test]
async fn a_changed_file_replaces_the_keys_and_forgets_verified_tokens() {
    let (old, new) = (Signer::p256(), Signer::ed25519());
    let folder = tempfile::tempdir().unwrap();
    let options = issuer(&folder, ISSUER, &[]);
    let KeysAt::File(path) = options.keys.clone() else { panic!("a file") };
    fs::remove_file(&path).unwrap();
    let pace = Pace { file: Duration::from_millis(50), ..Pace::default() };
    let jwt = Jwt::with_pace(vec![options], pace).await.unwrap();
    let exchange = |content: &[u8]| {
        let other = path.with_extension("new");
        fs::write(&other, content).unwrap();
        fs::rename(other, &path).unwrap();
    };
    let (old_token, new_token) = (old.token("1", &claims()), new.token("2", &claims()));
    assert_eq!(jwt.verify(&old_token).await, Outcome::NoKeys);
    assert!(jwt.problems().next().unwrap().contains(ISSUER));
    exchange(&jwks(&[old.jwk(&json!({ "kid": "1" }))]));
    until(async || told(&jwt.verify(&old_token).await) == "user:ann").await;
    assert_eq!(jwt.problems().next(), None);
    assert_eq!(told(&jwt.verify(&new_token).await), "its issuer has no key with its kid");
    // The last good keys stay.
    for content in [&b"{"[..], &jwks(&[])] {
        exchange(content);
        until(async || jwt.problems().next().is_some()).await;
        assert_eq!(told(&jwt.verify(&old_token).await), "user:ann");
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(told(&jwt.verify(&old_token).await), "user:ann");
    exchange(&jwks(&[new.jwk(&json!({ "kid": "2" }))]));
    until(async || told(&jwt.verify(&new_token).await) == "user:ann").await;
    assert_eq!(told(&jwt.verify(&old_token).await), "its issuer has no key with its kid");
    assert_eq!(jwt.problems().next(), None);
}
