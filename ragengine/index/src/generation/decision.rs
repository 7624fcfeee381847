//! Decides which generation an index should have, from the serving one, the plan, the server's model and the user's
//! request. Pure functions.

use ragengine_client::wire::IndexSettings;
use ragengine_settings::VectorIndexKind;

use super::{Phase, Plan};
use crate::chunking::Sizes;
use crate::record::IndexRecord;

/// The properties of the server's embedding model that matter to an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Its display name.
    pub name: String,
    /// A hash of everything that affects its vectors.
    pub fingerprint: String,
    /// The number of values in a vector.
    pub dimensions: usize,
    /// The longest passage that it accepts, in tokens.
    pub max_passage_tokens: usize,
}

impl Model {
    /// Whether it made an index's vectors.
    pub fn has_made(&self, record: &IndexRecord) -> bool {
        record.embedding_fingerprint == self.fingerprint && record.dimensions == self.dimensions
    }
}

/// The action for an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// None.
    Nothing,
    /// Drop the plan: the serving generation is as requested.
    Drop,
    /// Continue the plan.
    Resume,
    /// Start building this generation, in place of any existing plan.
    Begin(IndexRecord),
}

/// Decides at a start, when the server's model may have changed.
pub fn decide_at_start(serving: &IndexRecord, plan: Option<&Plan>, model: &Model) -> Decision {
    let base = base(serving, plan);
    let target = if model.has_made(base) { base.clone() } else { with_model(base, model) };
    let is_the_same = plan.is_some_and(|plan| plan.target == target);
    match (plan.map(|plan| plan.phase), is_the_same) {
        (Some(Phase::Building { .. }), true) => Decision::Resume,
        // The user abandoned the generation with this model.
        (Some(Phase::Abandoned), _) if plan.is_some_and(|plan| model.has_made(&plan.target)) => Decision::Nothing,
        (None, _) if target == *serving => Decision::Nothing,
        (Some(_), false) if target == *serving => Decision::Drop,
        _ => Decision::Begin(target),
    }
}

/// Decides when a user wants to continue an abandoned generation, or one that the server's model makes necessary.
pub fn decide_on_resume(serving: &IndexRecord, plan: Option<&Plan>, model: &Model) -> Decision {
    match plan {
        Some(plan) if plan.folder().is_some() => Decision::Nothing,
        Some(plan) if model.has_made(&plan.target) => Decision::Begin(plan.target.clone()),
        _ => decide_at_start(serving, None, model),
    }
}

/// The settings that a user requests for an existing index. Settings that are not set stay unchanged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestedSettings {
    /// The most tokens of a chunk.
    pub max_tokens: Option<u32>,
    /// The overlap between chunks, in tokens.
    pub overlap_tokens: Option<u32>,
    /// The kind of vector index.
    pub vector_index: Option<VectorIndexKind>,
}

impl RequestedSettings {
    /// The settings of a request, whose kind of vector index is parsed already.
    pub fn new(settings: &IndexSettings, vector_index: Option<VectorIndexKind>) -> Self {
        let chunking = &settings.chunking;
        Self { max_tokens: chunking.max_tokens, overlap_tokens: chunking.overlap_tokens, vector_index }
    }
}

/// Decides when a user requests settings. Requesting the current or planned settings changes nothing.
pub fn decide_on_request(
    serving: &IndexRecord,
    plan: Option<&Plan>,
    model: &Model,
    asked: RequestedSettings,
) -> Decision {
    let base = base(serving, plan);
    let wanted = IndexRecord {
        max_tokens: asked.max_tokens.unwrap_or(base.max_tokens),
        overlap_tokens: asked.overlap_tokens.unwrap_or(base.overlap_tokens),
        vector_index: asked.vector_index.unwrap_or(base.vector_index),
        ..base.clone()
    };
    let target = with_model(&wanted, model);
    let is_building = plan.is_some_and(|plan| plan.folder().is_some());
    // Above the limit of the model, all sizes mean the same. The one in use may be: another model allowed it.
    let is_above = settings(&wanted) != settings(&target);
    let is_the_same =
        settings(&target) == settings(base) || (is_above && settings(&target) == settings(&with_model(base, model)));
    match (is_the_same, is_building) {
        (true, _) => Decision::Nothing,
        (false, true) if target == *serving => Decision::Drop,
        (false, _) => Decision::Begin(target),
    }
}

/// The current target: the generation that is being built, or else the serving one.
fn base<'a>(serving: &'a IndexRecord, plan: Option<&'a Plan>) -> &'a IndexRecord {
    plan.filter(|plan| plan.folder().is_some()).map_or(serving, |plan| &plan.target)
}

fn settings(record: &IndexRecord) -> (u32, u32, VectorIndexKind) {
    (record.max_tokens, record.overlap_tokens, record.vector_index)
}

/// The same settings with another model, within its limits.
fn with_model(record: &IndexRecord, model: &Model) -> IndexRecord {
    let sizes = Sizes::resolve(Some(record.max_tokens), Some(record.overlap_tokens), model.max_passage_tokens);
    IndexRecord {
        // A model with the same fingerprint under another name is the same model: keep the recorded name.
        model: if model.has_made(record) { record.model.clone() } else { model.name.clone() },
        embedding_fingerprint: model.fingerprint.clone(),
        dimensions: model.dimensions,
        max_tokens: u32::try_from(sizes.max_tokens).unwrap_or(u32::MAX),
        overlap_tokens: u32::try_from(sizes.overlap_tokens).unwrap_or(u32::MAX),
        vector_index: record.vector_index,
    }
}
