//! Which generation is wanted: pure, from what serves, what is planned, the server's model and what a user asks for.

use ragengine_client::wire::IndexSettings;
use ragengine_settings::VectorIndexKind;

use super::{Phase, Plan};
use crate::chunking::Sizes;
use crate::record::IndexRecord;

/// The embedding model in use, as far as an index depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Its name, for people.
    pub name: String,
    /// Everything that its vectors depend on.
    pub fingerprint: String,
    /// The width of its vectors.
    pub dimensions: usize,
    /// The longest passage in tokens.
    pub max_passage_tokens: usize,
}

impl Model {
    /// Whether an index's vectors are its own.
    pub fn has_made(&self, record: &IndexRecord) -> bool {
        record.embedding_fingerprint == self.fingerprint && record.dimensions == self.dimensions
    }
}

/// What has to happen to an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing.
    Rest,
    /// The plan is dropped: what serves is what is wanted.
    Drop,
    /// The plan is gone on with.
    Resume,
    /// This is begun, in the place of whatever was planned.
    Begin(IndexRecord),
}

/// What has to happen at a start, when the server's model may be another than before.
pub fn decide(serving: &IndexRecord, plan: Option<&Plan>, model: &Model) -> Decision {
    let base = base(serving, plan);
    let target = if model.has_made(base) { base.clone() } else { with_model(base, model) };
    let is_the_same = plan.is_some_and(|plan| plan.target == target);
    match (plan.map(|plan| plan.phase), is_the_same) {
        (Some(Phase::Building { .. }), true) => Decision::Resume,
        // It was given up with this model.
        (Some(Phase::Abandoned), _) if plan.is_some_and(|plan| model.has_made(&plan.target)) => Decision::Rest,
        (None, _) if target == *serving => Decision::Rest,
        (Some(_), false) if target == *serving => Decision::Drop,
        _ => Decision::Begin(target),
    }
}

/// What has to happen when a user wants what was given up, or what the server's model makes necessary.
pub fn again(serving: &IndexRecord, plan: Option<&Plan>, model: &Model) -> Decision {
    match plan {
        Some(plan) if plan.folder().is_some() => Decision::Rest,
        Some(plan) if model.has_made(&plan.target) => Decision::Begin(plan.target.clone()),
        _ => decide(serving, None, model),
    }
}

/// What a user says of an index that is there. What is not said stays as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// The longest chunk in tokens.
    pub max_tokens: Option<u32>,
    /// How many tokens of a chunk are repeated in the next.
    pub overlap_tokens: Option<u32>,
    /// How vectors are kept for search.
    pub vector_index: Option<VectorIndexKind>,
}

impl Asked {
    /// What a request says, its kind of vector index read already.
    pub fn new(settings: &IndexSettings, vector_index: Option<VectorIndexKind>) -> Self {
        let chunking = &settings.chunking;
        Self { max_tokens: chunking.max_tokens, overlap_tokens: chunking.overlap_tokens, vector_index }
    }
}

/// What has to happen when a user asks for settings. Asking for what is there, or being built, changes nothing.
pub fn asked(serving: &IndexRecord, plan: Option<&Plan>, model: &Model, asked: Asked) -> Decision {
    let base = base(serving, plan);
    let wanted = IndexRecord {
        max_tokens: asked.max_tokens.unwrap_or(base.max_tokens),
        overlap_tokens: asked.overlap_tokens.unwrap_or(base.overlap_tokens),
        vector_index: asked.vector_index.unwrap_or(base.vector_index),
        ..base.clone()
    };
    let target = with_model(&wanted, model);
    let is_building = plan.is_some_and(|plan| plan.folder().is_some());
    match (settings(&target) == settings(base), is_building) {
        (true, _) => Decision::Rest,
        (false, true) if target == *serving => Decision::Drop,
        (false, _) => Decision::Begin(target),
    }
}

/// What is wanted so far: what is being built, or else what serves.
fn base<'a>(serving: &'a IndexRecord, plan: Option<&'a Plan>) -> &'a IndexRecord {
    plan.filter(|plan| plan.folder().is_some()).map_or(serving, |plan| &plan.target)
}

fn settings(record: &IndexRecord) -> (u32, u32, VectorIndexKind) {
    (record.max_tokens, record.overlap_tokens, record.vector_index)
}

/// The same settings with this model, within its limits.
fn with_model(record: &IndexRecord, model: &Model) -> IndexRecord {
    let sizes = Sizes::resolve(Some(record.max_tokens), Some(record.overlap_tokens), model.max_passage_tokens);
    IndexRecord {
        // A model that has moved is the same under another name.
        model: if model.has_made(record) { record.model.clone() } else { model.name.clone() },
        embedding_fingerprint: model.fingerprint.clone(),
        dimensions: model.dimensions,
        max_tokens: u32::try_from(sizes.max_tokens).unwrap_or(u32::MAX),
        overlap_tokens: u32::try_from(sizes.overlap_tokens).unwrap_or(u32::MAX),
        vector_index: record.vector_index,
    }
}
