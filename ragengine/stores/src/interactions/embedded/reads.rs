use std::collections::{BTreeMap, BTreeSet};

use redb::ReadTransaction;

use super::super::Similar;
use super::super::nearest::{Nearest, Question};
use super::tables::{INTERACTIONS, InteractionRow, OF_OWNER, VECTORS};
use crate::StoreError;
use crate::embedded::row;

/// Compares all vectors, and reads only the rows of the best.
pub(super) fn nearest(reader: &ReadTransaction, question: &Question) -> Result<Vec<Similar>, StoreError> {
    let Question { owner, index_name, fingerprint, provider, created_after_ms, .. } = question;
    let searched = (owner.as_str(), index_name.as_str(), fingerprint.as_str());
    let vectors = reader.open_table(VECTORS).map_err(redb::Error::from)?;
    let mut nearest = Nearest::to(question);
    for entry in vectors.range((searched.0, searched.1, searched.2, "")..).map_err(redb::Error::from)? {
        let (key, value) = entry.map_err(redb::Error::from)?;
        let (of_owner, of_index, made_with, id) = key.value();
        if (of_owner, of_index, made_with) != searched {
            break;
        }
        let (created_at_ms, ai_provider, vector) = value.value();
        if created_at_ms > *created_after_ms && provider.as_deref().is_none_or(|asked| asked == ai_provider) {
            nearest.compare(id, vector);
        }
    }
    let interactions = reader.open_table(INTERACTIONS).map_err(redb::Error::from)?;
    let best = nearest.into_best().into_iter().map(|(id, similarity)| {
        let row = interactions.get((owner.as_str(), id.as_str())).map_err(redb::Error::from)?;
        let row = row.ok_or_else(|| StoreError::Damaged("an interaction is missing".to_owned()))?;
        let row: InteractionRow = row::decode(row.value())?;
        let InteractionRow { user_input, ai_response, ai_provider, task_category, node_ids, created_at_ms, .. } = row;
        Ok(Similar { id, similarity, user_input, ai_response, ai_provider, task_category, node_ids, created_at_ms })
    });
    best.collect()
}

/// The ids with each of these providers, sorted.
pub(super) fn ids_of_providers(
    reader: &ReadTransaction,
    owner: &str,
    providers: &BTreeSet<String>,
    created_after_ms: i64,
) -> Result<BTreeMap<String, Vec<String>>, StoreError> {
    let of_owner = reader.open_table(OF_OWNER).map_err(redb::Error::from)?;
    let mut ids: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in of_owner.range((owner, created_after_ms + 1, "")..).map_err(redb::Error::from)? {
        let (key, provider) = entry.map_err(redb::Error::from)?;
        let ((of, _, id), provider) = (key.value(), provider.value());
        if of != owner {
            break;
        }
        if providers.contains(provider) {
            ids.entry(provider.to_owned()).or_default().push(id.to_owned());
        }
    }
    for of_provider in ids.values_mut() {
        of_provider.sort_unstable();
    }
    Ok(ids)
}
