//! Finds the interactions that may be used.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use ragengine_embedding::Windows;
use ragengine_engine::{ChunkAt, Index};
use ragengine_pipeline::interactions::limits::TOP_K_OF_PROVIDER;
use ragengine_pipeline::interactions::priority::{Priority, prioritised, up_share};
use ragengine_stores::Similar;
use tracing::warn;

use super::super::question::Asked;
use crate::app::App;
use crate::chat::kept::ChunkReference;
use crate::error::ApiError;
use crate::stores::Stores;

/// Interactions that are looked for, for each one to use: some have chunks that are gone.
const FOUND_FOR_EACH: usize = 4;

/// The interactions of the asker whose questions are similar and whose chunks are all still there, in the order of
/// their use.
///
/// # Errors
///
/// Those of the store and the index.
pub(super) async fn find(app: &App, asked: &Arc<Asked>, vectors: &Windows) -> Result<Vec<Similar>, ApiError> {
    let (loaded, settings) = (app.loaded()?, &app.settings.interactions);
    let Some(store) = loaded.stores.interactions() else { return Ok(Vec::new()) };
    let provider = asked.request.stages.provider.as_deref();
    let most = if provider.is_some() { TOP_K_OF_PROVIDER } else { settings.top_k as usize };
    let (index, vector) = (&asked.index, vectors.mean());
    let fingerprint = &index.record().embedding_fingerprint;
    let limit = most * FOUND_FOR_EACH;
    let similar =
        store.nearest(&asked.owner, index.name(), fingerprint, &vector, provider, limit, settings.min_similarity);
    let similar = similar.await?;
    if similar.is_empty() {
        return Ok(Vec::new());
    }
    let present = present(index, similar, most).await;
    let shares = shares(&loaded.stores, &asked.owner, &present).await;
    Ok(in_order(present, &shares))
}

/// The first interactions whose chunks are all still there. Those whose chunks cannot be read count as gone.
async fn present(index: &Index, similar: Vec<Similar>, most: usize) -> Vec<Similar> {
    let at = |reference: &String| {
        let ChunkReference { doc_id, ordinal, node_id } = ChunkReference::parse(reference)?;
        Some(ChunkAt { doc_id: doc_id.to_owned(), ordinal, node_id: node_id.to_owned() })
    };
    let (similar, wanted): (Vec<Similar>, Vec<Vec<ChunkAt>>) = similar
        .into_iter()
        .filter_map(|similar| {
            let chunks = similar.node_ids.iter().map(at).collect::<Option<Vec<_>>>()?;
            Some((similar, chunks))
        })
        .unzip();
    let have = index.have_chunks(wanted).await.unwrap_or_else(|error| {
        warn!(kind = error.kind(), "interactions not used: their chunks cannot be read");
        Vec::new()
    });
    similar.into_iter().zip(have).filter(|(_, has_all)| *has_all).map(|(similar, _)| similar).take(most).collect()
}

/// The share of up votes of each provider, over the asker's interactions. Those of unknown ones are left out.
async fn shares(stores: &Stores, owner: &str, similar: &[Similar]) -> BTreeMap<String, f32> {
    let (Some(interactions), Some(feedback)) = (stores.interactions(), stores.feedback()) else {
        return BTreeMap::new();
    };
    let providers: Vec<String> = similar.iter().map(|similar| similar.ai_provider.clone()).collect();
    let rated = async {
        let ids = interactions.ids_of_providers(owner, &providers).await?;
        let all: Vec<String> = ids.values().flatten().cloned().collect();
        let ratings = feedback.ratings(&all).await?;
        let sum = |ids: &Vec<String>| {
            let counts = ids.iter().filter_map(|id| ratings.get(id));
            let (ups, downs) = counts.fold((0, 0), |(ups, downs), (up, down)| (ups + up, downs + down));
            up_share(ups, downs)
        };
        Ok::<_, ragengine_stores::StoreError>(ids.iter().map(|(provider, ids)| (provider.clone(), sum(ids))).collect())
    };
    // Without votes, the order is that of similarity and day.
    rated.await.unwrap_or_default()
}

fn in_order(similar: Vec<Similar>, shares: &BTreeMap<String, f32>) -> Vec<Similar> {
    let unknown = up_share(0, 0);
    let priority = |(id, similar): (usize, &Similar)| Priority {
        id,
        similarity: similar.similarity,
        day: day(similar.created_at_ms),
        up_share: shares.get(&similar.ai_provider).copied().unwrap_or(unknown),
    };
    let priorities: Vec<Priority<usize>> = similar.iter().enumerate().map(priority).collect();
    prioritised(&priorities).into_iter().map(|id| similar[id].clone()).collect()
}

fn day(created_at_ms: i64) -> Option<Date> {
    Timestamp::from_millisecond(created_at_ms).ok().map(|time| time.to_zoned(TimeZone::UTC).date())
}
