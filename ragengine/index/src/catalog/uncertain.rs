//! Changes of the catalog whose outcome is unknown: the disk refused the last step of a transaction, which may be
//! durable all the same.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::completeness::number_of;
use super::{Catalog, Planned, Tables};
use crate::store::StoreError;

impl Catalog {
    /// Writes a change of the location of these indexes. If the disk refuses it, the change may be durable all the
    /// same, so the indexes become unavailable: a write to the wrong folder would be lost. They become available when
    /// the catalog was reopened and rewritten.
    pub(super) fn write_about<T>(
        &self,
        names: &[&str],
        change: impl FnOnce(&mut Tables<'_>) -> Result<T, redb::Error>,
    ) -> Result<T, StoreError> {
        self.write(change).inspect_err(|_| {
            if self.database.has_failed() {
                names.iter().for_each(|name| self.mark_unavailable(name));
            }
        })
    }

    /// Rewrites the catalog from memory, after a change whose outcome is unknown.
    pub(super) fn write_all(&self) -> Result<(), StoreError> {
        let folders: BTreeMap<String, u64> = self
            .directories()
            .into_iter()
            .filter_map(|(name, directory)| Some((name, number_of(&directory)?)))
            .collect();
        let plans = self.plans.read().clone();
        let json = |planned: &Planned| serde_json::to_vec(&planned.plan);
        let plans = plans.iter().map(|(name, planned)| Ok((name, json(planned)?))).collect::<Result<Vec<_>, _>>();
        let plans = plans.map_err(|error: serde_json::Error| StoreError::Damaged(error.to_string()))?;
        self.write(|tables| {
            tables.folders.retain(|name, _| folders.contains_key(name))?;
            for (name, folder) in &folders {
                tables.folders.insert(name.as_str(), folder)?;
            }
            tables.plans.retain(|_, _| false)?;
            for (name, json) in &plans {
                tables.plans.insert(name.as_str(), json.as_slice())?;
            }
            Ok(())
        })
    }

    /// The folders of all indexes, including unavailable ones.
    fn directories(&self) -> Vec<(String, PathBuf)> {
        let unavailable = self.unavailable.read();
        let indexes = self.indexes.read();
        let apart = unavailable.iter().map(|(name, index)| (name.clone(), index.directory.clone()));
        indexes.iter().map(|(name, index)| (name.clone(), index.directory.clone())).chain(apart).collect()
    }

    /// Makes an index unavailable until the catalog has been reopened.
    fn mark_unavailable(&self, name: &str) {
        if let Ok(index) = self.get(name) {
            self.set_apart(name, index.directory.clone(), "the disk refused to record its folder".to_owned(), true);
            index.store.close();
        }
    }
}

#[cfg(test)]
mod tests;
