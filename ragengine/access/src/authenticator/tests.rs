use std::fs;
use std::path::Path;
use std::time::Duration;

use ragengine_errors::{Class, Fault as _};
use ragengine_metrics::Builder;
use ragengine_stores::{Redis, StoreMetrics};
use serde_json::{Value, json};

use self::test_redis::TestRedis;
use super::*;
use crate::jwt::tests::{AUDIENCE, CLUSTER, ISSUER, Signer, claims_with, issuer, until};
use crate::{Access, Action, OPERATOR_AUDIENCE, Principal, Rules};

#[path = "../../../stores/tests/stores/test_redis.rs"]
#[expect(dead_code, reason = "the tests of the stores use more of it")]
mod test_redis;

const OPERATOR: &str = "serviceAccount:ragengine-system/ragengine-operator";

fn rules(operator: Option<&str>) -> Arc<AccessRules> {
    let operator = operator.map(|operator| operator.parse().unwrap());
    Arc::new(AccessRules::fixed(Access { operator, ..Access::default() }))
}

async fn sessions(server: &TestRedis) -> SessionTokens {
    let metrics = StoreMetrics::new(&mut Builder::new(Duration::from_secs(1)).unwrap()).unwrap();
    let redis = Redis::open(&server.options("docs")).await.unwrap();
    SessionTokens::new(redis, "session:".to_owned(), metrics)
}

fn keys_folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn options(modes: &[Mode], keys: Option<&Path>, jwt: Vec<crate::IssuerOptions>) -> AuthOptions {
    AuthOptions { modes: modes.to_vec(), api_keys_folder: keys.map(Path::to_owned), jwt }
}

/// The principals of a caller, or the kind of the refusal.
fn told(result: &Result<Identity, Refused>) -> String {
    match result {
        Ok(identity) => {
            let names: Vec<_> = identity.principals().map(Principal::as_str).collect();
            names.join(" ")
        }
        Err(refused) => refused.kind().to_owned(),
    }
}

/// An authenticator with all modes, and what its tests need.
struct All {
    server: TestRedis,
    signer: Signer,
    _folders: [tempfile::TempDir; 2],
    authenticator: Authenticator,
}

async fn all_modes() -> All {
    let (server, signer) = (TestRedis::start(), Signer::p256());
    let (keys, issuers) = (keys_folder(&[("ci", "api-key-1\n")]), tempfile::tempdir().unwrap());
    let key = signer.jwk(&json!({ "kid": "1" }));
    let jwt = vec![issuer(&issuers, ISSUER, &[key])];
    let options = options(&[Mode::Jwt, Mode::SessionToken, Mode::ApiKey], Some(keys.path()), jwt);
    let sessions = sessions(&server).await;
    let authenticator = Authenticator::open(options, Some(sessions), rules(None)).await.unwrap();
    All { server, signer, _folders: [keys, issuers], authenticator }
}

impl All {
    async fn told(&self, token: &str) -> String {
        told(&self.authenticator.authenticate(Some(token)).await)
    }

    fn session(&self, token: &str, value: &Value) {
        self.server.command(&["SET", &format!("session:{token}"), &value.to_string()]);
    }

    fn jwt(&self, others: &Value) -> String {
        self.signer.token("1", &claims_with(others))
    }
}

