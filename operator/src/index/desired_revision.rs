//! What is wanted, as one value: as long as it is the same, and was done, there is nothing to do.

use k8s_openapi::jiff::Timestamp;
use ragengine_operator_api::{CONFIRM_DELETE_ANNOTATION, Index, RagEngine, SYNC_ANNOTATION};

use super::observe::ObservedReference;
use super::validate::Validated;
use crate::hash::hash;

/// The longest value of an annotation that is looked at, in characters.
const MAX_ANNOTATION: usize = 200;
/// The same for one that confirms deletions: it has a word for each source.
const MAX_CONFIRMATION: usize = 2000;

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredRevision {
    /// All of it, with the schedule and how the index is made.
    pub wanted: String,
    /// What the index is to hold: one that is only to be looked at once more, or to be made otherwise, holds what was asked for.
    pub specification: String,
    /// The same as earlier versions have reckoned it, with the requests: what they have synchronised is not asked for again.
    pub legacy_specification: String,
}

/// What is wanted of an Index, from what it says, what that refers to, the engine's data directory and the time.
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

/// An annotation's value, or its beginning. An empty one is none.
pub fn annotation(index: &Index, name: &str) -> Option<String> {
    let value = index.metadata.annotations.as_ref()?.get(name)?;
    let max = if name == CONFIRM_DELETE_ANNOTATION { MAX_CONFIRMATION } else { MAX_ANNOTATION };
    (!value.is_empty()).then(|| value.chars().take(max).collect())
}

/// The identity of the engine's data directory.
pub fn data_id(engine: &RagEngine) -> Option<&str> {
    engine.status.as_ref()?.data_id.as_deref()
}
