//! Keys of an address.

use futures_util::future::join_all;

use super::key_server::KeyServer;
use super::*;

const PACE: Pace = Pace {
    address: Duration::from_secs(300),
    file: Duration::from_secs(2),
    after_failure: Duration::from_millis(100),
    unknown_key: Duration::from_millis(400),
};

async fn opened(server: &KeyServer, pace: Pace) -> Jwt {
    let options = IssuerOptions {
        issuer: ISSUER.to_owned(),
        audience: AUDIENCE.to_owned(),
        keys: KeysAt::Url(server.url.clone()),
        kubernetes: false,
    };
    Jwt::with_pace(vec![options], pace).await.unwrap()
}

#[tokio::test]
async fn keys_are_read_again_for_an_unknown_kid_but_not_often() {
    let (old, new) = (Signer::p256(), Signer::p384());
    let server = KeyServer::start(&jwks(&[old.jwk(&json!({ "kid": "old" }))])).await;
    let jwt = opened(&server, PACE).await;
    let (old_token, new_token) = (old.token("old", &claims()), new.token("new", &claims()));
    assert_eq!((told(&jwt.verify(&old_token).await).as_str(), server.requests()), ("user:ann", 1));
    // Too soon.
    assert_eq!(told(&jwt.verify(&new_token).await), "its issuer has no key with its kid");
    let both = [old.jwk(&json!({ "kid": "old" })), new.jwk(&json!({ "kid": "new" }))];
    server.set("200 OK", "", &jwks(&both));
    until(async || told(&jwt.verify(&new_token).await) == "user:ann").await;
    assert!(server.requests() >= 2);
    // Many requests at once cause one attempt for all.
    let before = server.requests();
    let began = Instant::now();
    let bad: Vec<String> = (0..50).map(|id| new.token(&format!("bad{id}"), &claims())).collect();
    while server.requests() == before {
        assert!(began.elapsed() < Duration::from_secs(30), "it took too long");
        join_all(bad.iter().map(|token| jwt.verify(token))).await;
    }
    let attempts = server.requests() - before;
    let most = 1 + began.elapsed().as_millis() / PACE.unknown_key.as_millis();
    assert!(attempts as u128 <= most, "{attempts} in {:?}", began.elapsed());
}

#[tokio::test]
async fn keys_are_read_again_after_a_while_and_the_last_good_ones_stay() {
    let (old, new) = (Signer::p256(), Signer::p256());
    let server = KeyServer::start(&jwks(&[old.jwk(&json!({ "kid": "1" }))])).await;
    let jwt = opened(&server, Pace { address: Duration::from_millis(100), ..PACE }).await;
    let (old_token, new_token) = (old.token("1", &claims()), new.token("1", &claims()));
    assert_eq!(told(&jwt.verify(&old_token).await), "user:ann");
    let long = vec![b' '; (1 << 20) + 1];
    let redirect = "location: http://127.0.0.1:1/jwks.json\r\n";
    for (status, headers, body, expected) in [
        ("500 Oops", "", &b"{}"[..], "status 500"),
        ("404 Not Found", "", b"", "status 404"),
        ("200 OK", "", b"<html>", "not a JWK set"),
        ("200 OK", "", &long, "1048576 bytes"),
        ("302 Found", redirect, b"", "redirects"),
        // Without an end.
        ("302 Found", "location: /jwks.json\r\n", b"", "redirects"),
    ] {
        server.set(status, headers, body);
        until(async || jwt.problems().next().is_some_and(|problem| problem.contains(expected))).await;
        assert_eq!(told(&jwt.verify(&old_token).await), "user:ann");
    }
    // The same kid has another key now.
    server.set("200 OK", "", &jwks(&[new.jwk(&json!({ "kid": "1" }))]));
    until(async || told(&jwt.verify(&new_token).await) == "user:ann").await;
    assert_eq!(told(&jwt.verify(&old_token).await), "its signature is wrong");
    assert_eq!(jwt.problems().next(), None);
}

#[tokio::test]
async fn a_server_that_does_not_answer_blocks_no_request_with_a_known_key() {
    let signer = Signer::p256();
    let server = KeyServer::start(&jwks(&[signer.jwk(&json!({ "kid": "1" }))])).await;
    let jwt = Arc::new(opened(&server, Pace { unknown_key: Duration::ZERO, ..PACE }).await);
    server.hang();
    let before = server.requests();
    let unknown = signer.token("2", &claims());
    let waiting = tokio::spawn({
        let jwt = Arc::clone(&jwt);
        async move { told(&jwt.verify(&unknown).await) }
    });
    until(async || server.requests() > before).await;
    for number in 0..20 {
        let token = signer.token("1", &claims_with(&json!({ "jti": number })));
        assert_eq!(told(&jwt.verify(&token).await), "user:ann");
    }
    assert!(!waiting.is_finished());
    assert_eq!(waiting.await.unwrap(), "its issuer has no key with its kid");
    until(async || jwt.problems().next().is_some_and(|problem| problem.contains("did not answer within 5 s"))).await;
}

#[tokio::test]
async fn an_address_that_is_there_later_is_read_then() {
    let signer = Signer::p256();
    let server = KeyServer::start(b"").await;
    server.set("503 Later", "", b"");
    let jwt = opened(&server, PACE).await;
    let token = signer.token("1", &claims());
    assert_eq!(jwt.verify(&token).await, Outcome::NoKeys);
    server.set("200 OK", "", &jwks(&[signer.jwk(&json!({ "kid": "1" }))]));
    until(async || told(&jwt.verify(&token).await) == "user:ann").await;
}
