//! Which tokens are right.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;

use super::signer::with_secret;
use super::*;

#[tokio::test]
async fn tokens_of_all_algorithms_are_verified() {
    let signers = [Signer::rsa(), Signer::p256(), Signer::p384(), Signer::ed25519()];
    let names: [&[&str]; 4] =
        [&["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"], &["ES256"], &["ES384"], &["EdDSA"]];
    let keys: Vec<Value> = (0..).zip(&signers).map(|(id, key)| key.jwk(&json!({ "kid": id.to_string() }))).collect();
    let (_folder, jwt) = with_keys(&keys).await;
    for (id, (signer, own)) in signers.iter().zip(names).enumerate() {
        for name in names.iter().copied().flatten() {
            let token = signer.signed(&json!({ "alg": name, "kid": id.to_string() }), &claims());
            let expected = if own.contains(name) { "user:ann" } else { "the key of its kid" };
            let told = told(&jwt.verify(&token).await);
            assert!(told.starts_with(expected), "{id} {name}: {told}");
        }
    }
}

#[tokio::test]
async fn claims_are_checked() {
    let signer = Signer::p256();
    let (_folder, jwt) = with_keys(&[signer.jwk(&json!({ "kid": "1" }))]).await;
    let now = now_s();
    for (others, expected) in [
        (json!({}), "user:ann"),
        (json!({ "aud": [AUDIENCE] }), "user:ann"),
        (json!({ "aud": ["other", AUDIENCE, 7] }), "a claim"),
        (json!({ "aud": ["other", AUDIENCE] }), "user:ann"),
        (json!({ "aud": ["other"] }), "aud does not"),
        (json!({ "aud": [] }), "aud does not"),
        (json!({ "aud": "other" }), "aud does not"),
        (json!({ "aud": format!("{AUDIENCE}/") }), "aud does not"),
        // Only that of the cluster's issuer is the operator's.
        (json!({ "aud": OPERATOR_AUDIENCE }), "aud does not"),
        (json!({ "aud": null }), "a claim"),
        (json!({ "aud": 3 }), "a claim"),
        (json!({ "exp": now - 20.0 }), "user:ann"),
        (json!({ "exp": now - 40.0 }), "expired"),
        (json!({ "exp": 0 }), "expired"),
        (json!({ "exp": -1 }), "a claim"),
        (json!({ "exp": 1e300 }), "a claim"),
        (json!({ "exp": "2026" }), "a claim"),
        (json!({ "exp": null }), "a claim"),
        (json!({ "nbf": now - 10.0 }), "user:ann"),
        (json!({ "nbf": now + 20.0 }), "user:ann"),
        (json!({ "nbf": now + 60.0 }), "it is not valid yet"),
        (json!({ "nbf": "soon" }), "a claim"),
        (json!({ "iss": "https://other.test" }), "not ours"),
        (json!({ "iss": format!("{ISSUER}/") }), "not ours"),
        (json!({ "iss": [ISSUER] }), "not ours"),
        (json!({ "iss": null }), "not ours"),
        (json!({ "sub": null }), "a claim"),
        (json!({ "sub": 3 }), "a claim"),
        (json!({ "sub": "" }), "sub cannot"),
        (json!({ "sub": "a\nb" }), "sub cannot"),
        (json!({ "sub": "system:serviceaccount:web:app" }), "user:system:serviceaccount:web:app"),
        (json!({ "groups": ["staff", "a\nb", "ops"] }), "user:ann group:staff group:ops"),
        (json!({ "groups": [] }), "user:ann"),
        (json!({ "groups": "staff" }), "a claim"),
        (json!({ "groups": [1] }), "a claim"),
    ] {
        let told = told(&jwt.verify(&signer.token("1", &claims_with(&others))).await);
        let is_right = if expected.starts_with("user:") { told == expected } else { told.starts_with(expected) };
        assert!(is_right, "{others}: {told}");
    }
}