#[tokio::test]
async fn a_caller_has_a_token_of_any_mode() {
    let all = all_modes().await;
    all.session("abc", &json!({ "user_id": "ann", "groups": ["staff"], "model_id": "gpt-4o" }));
    all.session("old", &json!({ "user_id": "ann", "expires_at": 1 }));
    all.session("bad", &json!({ "user": "ann" }));
    all.session("a.b.c", &json!({ "user_id": "dots" }));
    // A key that is also a session: the API key is tried first.
    all.session("api-key-1", &json!({ "user_id": "ann" }));
    let token = all.jwt(&json!({ "groups": ["ops"] }));
    // A token that names an issuer is no session.
    let bad = format!("{}x", all.jwt(&json!({})));
    all.session(&bad, &json!({ "user_id": "ann" }));
    for (token, expected) in [
        ("api-key-1", "key:ci"),
        (" api-key-1 ", "key:ci"),
        ("api-key-2", "token_unknown"),
        ("abc", "user:ann group:staff"),
        ("old", "token_expired"),
        ("bad", "token_unknown"),
        ("a.b.c", "user:dots"),
        ("a:b", "token_unknown"),
        (&token, "user:ann group:ops"),
        (&bad, "token_unknown"),
        (&all.jwt(&json!({ "exp": 5 })), "token_expired"),
        (&all.jwt(&json!({ "iss": "https://other.test" })), "token_unknown"),
        ("", "token_missing"),
        (" ", "token_missing"),
    ] {
        assert_eq!(all.told(token).await, expected, "{token}");
    }
    let missing = all.authenticator.authenticate(None).await.unwrap_err();
    let words = missing.to_string();
    assert!(words.ends_with("an API key, a session token or a JWT of a known issuer"), "{words}");
    let identity = all.authenticator.authenticate(Some("abc")).await.unwrap();
    assert_eq!((identity.model_id.as_deref(), identity.standing), (Some("gpt-4o"), Standing::Caller));
    // A deleted session ends at once.
    all.server.command(&["DEL", "session:abc"]);
    assert_eq!(all.told("abc").await, "token_unknown");
    assert_eq!(all.authenticator.problem(), None);
}

#[tokio::test]
async fn without_redis_only_tokens_that_no_other_mode_knows_are_unavailable() {
    let mut all = all_modes().await;
    let token = all.jwt(&json!({}));
    all.server.kill();
    for (token, expected) in [
        ("abc", "sessions_unavailable"),
        ("api-key-1", "key:ci"),
        (&token[..], "user:ann"),
        (&format!("{token}x"), "token_unknown"),
        ("a:b", "token_unknown"),
    ] {
        assert_eq!(all.told(token).await, expected, "{token}");
    }
    let refused = all.authenticator.authenticate(Some("abc")).await.unwrap_err();
    assert_eq!((refused.class(), refused.retry_after().is_some()), (Class::Unavailable, true));
    all.server.restart();
    until(async || all.told("abc").await == "token_unknown").await;
}

#[tokio::test]
async fn without_keys_a_token_is_unavailable_and_not_unknown() {
    let (folder, signer) = (tempfile::tempdir().unwrap(), Signer::p256());
    let issuer = issuer(&folder, ISSUER, &[]);
    let options = options(&[Mode::ApiKey, Mode::Jwt], Some(&folder.path().join("nowhere")), vec![issuer]);
    let authenticator = Authenticator::open(options, None, rules(None)).await.unwrap();
    let token = signer.token("1", &claims_with(&json!({})));
    for (token, expected) in [(&token[..], "issuer_keys_unavailable"), ("abc", "api_keys_unavailable")] {
        let result = authenticator.authenticate(Some(token)).await;
        assert_eq!(told(&result), expected);
        assert!(!result.unwrap_err().to_string().contains(token));
    }
    let problem = authenticator.problem().unwrap();
    assert!(problem.contains("nowhere") && problem.contains(ISSUER), "{problem}");
}

