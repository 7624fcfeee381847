//! The settings of callers: who they are, what they may do, and how much.

use super::stores::has_no_password;
use super::{Invalid, is_http, is_short};
use crate::{AccessRules, Auth, AuthMode, JwtIssuer, Settings};

const MAX_ISSUERS: usize = 20;
const MAX_RULES: usize = 1000;
const MAX_INDEXES: usize = 10_000;
const MAX_PER_MINUTE: u32 = 1_000_000;

/// What is wrong with `auth`, `limits.chatsPerMinutePerCaller`, `cache`, `guardrails` and `events`.
pub(super) fn check(settings: &Settings) -> impl Iterator<Item = Invalid> {
    let (auth, cache, events) = (&settings.auth, &settings.cache, &settings.events);
    let has = |mode: AuthMode| auth.modes.contains(&mode);
    let url = events.url.as_deref();
    let checks = [
        (
            auth.modes.iter().enumerate().all(|(place, mode)| !auth.modes[..place].contains(mode)),
            "auth.modes",
            "has a mode twice: remove one",
        ),
        (
            !auth.modes.is_empty() || !has_rules(auth),
            "auth.modes",
            "is empty, so every caller is let in, and the rules of auth.indexes, auth.accessFile and auth.defaultAccess \
             would do nothing: write how callers prove who they are, such as apiKey, or remove the rules",
        ),
        (
            !has(AuthMode::ApiKey) || auth.api_keys_folder.is_some(),
            "auth.apiKeysFolder",
            "is needed by the mode apiKey: write the folder of the keys, or remove the mode",
        ),
        (
            !has(AuthMode::SessionToken) || settings.redis.url.is_some(),
            "auth.modes",
            "sessionToken needs redis.url: write the address of the server with the sessions, or remove the mode",
        ),
        (
            (1..=200).contains(&auth.session_token.key_prefix.len())
                && auth.session_token.key_prefix.bytes().all(|byte| byte.is_ascii_graphic()),
            "auth.sessionToken.keyPrefix",
            "must be 1 to 200 letters, digits and marks without spaces, such as session:",
        ),
        (
            !has(AuthMode::Jwt) || !auth.jwt.is_empty(),
            "auth.jwt",
            "is needed by the mode jwt: write the issuers of tokens, or remove the mode",
        ),
        (
            auth.jwt.len() <= MAX_ISSUERS && auth.jwt.iter().all(is_issuer),
            "auth.jwt",
            "must list at most 20 issuers, each with issuer, audience, and either jwksUrl or jwksFile; a jwksUrl begins \
             with http:// or https:// and has no password",
        ),
        (
            [&auth.default_access].into_iter().chain(auth.indexes.values()).all(are_few),
            "auth",
            "read and write of defaultAccess and of each index must have at most 1000 rules, each of 1 to 600 bytes",
        ),
        (
            auth.indexes.len() <= MAX_INDEXES && auth.indexes.keys().all(|name| is_short(name)),
            "auth.indexes",
            "must have at most 10000 indexes",
        ),
        (
            auth.access_file.is_none() || auth.indexes.is_empty(),
            "auth.indexes",
            "must be empty beside auth.accessFile, which has the rules",
        ),
        (
            settings.limits.chats_per_minute_per_caller <= MAX_PER_MINUTE,
            "limits.chatsPerMinutePerCaller",
            "must be at most 1000000",
        ),
        ((0.0..=1.0).contains(&cache.min_similarity), "cache.minSimilarity", "must be between 0 and 1"),
        ((1..=365).contains(&cache.ttl_days), "cache.ttlDays", "must be between 1 and 365"),
        (
            !settings.guardrails.enabled || settings.guardrails.policy_file.is_some(),
            "guardrails.policyFile",
            "is needed by enabled: true: write the file with the policy",
        ),
        (
            url.is_none_or(|url| url.starts_with("amqp://") || url.starts_with("amqps://")),
            "events.url",
            "must begin with amqp:// or amqps://, such as amqp://USER@HOST:5672",
        ),
        (
            url.is_none_or(has_no_password),
            "events.url",
            "must not contain a password: write its location in events.password",
        ),
        (
            events.password.is_none() || url.is_some(),
            "events.password",
            "needs events.url: write that too, or remove the password",
        ),
        (
            (1..=127).contains(&events.exchange.len()) && !events.exchange.starts_with("amq."),
            "events.exchange",
            "must have 1 to 127 bytes, and not begin with amq., which RabbitMQ reserves",
        ),
    ];
    let wrong = checks.into_iter().filter(|(holds, ..)| !holds);
    wrong.map(|(_, setting, message)| Invalid { setting: setting.to_owned(), message: message.to_owned() })
}

/// Whether there are rules for callers. The operator is told by `accessFile` too, and is known without a mode.
fn has_rules(auth: &Auth) -> bool {
    let knows_operator = auth.jwt.iter().any(|issuer| issuer.kubernetes);
    !auth.indexes.is_empty()
        || auth.default_access != Auth::default().default_access
        || auth.access_file.is_some() && !knows_operator
}

fn is_issuer(issuer: &JwtIssuer) -> bool {
    is_short(&issuer.issuer)
        && is_short(&issuer.audience)
        && issuer.jwks_url.is_some() != issuer.jwks_file.is_some()
        && issuer.jwks_url.as_deref().is_none_or(|url| is_http(url) && has_no_password(url))
}

fn are_few(rules: &AccessRules) -> bool {
    [&rules.read, &rules.write]
        .into_iter()
        .all(|rules| rules.len() <= MAX_RULES && rules.iter().all(|rule| (1..=600).contains(&rule.len())))
}
