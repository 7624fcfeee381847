//! The next generations of indexes: what is planned is on disk before it is begun, and taking over is one transaction.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use ragengine_client::wire::NextGeneration;
use redb::{ReadableDatabase as _, ReadableTable as _};
use tracing::{info, warn};

use super::tables::PLANS;
use super::unavailable::may_pass;
use super::{Catalog, remove_files};
use crate::generation::{Building, Phase, Plan};
use crate::record::IndexRecord;
use crate::store::StoreError;
use crate::{Index, IndexError};

/// A plan, and how far it is.
#[derive(Clone)]
pub struct Planned {
    /// What is planned.
    pub plan: Plan,
    /// How far it is.
    pub building: Arc<Building>,
}

/// How a plan changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Not at all.
    Nothing,
    /// This is begun, in the place of whatever was planned.
    Begin(IndexRecord),
    /// Nothing is planned any more.
    Drop,
    /// This is not to be begun again by itself.
    Abandon(IndexRecord),
}

/// Whether the next generation has taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TookOver {
    /// It serves.
    Yes,
    /// It lacks something still.
    NotYet,
    /// It is not planned any more, or another generation serves by now.
    Stale,
}

impl Catalog {
    /// What is planned for an index.
    pub fn planned(&self, name: &str) -> Option<Planned> {
        self.plans.read().get(name).cloned()
    }

    /// The next generation of an index, as the API describes it.
    pub fn next_generation(&self, name: &str) -> Option<NextGeneration> {
        self.planned(name).map(|planned| planned.plan.describe(planned.building.progress()))
    }

    /// Changes what is planned for an index, as `decide` says from what serves and what is planned. Returns what was changed.
    ///
    /// # Errors
    ///
    /// [`IndexError::NoSuchIndex`], what `decide` or what the disk says.
    pub fn change_plan(
        &self,
        name: &str,
        decide: impl FnOnce(&IndexRecord, Option<&Plan>) -> Result<Change, IndexError>,
    ) -> Result<Change, IndexError> {
        let _changing = self.changing.lock();
        let index = self.get(name)?;
        let change = decide(index.record(), self.planned(name).map(|planned| planned.plan).as_ref())?;
        let plan = |target: &IndexRecord, phase| Plan {
            target: target.clone(),
            phase,
            started_at: Timestamp::from_second(Timestamp::now().as_second()).unwrap_or_default().to_string(),
        };
        let plan = match &change {
            Change::Nothing => return Ok(change),
            Change::Begin(target) => Some(plan(target, Phase::Building { folder: self.take_folder()? })),
            Change::Abandon(target) => Some(plan(target, Phase::Abandoned)),
            Change::Drop => None,
        };
        self.save_plan(name, plan.as_ref())?;
        self.forget_plan(name);
        if let Some(plan) = plan {
            let building = Arc::new(Building::new(index.size().documents));
            self.plans.write().insert(name.to_owned(), Planned { plan, building });
        }
        Ok(change)
    }

    /// The generation that is being built in this folder: what is there of it already, or an empty one. None: it is not planned any
    /// more.
    ///
    /// # Errors
    ///
    /// What the disk says.
    pub fn open_next(&self, name: &str, folder: u64) -> Result<Option<Arc<Index>>, IndexError> {
        let _changing = self.changing.lock();
        let Some(Planned { plan, building }) = self.planned(name) else { return Ok(None) };
        if plan.folder() != Some(folder) {
            return Ok(None);
        }
        if let Some(next) = building.next().filter(|next| !next.has_failed()) {
            return Ok(Some(next));
        }
        // What the disk has refused is opened again: whoever still has it gets errors.
        building.next().inspect(|refused| refused.store.close());
        building.set_next(None);
        let path = self.path(folder);
        let begun = if path.exists() { self.open_begun(name, &path)? } else { None };
        let next = match begun.filter(|begun| *begun.record() == plan.target) {
            Some(begun) => begun,
            None => {
                remove_files(name, &path);
                Index::create(name, &path, plan.target, self.options.search, &self.options.metrics)?
            }
        };
        next.keep_embedding_source(&self.options.embedding)?;
        building.set_next(Some(Arc::clone(&next)));
        Ok(Some(next))
    }

