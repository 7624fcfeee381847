//! Changes of the catalog of which nobody knows whether they were made: the disk refused the last step of one, and it may be on the disk
//! all the same.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::listed::number_of;
use super::{Catalog, Planned, Tables};
use crate::store::StoreError;

impl Catalog {
    /// Makes a change that decides where the indexes of these names are. When the disk refuses it, nobody knows whether it is on the disk
    /// all the same: until the catalog has been opened again and says what is in memory, nothing is written to them that would be lost if it is.
    pub(super) fn write_about<T>(
        &self,
        names: &[&str],
        change: impl FnOnce(&mut Tables<'_>) -> Result<T, redb::Error>,
    ) -> Result<T, StoreError> {
        self.write(change).inspect_err(|_| {
            if self.database.has_failed() {
                names.iter().for_each(|name| self.doubt(name));
            }
        })
    }

    /// Makes the catalog say what is in memory, after a change of which nobody knows whether it was made.
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

    /// The folders of all indexes, of those that cannot be used too.
    fn directories(&self) -> Vec<(String, PathBuf)> {
        let unavailable = self.unavailable.read();
        let indexes = self.indexes.read();
        let apart = unavailable.iter().map(|(name, index)| (name.clone(), index.directory.clone()));
        indexes.iter().map(|(name, index)| (name.clone(), index.directory.clone())).chain(apart).collect()
    }

    /// Keeps an index apart until the catalog has been opened again.
    fn doubt(&self, name: &str) {
        if let Ok(index) = self.get(name) {
            self.set_apart(name, index.directory.clone(), "the disk refused a change of its place".to_owned(), true);
            index.store.close();
        }
    }
}

#[cfg(test)]
mod tests;
