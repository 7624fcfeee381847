use redb::{ReadableTable as _, WriteTransaction};

use super::super::{Interaction, MAX_OF_OWNER};
use super::tables::{BY_AGE, INTERACTIONS, InteractionRow, OF_OWNER, VECTORS};
use crate::clock::representable;
use crate::embedded::row;
use crate::{StoreError, vector};

/// Adds or replaces an interaction, and deletes the owner's oldest ones if there are too many.
pub(super) fn keep(transaction: &WriteTransaction, interaction: Interaction) -> Result<(), StoreError> {
    let Interaction { owner, id, index_name, fingerprint, vector, user_input, ai_response, .. } = interaction;
    let Interaction { ai_provider, task_category, node_ids, created_at_ms, .. } = interaction;
    let created_at_ms = representable(created_at_ms);
    let (owner, id) = (owner.as_str(), id.as_str());
    remove(transaction, owner, id)?;
    {
        let mut vectors = transaction.open_table(VECTORS).map_err(redb::Error::from)?;
        let key = (owner, index_name.as_str(), fingerprint.as_str(), id);
        let vector = vector::encode(&vector);
        vectors.insert(key, (created_at_ms, ai_provider.as_str(), vector.as_slice())).map_err(redb::Error::from)?;
        let mut of_owner = transaction.open_table(OF_OWNER).map_err(redb::Error::from)?;
        of_owner.insert((owner, created_at_ms, id), ai_provider.as_str()).map_err(redb::Error::from)?;
        let mut by_age = transaction.open_table(BY_AGE).map_err(redb::Error::from)?;
        by_age.insert((created_at_ms, owner, id), ()).map_err(redb::Error::from)?;
        let row = InteractionRow {
            index_name,
            fingerprint,
            user_input,
            ai_response,
            ai_provider,
            task_category,
            node_ids,
            created_at_ms,
        };
        let mut interactions = transaction.open_table(INTERACTIONS).map_err(redb::Error::from)?;
        interactions.insert((owner, id), row::encode(&row)?.as_slice()).map_err(redb::Error::from)?;
    }
    let ids = ids_of_owner(transaction, owner)?;
    for oldest in &ids[..ids.len().saturating_sub(MAX_OF_OWNER)] {
        remove(transaction, owner, oldest)?;
    }
    Ok(())
}

/// Deletes all interactions of an owner. Returns their number.
pub(super) fn remove_all(transaction: &WriteTransaction, owner: &str) -> Result<u64, StoreError> {
    let ids = ids_of_owner(transaction, owner)?;
    for id in &ids {
        remove(transaction, owner, id)?;
    }
    Ok(u64::try_from(ids.len()).unwrap_or(u64::MAX))
}

/// Deletes some interactions up to this time. Returns their number, and whether nothing is left to delete.
pub(super) fn sweep(transaction: &WriteTransaction, cutoff_ms: i64, limit: usize) -> Result<(u64, bool), StoreError> {
    let mut expired = Vec::new();
    {
        let by_age = transaction.open_table(BY_AGE).map_err(redb::Error::from)?;
        for entry in by_age.range(..(cutoff_ms + 1, "", "")).map_err(redb::Error::from)?.take(limit) {
            let (key, _) = entry.map_err(redb::Error::from)?;
            let (_, owner, id) = key.value();
            expired.push((owner.to_owned(), id.to_owned()));
        }
    }
    for (owner, id) in &expired {
        remove(transaction, owner, id)?;
    }
    Ok((u64::try_from(expired.len()).unwrap_or(u64::MAX), expired.len() < limit))
}

/// The owner's ids, the oldest first.
fn ids_of_owner(transaction: &WriteTransaction, owner: &str) -> Result<Vec<String>, StoreError> {
    let of_owner = transaction.open_table(OF_OWNER).map_err(redb::Error::from)?;
    let mut ids = Vec::new();
    for entry in of_owner.range((owner, i64::MIN, "")..).map_err(redb::Error::from)? {
        let (key, _) = entry.map_err(redb::Error::from)?;
        match key.value() {
            (of, _, id) if of == owner => ids.push(id.to_owned()),
            _ => break,
        }
    }
    Ok(ids)
}

/// Deletes an interaction from all tables, if it is there.
fn remove(transaction: &WriteTransaction, owner: &str, id: &str) -> Result<(), StoreError> {
    let row: InteractionRow = {
        let mut interactions = transaction.open_table(INTERACTIONS).map_err(redb::Error::from)?;
        let removed = interactions.remove((owner, id)).map_err(redb::Error::from)?;
        match removed {
            Some(bytes) => row::decode(bytes.value())?,
            None => return Ok(()),
        }
    };
    let mut vectors = transaction.open_table(VECTORS).map_err(redb::Error::from)?;
    vectors.remove((owner, row.index_name.as_str(), row.fingerprint.as_str(), id)).map_err(redb::Error::from)?;
    let mut of_owner = transaction.open_table(OF_OWNER).map_err(redb::Error::from)?;
    of_owner.remove((owner, row.created_at_ms, id)).map_err(redb::Error::from)?;
    let mut by_age = transaction.open_table(BY_AGE).map_err(redb::Error::from)?;
    by_age.remove((row.created_at_ms, owner, id)).map_err(redb::Error::from)?;
    Ok(())
}
