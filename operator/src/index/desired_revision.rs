//! The desired revision of an Index: hashes that stay the same as long as there is nothing to synchronise.

use k8s_openapi::jiff::Timestamp;
use ragengine_operator_api::{CONFIRM_DELETE_ANNOTATION, Index, RagEngine, SYNC_ANNOTATION};

use super::observe::ObservedReference;
use super::validate::Validated;
use crate::hash::hash;

/// The maximum number of characters of an annotation that count.
const MAX_ANNOTATION: usize = 200;
/// The maximum number of characters of the annotation that confirms deletions, which has a word for each source.
const MAX_CONFIRMATION: usize = 2000;

/// Identifies the state that a synchronisation establishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredRevision {
    /// Hash of everything: content, schedule, requests and index settings.
    pub wanted: String,
    /// Hash of the content only. A scheduled synchronisation or other index settings do not change it.
    pub specification: String,
    /// Hash of the content as earlier versions computed it, including the requests. It keeps their synchronisations
    /// valid.
    pub legacy_specification: String,
}

/// Computes the desired revision from the specification, the versions of the referenced objects, the engine's data
/// directory and the time.
pub fn desired_revision(
    index: &Index,
    validated: &Validated,
    references: &[ObservedReference],
    data_id: &str,
    now: Timestamp,
) -> DesiredRevision {
    let spec = &validated.spec;
    let versions: Vec<_> = references.iter().filter(|seen| seen.is_watched).collect();
    let requests = (annotation(index, SYNC_ANNOTATION), annotation(index, CONFIRM_DELETE_ANNOTATION));
    let content = (&spec.engine_ref, &validated.index_name, &spec.sources, &spec.allowed_ranges, &versions, data_id);
    let specification = hash(&content);
    let (engine_ref, index_name, sources, allowed_ranges, versions, data_id) = content;
    let legacy_specification = hash(&(engine_ref, index_name, sources, allowed_ranges, versions, data_id, &requests));
    let turn = validated.schedule.as_ref().and_then(|schedule| schedule.last(now)).map(Timestamp::as_second);
    let settings = (&spec.chunking, &spec.vector_index, spec.deletion_policy);
    DesiredRevision { wanted: hash(&(&specification, settings, turn, requests)), specification, legacy_specification }
}

/// The value of an annotation, cut to the maximum length. `None` if it is empty.
pub fn annotation(index: &Index, name: &str) -> Option<String> {
    let value = index.metadata.annotations.as_ref()?.get(name)?;
    let max = if name == CONFIRM_DELETE_ANNOTATION { MAX_CONFIRMATION } else { MAX_ANNOTATION };
    (!value.is_empty()).then(|| value.chars().take(max).collect())
}

/// The id of the engine's data directory.
pub fn data_id(engine: &RagEngine) -> Option<&str> {
    engine.status.as_ref()?.data_id.as_deref()
}
