//! Validates a specification beyond the rules of its CRD.

use std::collections::BTreeSet;

use k8s_openapi::jiff::Timestamp;
use ragengine_operator_api::{AccessRules, Index, IndexSource, IndexSpec, Origin};
use ragengine_settings::VectorIndexKind;
use ragengine_settings::sync::AddressRange;
use serde_json::Value;

use super::schedule::Schedule;
use crate::access_rules::wrong_rule;
use crate::finding::Invalid;
use crate::names::IndexIdentity;
use crate::watches::Referred;

/// The maximum size of all inline documents in bytes: the task made of them must fit into a ConfigMap of 1 MiB.
const MAX_INLINE_BYTES: usize = 900_000;
/// The maximum size of a metadata value, in bytes of JSON.
const MAX_METADATA_BYTES: usize = 4096;

/// A valid specification.
#[derive(Debug, Clone)]
pub struct Validated {
    /// The Index that it belongs to.
    pub identity: IndexIdentity,
    /// The specification.
    pub spec: IndexSpec,
    /// The name of the index in the engine.
    pub index_name: String,
    /// When its sources are synchronised again.
    pub schedule: Option<Schedule>,
    /// The kind of vector index.
    pub vector_index: Option<VectorIndexKind>,
    /// Additional addresses that sources may use.
    pub allowed_ranges: Vec<AddressRange>,
}

/// Validates a specification against the address ranges that the operator allows. A schedule that does not occur after
/// `now` is invalid.
///
/// # Errors
///
/// [`Invalid`] with all violations.
pub fn validate(index: &Index, allowed: &[AddressRange], now: Timestamp) -> Result<Validated, Invalid> {
    let spec = index.spec.clone();
    let mut wrong = Vec::new();
    let uid = index.metadata.uid.as_deref().unwrap_or_default();
    let schedule = spec.schedule.as_deref().map(|text| Schedule::parse(text, uid, now));
    let schedule = noted(schedule.transpose(), &mut wrong).flatten();
    let vector_index = spec.vector_index.as_deref().map(str::parse).transpose();
    let vector_index =
        noted(vector_index.map_err(|error: ragengine_settings::ParseVectorIndexError| error.to_string()), &mut wrong)
            .flatten();
    let ranges = spec.allowed_ranges.iter().map(|range| range.parse::<AddressRange>());
    let allowed_ranges: Vec<AddressRange> = ranges
        .filter_map(|range| noted(range.map_err(|error| format!("allowedRanges: {error}")), &mut wrong))
        .collect();
    wrong.extend(allowed_ranges.iter().filter(|range| !allowed.iter().any(|allowed| allowed.covers(range))).map(
        |range| {
            format!(
                "allowedRanges: this operator does not allow {range}: remove it, \
             or start the operator with --allowed-ranges {range}"
            )
        },
    ));
    wrong.extend(spec.access.as_ref().and_then(wrong_access));
    wrong.extend(spec.sources.iter().flat_map(wrong_with));
    wrong.extend(too_much(&spec.sources));
    if !wrong.is_empty() {
        return Err(Invalid(wrong));
    }
    Ok(Validated {
        identity: IndexIdentity::of(index),
        index_name: index.index_name().to_owned(),
        spec,
        schedule,
        vector_index,
        allowed_ranges,
    })
}

fn noted<T>(read: Result<T, String>, wrong: &mut Vec<String>) -> Option<T> {
    read.map_err(|error| wrong.push(error)).ok()
}

fn wrong_with(source: &IndexSource) -> Vec<String> {
    let name = &source.name;
    let mut wrong = Vec::new();
    if source.origin().is_none() {
        wrong.push(format!(
            "sources {name}: no origin is set: set one of inline, configMap, persistentVolumeClaim, http, git and s3"
        ));
    }
    for (key, value) in &source.metadata {
        let is_plain = |value: &Value| !(value.is_object() || value.is_array());
        let is_fine = is_plain(value) || value.as_array().is_some_and(|items| items.iter().all(is_plain));
        if !is_fine || value.to_string().len() > MAX_METADATA_BYTES {
            wrong.push(format!(
                "sources {name}: metadata.{key} must be a string, a number, true, false, or a list of these, \
                 of at most {MAX_METADATA_BYTES} bytes"
            ));
        }
    }
    if let Some(Origin::Inline(inline)) = source.origin() {
        let paths: BTreeSet<&str> = inline.documents.iter().map(|document| document.path.as_str()).collect();
        if paths.len() < inline.documents.len() {
            wrong.push(format!("sources {name}: two documents have the same path: give each a different one"));
        }
    }
    wrong
}

fn too_much(sources: &[IndexSource]) -> Option<String> {
    let inline = sources.iter().filter_map(|source| source.inline.as_ref());
    let bytes: usize = inline.flat_map(|inline| &inline.documents).map(|file| file.path.len() + file.text.len()).sum();
    (bytes > MAX_INLINE_BYTES).then(|| {
        format!(
            "sources: the inline documents have {bytes} bytes, the limit is {MAX_INLINE_BYTES}: \
             put them into ConfigMaps or a volume, and refer to these"
        )
    })
}

/// The objects that a specification refers to, except the engine. Also computed for an invalid specification, so that
/// the Index wakes when an object appears.
pub fn references(spec: &IndexSpec) -> BTreeSet<(Referred, String)> {
    let secrets = spec.sources.iter().filter_map(IndexSource::access_secret);
    let mounted = spec.sources.iter().filter_map(|source| match source.origin()? {
        Origin::ConfigMap(config_map) => Some((Referred::ConfigMap, config_map.name.clone())),
        Origin::Volume(claim) => Some((Referred::Claim, claim.name.clone())),
        Origin::Inline(_) | Origin::Http(_) | Origin::Git(_) | Origin::S3(_) => None,
    });
    mounted.chain(secrets.map(|secret| (Referred::Secret, secret.to_owned()))).collect()
}

fn wrong_access(access: &AccessRules) -> Option<String> {
    let AccessRules { read, write } = access;
    wrong_rule(read.iter().chain(write)).map(|wrong| format!("access: {wrong}"))
}
