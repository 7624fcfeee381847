//! What becomes of answers: the cache, citations and guardrails.

use std::path::Path;

use ragengine_operator_api::{Cache, Citations, GUARDRAILS_POLICY, Guardrails};
use ragengine_settings as settings;

use super::score;

/// The name of the volume with the policy.
pub const GUARDRAILS: &str = "guardrails";
/// The folder of the policy.
pub const GUARDRAILS_FOLDER: &str = "/etc/ragengine-guardrails";

pub(super) fn cache(cache: Option<Cache>) -> settings::Cache {
    let Cache { enabled, min_similarity, ttl_days } = cache.unwrap_or_default();
    let defaults = settings::Cache::default();
    settings::Cache {
        enabled: enabled.unwrap_or(defaults.enabled),
        min_similarity: score(min_similarity, defaults.min_similarity),
        ttl_days: ttl_days.unwrap_or(defaults.ttl_days),
    }
}

pub(super) fn citations(citations: Option<&Citations>) -> settings::Citations {
    let Citations { fallback_message, insufficient_phrases, verify } = citations.cloned().unwrap_or_default();
    let defaults = settings::Citations::default();
    settings::Citations {
        fallback_message: fallback_message.unwrap_or(defaults.fallback_message),
        insufficient_phrases: insufficient_phrases.unwrap_or(defaults.insufficient_phrases),
        verify: verify.unwrap_or(defaults.verify),
    }
}

/// A policy without `enabled` is not used, so the server gets none.
pub(super) fn guardrails(guardrails: Option<&Guardrails>) -> settings::Guardrails {
    let enabled = guardrails.is_some_and(|guardrails| guardrails.enabled);
    let policy_file = enabled.then(|| Path::new(GUARDRAILS_FOLDER).join(GUARDRAILS_POLICY));
    settings::Guardrails { enabled, policy_file }
}

/// What is wrong with guardrails that are enabled without a policy. The definition of earlier versions let them pass.
pub(super) fn missing_policy(guardrails: Option<&Guardrails>) -> Option<String> {
    let Guardrails { enabled, config_map_ref } = guardrails?;
    (*enabled && config_map_ref.is_none()).then(|| {
        format!(
            "guardrails.configMapRef: is needed by enabled: true: name a ConfigMap with the policy under the key \
             {GUARDRAILS_POLICY}, or write enabled: false"
        )
    })
}
