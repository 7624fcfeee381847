//! Writes interactions as a part of the prompt.

use std::sync::Arc;

use ragengine_pipeline::interactions::Interaction;
use ragengine_pipeline::interactions::build::{Built, EntryLimits, build_context};
use ragengine_pipeline::interactions::limits::max_chars;
use ragengine_pipeline::interactions::relevance::OverlapThreshold;
use ragengine_pipeline::interactions::validity::validate_context;
use ragengine_pipeline::prompt::{self, Boundary};
use ragengine_settings::{Interactions, NamedThreshold, OverlapThreshold as Setting};
use ragengine_stores::Similar;
use tracing::{debug, info, warn};

use super::super::question::Asked;
use super::label;

/// The part of the prompt, and its explanation.
#[derive(Default)]
pub(super) struct Written {
    /// The part. None without entries.
    pub part: Option<String>,
    /// The ids of the interactions in it, in order.
    pub ids: Vec<String>,
    /// How similar they are, in the same order.
    pub bands: Vec<String>,
}

/// The state for writing a part.
pub(super) struct Writing {
    pub asked: Arc<Asked>,
    pub settings: Interactions,
    pub boundary: Boundary,
    pub tokens_left: u64,
}

impl Writing {
    /// Writes these interactions: as many as the limits of the settings and the tokens that are left allow.
    pub fn write(&self, past: &[Similar]) -> Written {
        // What could be mistaken for a passage's number or a boundary is escaped, as in passages.
        let texts: Vec<_> =
            past.iter().map(|past| (prompt::escaped(&past.user_input), prompt::escaped(&past.ai_response))).collect();
        // The name of the model is text of a caller, too.
        let names: Vec<_> = past
            .iter()
            .map(|past| (prompt::escaped_name(&past.ai_provider), prompt::escaped_name(&past.task_category)))
            .collect();
        let interactions: Vec<Interaction<'_>> = past
            .iter()
            .zip(texts.iter().zip(&names))
            .map(|(past, ((question, answer), (provider, category)))| Interaction {
                question,
                answer,
                provider: Some(provider),
                category: Some(category),
                similarity: Some(past.similarity),
            })
            .collect();
        let mut built = build_context(&interactions, self.limits());
        let question = &self.asked.turn.user_prompt;
        built.keep_relevant(question, self.settings.keep as usize, threshold(&self.settings).of(question));
        let part = self.fitting(&mut built);
        log(past, &built);
        let similarities = built.entries.iter().map(|entry| &past[entry.position]);
        let (ids, bands) = similarities.map(|similar| (similar.id.clone(), label(similar.similarity))).unzip();
        Written { part, ids, bands }
    }

    fn limits(&self) -> EntryLimits {
        let Interactions { max_chars: default, max_chars_by_model, include_metadata, max_entries, .. } = &self.settings;
        let by_model = max_chars_by_model.iter().map(|(model, chars)| (model.clone(), *chars as usize)).collect();
        let model = self.asked.served.name.as_deref().unwrap_or_default();
        EntryLimits {
            max_chars: max_chars(&by_model, *default as usize, model),
            max_entries: *max_entries as usize,
            include_metadata: *include_metadata,
        }
    }

    /// The part, without the last entries if it has more tokens than are left.
    fn fitting(&self, built: &mut Built) -> Option<String> {
        while !built.entries.is_empty() {
            let part = prompt::interactions(&self.boundary, &built.context());
            if self.asked.served.counter.text(&part) <= self.tokens_left {
                return Some(part);
            }
            built.cut_last();
        }
        None
    }
}

fn threshold(settings: &Interactions) -> OverlapThreshold {
    match settings.overlap_threshold {
        Setting::Share(share) => OverlapThreshold::Fixed(share),
        Setting::Named(NamedThreshold::Adaptive) => OverlapThreshold::Adaptive,
    }
}

/// Logs the decision about each interaction, and the context as a whole. No text of them.
fn log(past: &[Similar], built: &Built) {
    for (past, decision) in past.iter().zip(&built.decisions) {
        debug!(id = past.id, similarity = past.similarity, decision = decision.label(), "interaction");
    }
    if let Some(line) = built.log_line() {
        info!("{line}");
    }
    if let Err(invalid) = validate_context(&built.context()) {
        warn!("{invalid}");
    }
}