#[tokio::test]
async fn the_operators_token_counts_whatever_the_modes_are() {
    let (folder, cluster, other) = (tempfile::tempdir().unwrap(), Signer::p256(), Signer::p256());
    let keys = keys_folder(&[("ci", "api-key-1")]);
    let issuers = || {
        let key = |signer: &Signer| signer.jwk(&json!({ "kid": "1" }));
        vec![issuer(&folder, ISSUER, &[key(&other)]), issuer(&folder, CLUSTER, &[key(&cluster)])]
    };
    let token = |account: &str, audience: &str| {
        let subject = format!("system:serviceaccount:{account}");
        cluster.token("1", &claims_with(&json!({ "iss": CLUSTER, "sub": subject, "aud": audience })))
    };
    let operator = "ragengine-system:ragengine-operator";
    let (right, wrong) = (token(operator, OPERATOR_AUDIENCE), token("web:app", OPERATOR_AUDIENCE));
    let (plain, app) = (token(operator, AUDIENCE), token("web:app", AUDIENCE));
    let foreign = other.token("1", &claims_with(&json!({ "aud": OPERATOR_AUDIENCE, "sub": operator })));
    let unknown = "token_unknown";
    for (modes, plain_expected, app_expected) in [
        (&[Mode::ApiKey][..], unknown, unknown),
        (&[], unknown, unknown),
        (&[Mode::Jwt], OPERATOR, "serviceAccount:web/app"),
    ] {
        let of_modes = options(modes, Some(keys.path()), issuers());
        let authenticator = Authenticator::open(of_modes.clone(), None, rules(Some(OPERATOR))).await.unwrap();
        for (token, expected, is_operator) in [
            (&right, OPERATOR, true),
            (&wrong, unknown, false),
            (&plain, plain_expected, false),
            (&app, app_expected, false),
            (&foreign, unknown, false),
        ] {
            // The second time, the token is remembered.
            for _ in 0..2 {
                let result = authenticator.authenticate(Some(token)).await;
                assert_eq!(told(&result), expected, "{modes:?} {token}");
                let standing = result.map(|identity| identity.standing);
                assert_eq!(standing == Ok(Standing::Operator), is_operator, "{modes:?} {token}");
            }
        }
        // Without an operator in the rules, no caller is the operator.
        let none = Authenticator::open(of_modes, None, rules(None)).await.unwrap();
        assert_eq!(told(&none.authenticate(Some(&right)).await), unknown);
    }
    // As long as the rules are not read, the operator is not known.
    let missing = AccessRules::open(folder.path().join("access.yaml"), Rules::default()).await;
    let options = options(&[Mode::Jwt], None, issuers());
    let authenticator = Authenticator::open(options, None, Arc::new(missing)).await.unwrap();
    assert_eq!(told(&authenticator.authenticate(Some(&right)).await), "rules_unavailable");
    assert_eq!(told(&authenticator.authenticate(Some(&app)).await), "serviceAccount:web/app");
    fs::write(folder.path().join("access.yaml"), format!("operator: {OPERATOR}\n")).unwrap();
    until(async || authenticator.authenticate(Some(&right)).await.is_ok()).await;
    let identity = authenticator.authenticate(Some(&right)).await.unwrap();
    let access = authenticator.access.current().unwrap();
    assert!(access.may(&identity, Action::Read, "any") && !access.may(&identity, Action::Write, "any"));
}

#[tokio::test]
async fn a_mode_without_what_it_needs_is_refused() {
    for (mode, expected) in [
        (Mode::ApiKey, AuthError::NoFolder),
        (Mode::SessionToken, AuthError::NoSessions),
        (Mode::Jwt, AuthError::NoIssuer),
    ] {
        let opened = Authenticator::open(options(&[mode], None, vec![]), None, rules(None)).await;
        assert_eq!(opened.err(), Some(expected));
    }
}

#[test]
fn refusals_have_classes_and_say_what_to_do() {
    let accepted: Arc<str> = options(&[Mode::Jwt], None, vec![]).accepted().into();
    for (refused, class, expected) in [
        (Refused::Missing { accepted: Arc::clone(&accepted) }, Class::Unauthorized, "with a JWT of a known issuer"),
        (Refused::Unknown { accepted }, Class::Unauthorized, "Authorization: Bearer TOKEN"),
        (Refused::Expired, Class::Unauthorized, "get a new one"),
        (Refused::Unavailable { which: Dependency::Sessions }, Class::Unavailable, "send the request again"),
    ] {
        assert_eq!(refused.class(), class);
        assert!(refused.to_string().contains(expected), "{refused}");
    }
}