#[tokio::test]
async fn a_header_cannot_choose_the_key_or_weaken_the_check() {
    let signer = Signer::rsa();
    let other = Signer::p256();
    let public = signer.jwk(&json!({ "kid": "1" }));
    let (_folder, jwt) = with_keys(std::slice::from_ref(&public)).await;
    let right = |others: &Value| {
        let mut header = json!({ "alg": "RS256", "kid": "1" });
        header.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        header
    };
    for (others, expected) in [
        (json!({ "typ": "JWT" }), "user:ann"),
        (json!({ "typ": "at+jwt" }), "user:ann"),
        // The key that counts is the issuer's, whatever these say.
        (
            json!({ "jwk": other.jwk(&json!({})), "jku": "http://127.0.0.1:1/", "x5u": "http://127.0.0.1:1/" }),
            "user:ann",
        ),
        (json!({ "crit": ["exp"] }), "its header has crit"),
        (json!({ "crit": [] }), "its header has crit"),
        (json!({ "crit": "b64" }), "its header is not"),
        (json!({ "b64": false }), "its payload"),
        (json!({ "enc": "A128GCM" }), "its payload"),
        (json!({ "zip": "DEF" }), "its payload"),
        (json!({ "alg": "none" }), "its header is not"),
        (json!({ "alg": "None" }), "its header is not"),
        (json!({ "alg": "" }), "its header is not"),
        (json!({ "alg": null }), "its header is not"),
        (json!({ "alg": "ES512" }), "its header is not"),
        (json!({ "alg": "HS256" }), "its algorithm uses a secret"),
        (json!({ "alg": "ES256" }), "the key of its kid"),
        (json!({ "kid": 1 }), "its header is not"),
    ] {
        let told = told(&jwt.verify(&signer.signed(&right(&others), &claims())).await);
        assert!(told.starts_with(expected), "{others}: {told}");
    }
    // An attacker's own key in the header.
    let (embedded, own) = (other.jwk(&json!({ "kid": "1" })), claims());
    for header in [
        json!({ "alg": "ES256", "jwk": embedded.clone() }),
        json!({ "alg": "ES256", "kid": "1", "jwk": embedded.clone(), "jku": "http://127.0.0.1:1/" }),
    ] {
        assert!(matches!(jwt.verify(&other.signed(&header, &own)).await, Outcome::Refused(_)), "{header}");
    }
    // The public key as the secret of HS256, in all the forms that an attacker may know.
    let modulus = URL_SAFE_NO_PAD.decode(public["n"].as_str().unwrap()).unwrap();
    for secret in [&modulus[..], public["n"].as_str().unwrap().as_bytes(), public.to_string().as_bytes(), b""] {
        for name in ["HS256", "RS256", "none"] {
            let token = with_secret(&right(&json!({ "alg": name })), &own, secret);
            assert!(matches!(jwt.verify(&token).await, Outcome::Refused(_)), "{name}");
        }
    }
}

#[tokio::test]
async fn a_changed_token_is_refused() {
    let signer = Signer::ed25519();
    let (_folder, jwt) = with_keys(&[signer.jwk(&json!({ "kid": "1" }))]).await;
    let token = signer.token("1", &claims());
    let others = signer.token("1", &claims_with(&json!({ "sub": "bob" })));
    assert_eq!(told(&jwt.verify(&token).await), "user:ann");
    let parts: Vec<&str> = token.split('.').collect();
    let foreign: Vec<&str> = others.split('.').collect();
    for changed in [
        format!("{}.{}.{}", parts[0], foreign[1], parts[2]),
        format!("{}.{}.{}", parts[0], parts[1], foreign[2]),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}.{}A", parts[0], parts[1], parts[2]),
        Signer::ed25519().token("1", &claims()),
    ] {
        assert!(matches!(jwt.verify(&changed).await, Outcome::Refused(_)), "{changed}");
    }
}

