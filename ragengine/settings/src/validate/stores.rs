//! The settings of the stores.

use super::{Invalid, is_short};
use crate::{OverlapThreshold, Settings, StateStore};

/// The longest `NAMESPACE.NAME` of an object in Kubernetes.
const MAX_NAMESPACE_BYTES: usize = 63 + 1 + 253;

/// The most interactions that are looked for, which is also the most of one caller.
const MAX_INTERACTIONS: u32 = 1000;

/// Ten times the context of the largest models.
const MAX_CHARS: u32 = 10_000_000;

/// What is wrong with `stateNamespace`, `postgres`, `feedback` and `interactions`.
pub(super) fn check(settings: &Settings) -> impl Iterator<Item = Invalid> {
    let (postgres, interactions) = (&settings.postgres, &settings.interactions);
    let url = postgres.url.as_deref();
    let counts = [interactions.max_entries, interactions.keep, interactions.top_k];
    let lengths = interactions.max_chars_by_model.values().chain([&interactions.max_chars]);
    let is_share = match interactions.overlap_threshold {
        OverlapThreshold::Share(share) => (0.0..=1.0).contains(&share),
        OverlapThreshold::Named(_) => true,
    };
    let checks = [
        (
            (1..=MAX_NAMESPACE_BYTES).contains(&settings.state_namespace.len())
                && settings.state_namespace.bytes().all(|byte| byte.is_ascii_graphic()),
            "stateNamespace",
            "must be 1 to 317 letters, digits and marks without spaces, such as default or team-a.docs",
        ),
        (
            url.is_none_or(|url| url.starts_with("postgres://") || url.starts_with("postgresql://")),
            "postgres.url",
            "must begin with postgres://, such as postgres://USER@HOST:5432/DATABASE",
        ),
        (
            url.is_none_or(has_no_password),
            "postgres.url",
            "must not contain a password: write its location in postgres.password",
        ),
        (
            postgres.password.is_none() || url.is_some(),
            "postgres.password",
            "needs postgres.url: write that too, or remove the password",
        ),
        (needs_no_url(settings.feedback.store) || url.is_some(), "feedback.store", NEEDS_URL),
        (needs_no_url(interactions.store) || url.is_some(), "interactions.store", NEEDS_URL),
        (is_short(&interactions.provider_name), "interactions.providerName", "must be 1 to 200 bytes"),
        (
            counts.iter().all(|count| (1..=MAX_INTERACTIONS).contains(count)),
            "interactions",
            "maxEntries, keep and topK must be between 1 and 1000",
        ),
        (
            lengths.into_iter().all(|chars| (1..=MAX_CHARS).contains(chars)),
            "interactions",
            "maxChars and the values of maxCharsByModel must be between 1 and 10000000",
        ),
        ((0.0..=1.0).contains(&interactions.min_similarity), "interactions.minSimilarity", "must be between 0 and 1"),
        (is_share, "interactions.overlapThreshold", "must be between 0 and 1, or adaptive"),
    ];
    let wrong = checks.into_iter().filter(|(holds, ..)| !holds);
    wrong.map(|(_, setting, message)| Invalid { setting: setting.to_owned(), message: message.to_owned() })
}

const NEEDS_URL: &str = "postgres needs postgres.url: write the database's address there, or store: redb";

fn needs_no_url(store: StateStore) -> bool {
    store == StateStore::Redb
}

/// Whether neither the user part nor the query of the address has a password.
pub(super) fn has_no_password(url: &str) -> bool {
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = after_scheme.split(['/', '?', '#']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    let query = url.split_once('?').map_or("", |(_, query)| query);
    !user.contains(':') && !query.split('&').any(|pair| pair.to_ascii_lowercase().starts_with("password"))
}
