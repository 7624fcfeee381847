//! Sessions of other programs, as they write them to Redis.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Number, Value};

use crate::identity::is_model_id;
use crate::{Identity, Principal};

/// The end of the year 9999, in seconds since 1970. A later expiry is one in milliseconds, and would never come.
const LAST_S: f64 = 253_402_300_799.0;

/// A session cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The value is not a JSON object with the right fields. The text says which one is wrong, without its value.
    #[error("{0}")]
    Malformed(&'static str),
    /// The session has expired.
    #[error("the session has expired")]
    Expired,
}

/// The fields that are read. Other programs may write more.
#[derive(Deserialize)]
struct Fields {
    user_id: String,
    groups: Option<Vec<String>>,
    model_id: Option<String>,
    expires_at: Option<Value>,
}

/// Reads the value of a session token in Redis: a JSON object with `user_id`, and if known `groups`, `model_id` and
/// `expires_at`, which is a text as in RFC 3339 or a number of seconds since 1970. `now_s` is the time now, in seconds
/// since 1970.
///
/// # Errors
///
/// [`SessionError`].
pub fn read_session(value: &str, now_s: f64) -> Result<Identity, SessionError> {
    let malformed = SessionError::Malformed;
    let fields: Fields = serde_json::from_str(value)
        .map_err(|_| malformed("it is not a JSON object with the text user_id and, if given, the list groups"))?;
    let principal = Principal::user(&fields.user_id).map_err(|_| malformed("user_id cannot be that of a user"))?;
    if fields.model_id.as_deref().is_some_and(|id| !is_model_id(id)) {
        return Err(malformed("model_id cannot be that of a model"));
    }
    let expires_at = fields.expires_at.as_ref().map(|value| {
        expiry_s(value).ok_or(malformed("expires_at is neither a time as in RFC 3339 nor a number of seconds"))
    });
    if expires_at.transpose()?.is_some_and(|expires_at| expires_at <= now_s) {
        return Err(SessionError::Expired);
    }
    let identity = Identity::with_groups(principal, &fields.groups.unwrap_or_default());
    Ok(Identity { model_id: fields.model_id, ..identity })
}

fn expiry_s(value: &Value) -> Option<f64> {
    let since_1970 = match value {
        Value::String(text) => seconds(text.parse().ok()?),
        Value::Number(number) => Number::as_f64(number)?,
        _ => return None,
    };
    (-LAST_S..=LAST_S).contains(&since_1970).then_some(since_1970)
}

fn seconds(time: Timestamp) -> f64 {
    time.as_duration().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn now() -> Timestamp {
        "2026-05-01T12:00:00Z".parse().unwrap()
    }

    fn read(value: &str) -> Result<Identity, SessionError> {
        read_session(value, seconds(now()))
    }

    #[test]
    fn a_session_has_a_user_and_maybe_groups_and_a_model() {
        let identity = read(r#"{"user_id":"u-1","groups":["staff","x\ny"],"model_id":"gpt-4o","more":[1]}"#).unwrap();
        let names: Vec<_> = identity.principals().map(Principal::as_str).collect();
        assert_eq!((names, identity.model_id.as_deref()), (vec!["user:u-1", "group:staff"], Some("gpt-4o")));
        let identity = read(r#"{"user_id":"u","groups":null,"model_id":null,"expires_at":null}"#).unwrap();
        assert_eq!(identity, Identity::of(Principal::user("u").unwrap()));
    }

    #[test]
    fn a_session_expires() {
        let at = now().as_second();
        for (expires_at, is_valid) in [
            (r#""2026-05-01T12:00:01Z""#.to_owned(), true),
            (r#""2026-05-01T12:00:00.5Z""#.to_owned(), true),
            (r#""2026-05-01T14:00:01+02:00""#.to_owned(), true),
            (r#""2026-05-01T12:00:00Z""#.to_owned(), false),
            (r#""2026-05-01T13:59:59+02:00""#.to_owned(), false),
            (format!("{}", at + 1), true),
            (format!("{at}.5"), true),
            (format!("{at}"), false),
            ("0".to_owned(), false),
            ("-5".to_owned(), false),
        ] {
            let value = format!(r#"{{"user_id":"u","expires_at":{expires_at}}}"#);
            let expected = if is_valid { Ok(()) } else { Err(SessionError::Expired) };
            assert_eq!(read(&value).map(drop), expected, "{value}");
        }
    }

    #[test]
    fn a_malformed_session_is_refused_without_being_quoted() {
        for (value, expected) in [
            ("", "JSON"),
            ("s3cret", "JSON"),
            ("[]", "JSON"),
            ("null", "JSON"),
            (r#"{"user_id":"u"} x"#, "JSON"),
            ("{}", "user_id"),
            (r#"{"user_id":3}"#, "user_id"),
            (r#"{"user_id":null}"#, "user_id"),
            (r#"{"user_id":"u","user_id":"s3cret"}"#, "JSON"),
            (r#"{"user_id":""}"#, "user_id"),
            (r#"{"user_id":"s3cret\n"}"#, "user_id"),
            (r#"{"user_id":"u","groups":"staff"}"#, "groups"),
            (r#"{"user_id":"u","groups":[1]}"#, "groups"),
            (r#"{"user_id":"u","model_id":7}"#, "JSON"),
            (r#"{"user_id":"u","model_id":""}"#, "model_id"),
            (r#"{"user_id":"u","expires_at":"tomorrow"}"#, "expires_at"),
            (r#"{"user_id":"u","expires_at":"2026-05-01T12:00:01"}"#, "expires_at"),
            (r#"{"user_id":"u","expires_at":true}"#, "expires_at"),
            // Milliseconds.
            (r#"{"user_id":"u","expires_at":1777636800000}"#, "expires_at"),
            (r#"{"user_id":"u","expires_at":1e300}"#, "expires_at"),
        ] {
            let error = read(value).unwrap_err();
            let words = error.to_string();
            assert!(matches!(error, SessionError::Malformed(_)) && words.contains(expected), "{value}: {words}");
            assert!(!words.contains("s3cret"), "{words}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(value in "[{}\"a-z_:,0-9\\[\\]eE+-]{0,60}") {
            drop(read(&value));
        }
    }
}