#[tokio::test]
async fn what_is_no_token_of_the_issuer_is_not_ours() {
    let signer = Signer::p256();
    let (_folder, jwt) = with_keys(&[signer.jwk(&json!({ "kid": "1" }))]).await;
    // The claim is long enough that the bound on the length decides.
    let fits = signer.token("1", &claims_with(&json!({ "more": "m".repeat(12_000) })));
    let long = signer.token("1", &claims_with(&json!({ "more": "m".repeat(12_200) })));
    assert!(fits.len() <= MAX_TOKEN_BYTES && long.len() > MAX_TOKEN_BYTES, "{} {}", fits.len(), long.len());
    assert_eq!(told(&jwt.verify(&fits).await), "user:ann");
    for text in ["", ".", "..", "a.b", "a.b.c", "a.b.c.d", "s3cret", "e30.e30.", "🦀.🦀.🦀", &long] {
        assert_eq!(jwt.verify(text).await, Outcome::NotOurs, "{text}");
    }
}

#[tokio::test]
async fn the_clusters_issuer_names_service_accounts_and_the_operator() {
    let (signer, cluster) = (Signer::p256(), Signer::rsa());
    let folder = tempfile::tempdir().unwrap();
    let (key, cluster_key) = (signer.jwk(&json!({ "kid": "1" })), cluster.jwk(&json!({ "kid": "1" })));
    let issuers = vec![issuer(&folder, ISSUER, &[key]), issuer(&folder, CLUSTER, &[cluster_key])];
    let jwt = Jwt::open(issuers).await.unwrap();
    let account = json!({ "iss": CLUSTER, "sub": "system:serviceaccount:web:app" });
    let told_of = async |token: String| match jwt.verify(&token).await {
        Outcome::Verified(verified) => {
            (verified.identity.principal.to_string(), verified.is_for_server, verified.is_for_operator)
        }
        outcome => (told(&outcome), false, false),
    };
    let with_audience = |audience: Value| {
        let mut claims = claims_with(&account);
        claims["aud"] = audience;
        cluster.token("1", &claims)
    };
    let name = "serviceAccount:web/app".to_owned();
    assert_eq!(told_of(with_audience(json!(AUDIENCE))).await, (name.clone(), true, false));
    assert_eq!(told_of(with_audience(json!(OPERATOR_AUDIENCE))).await, (name.clone(), false, true));
    assert_eq!(told_of(with_audience(json!([OPERATOR_AUDIENCE, AUDIENCE]))).await, (name, true, true));
    // The keys of an issuer count for its tokens only.
    for token in [signer.token("1", &claims_with(&account)), cluster.token("1", &claims())] {
        assert!(matches!(jwt.verify(&token).await, Outcome::Refused(_)));
    }
    let token = cluster.token("1", &claims_with(&json!({ "iss": CLUSTER, "sub": "system:serviceaccount:web:*" })));
    assert_eq!(jwt.verify(&token).await, Outcome::Refused("sub cannot be the name of a caller"));
}

#[test]
fn any_text_is_checked_without_a_panic() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let signer = Signer::p256();
    let (_folder, jwt) = runtime.block_on(with_keys(&[signer.jwk(&json!({ "kid": "1" }))]));
    let part = |text: String| URL_SAFE_NO_PAD.encode(text);
    let json = "[{}\"a-z:,0-9\\[\\]]{0,30}|\\{\"(alg|kid|iss)\":\"(ES256|1|https://issuer.test)\"\\}";
    proptest!(|(header in json, payload in json, signature in "[A-Za-z0-9_-]{0,90}")| {
        let token = format!("{}.{}.{signature}", part(header), part(payload));
        let outcome = runtime.block_on(jwt.verify(&token));
        prop_assert!(matches!(outcome, Outcome::NotOurs | Outcome::Refused(_)));
    });
}

#[tokio::test]
#[ignore = "a measurement"]
async fn the_time_of_a_check() {
    for signer in [Signer::rsa(), Signer::p256(), Signer::ed25519()] {
        let (_folder, jwt) = with_keys(&[signer.jwk(&json!({ "kid": "1" }))]).await;
        let tokens: Vec<_> =
            (0..500).map(|number| signer.token("1", &claims_with(&json!({ "jti": number })))).collect();
        for name in ["first", "again"] {
            let began = Instant::now();
            for token in &tokens {
                assert_eq!(told(&jwt.verify(token).await), "user:ann");
            }
            eprintln!("{:?} {name}: {:?} for each token", signer.algorithm(), began.elapsed() / 500);
        }
    }
}