    /// What was built of a generation. None: it cannot be read, and is begun anew. A disk that does not answer is no reason for that.
    fn open_begun(&self, name: &str, path: &Path) -> Result<Option<Arc<Index>>, IndexError> {
        match Index::open(name, path, self.options.search, &self.options.metrics, &mut |_| {}) {
            Err(error) if !may_pass(&error) => {
                warn!(index = name, %error, "what was built of the next generation cannot be read; it is begun anew");
                Ok(None)
            }
            opened => opened.map(Some),
        }
    }

    /// Puts the generation that was built in this folder in the place of the one that serves, when `last` says that nothing is
    /// missing. No writer comes between: those that wait are sent to the new one.
    ///
    /// # Errors
    ///
    /// What `last` or the disk says. Nothing has changed then.
    pub fn take_over(
        &self,
        serving: &Arc<Index>,
        next: &Arc<Index>,
        folder: u64,
        last: impl FnOnce() -> Result<bool, IndexError>,
    ) -> Result<TookOver, IndexError> {
        let _changing = self.changing.lock();
        let name = serving.name();
        let is_planned = self.planned(name).is_some_and(|planned| planned.plan.folder() == Some(folder));
        if !is_planned || !self.get(name).is_ok_and(|index| Arc::ptr_eq(&index, serving)) {
            return Ok(TookOver::Stale);
        }
        let moved = serving.hand_over(next, last, || {
            self.write_about(&[name], |tables| {
                tables.folders.insert(name, folder).map_err(redb::Error::from)?;
                tables.plans.remove(name).map(|_| ()).map_err(redb::Error::from)
            })?;
            self.plans.write().remove(name);
            self.indexes.write().insert(name.to_owned(), Arc::clone(next));
            Ok(())
        })?;
        if !moved {
            return Ok(TookOver::NotYet);
        }
        remove_files(name, &serving.directory);
        Ok(TookOver::Yes)
    }

    /// What is planned, as the disk has it. What another version has planned in other words is left out.
    pub(super) fn saved_plans(&self) -> Result<BTreeMap<String, Planned>, StoreError> {
        let read = self.database.get()?.begin_read().map_err(redb::Error::from)?;
        let table = read.open_table(PLANS).map_err(redb::Error::from)?;
        let mut plans = BTreeMap::new();
        for entry in table.iter().map_err(redb::Error::from)? {
            let (name, json) = entry.map_err(redb::Error::from)?;
            match serde_json::from_slice(json.value()) {
                Ok(plan) => {
                    let building = Arc::new(Building::new(0));
                    plans.insert(name.value().to_owned(), Planned { plan, building });
                }
                Err(error) => info!(index = name.value(), %error, "a next generation is not known to this version"),
            }
        }
        Ok(plans)
    }

    fn save_plan(&self, name: &str, plan: Option<&Plan>) -> Result<(), StoreError> {
        let json = plan.map(serde_json::to_vec).transpose();
        let json = json.map_err(|error| StoreError::Damaged(error.to_string()))?;
        self.write(|tables| match &json {
            Some(json) => tables.plans.insert(name, json.as_slice()).map(|_| ()).map_err(redb::Error::from),
            None => tables.plans.remove(name).map(|_| ()).map_err(redb::Error::from),
        })
    }

    /// Forgets a plan that the disk has no more, with what was built of it.
    pub(super) fn forget_plan(&self, name: &str) {
        let Some(Planned { plan, building }) = self.plans.write().remove(name) else { return };
        if let Ok(serving) = self.get(name) {
            serving.store.forget_changes();
        }
        if let Some(next) = building.next() {
            next.mark_deleted();
        }
        if let Some(folder) = plan.folder() {
            remove_files(name, &self.path(folder));
        }
    }
}
