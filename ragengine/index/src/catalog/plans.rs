//! The next generations of indexes. A plan is durable before its build starts, and switching over is one transaction.

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

/// A plan and its progress.
#[derive(Clone)]
pub struct Planned {
    /// The plan, as it is on disk.
    pub plan: Plan,
    /// The progress of its build.
    pub building: Arc<Building>,
}

/// A change of the plan for an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanChange {
    /// The plan stays.
    Nothing,
    /// Start building this, in place of any existing plan.
    Begin(IndexRecord),
    /// Remove the plan.
    Drop,
    /// Record that this must not be built automatically.
    Abandon(IndexRecord),
}

/// The result of an attempt to switch over to the next generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TookOver {
    /// The next generation serves now.
    Yes,
    /// The next generation is still incomplete.
    NotYet,
    /// The next generation is no longer planned, or another one serves by now.
    Stale,
}

impl Catalog {
    /// Returns the plan for an index.
    pub fn planned(&self, name: &str) -> Option<Planned> {
        self.plans.read().get(name).cloned()
    }

    /// The next generation of an index, as the API describes it.
    pub fn next_generation(&self, name: &str) -> Option<NextGeneration> {
        self.planned(name).map(|planned| planned.plan.describe(planned.building.progress()))
    }

    /// Changes the plan for an index. `decide` gets the serving generation and the current plan. Returns the change.
    ///
    /// # Errors
    ///
    /// [`IndexError::NoSuchIndex`], or an error of `decide` or of the disk.
    pub fn change_plan(
        &self,
        name: &str,
        decide: impl FnOnce(&IndexRecord, Option<&Plan>) -> Result<PlanChange, IndexError>,
    ) -> Result<PlanChange, IndexError> {
        let _changing = self.changing.lock();
        let index = self.get(name)?;
        let change = decide(index.record(), self.planned(name).map(|planned| planned.plan).as_ref())?;
        let plan = |target: &IndexRecord, phase| Plan {
            target: target.clone(),
            phase,
            started_at: Timestamp::from_second(Timestamp::now().as_second()).unwrap_or_default().to_string(),
        };
        let plan = match &change {
            PlanChange::Nothing => return Ok(change),
            PlanChange::Begin(target) => Some(plan(target, Phase::Building { folder: self.take_folder()? })),
            PlanChange::Abandon(target) => Some(plan(target, Phase::Abandoned)),
            PlanChange::Drop => None,
        };
        self.save_plan(name, plan.as_ref())?;
        self.forget_plan(name);
        if let Some(plan) = plan {
            let building = Arc::new(Building::new(index.size().documents));
            self.plans.write().insert(name.to_owned(), Planned { plan, building });
        }
        Ok(change)
    }

    /// Opens the generation that is being built in this folder, or creates it empty. None if it is no longer planned.
    ///
    /// # Errors
    ///
    /// An error of the disk.
    pub fn open_next(&self, name: &str, folder: u64) -> Result<Option<Arc<Index>>, IndexError> {
        let _changing = self.changing.lock();
        let Some(Planned { plan, building }) = self.planned(name) else { return Ok(None) };
        if plan.folder() != Some(folder) {
            return Ok(None);
        }
        if let Some(next) = building.next().filter(|next| !next.has_failed()) {
            return Ok(Some(next));
        }
        // Reopened, because the disk refused an operation. Other users of the old store get errors.
        building.next().inspect(|refused| refused.store.close());
        building.set_next(None);
        let path = self.path(folder);
        let unfinished = if path.exists() { self.open_unfinished(name, &path)? } else { None };
        let next = match unfinished.filter(|unfinished| *unfinished.record() == plan.target) {
            Some(unfinished) => unfinished,
            None => {
                remove_files(name, &path);
                Index::create(name, &path, plan.target, self.options.search, &self.options.metrics)?
            }
        };
        next.keep_embedding_source(&self.options.embedding)?;
        building.set_next(Some(Arc::clone(&next)));
        Ok(Some(next))
    }

    /// Opens an unfinished generation. None if it cannot be read and must be rebuilt. A temporary failure of the disk
    /// is an error instead, because the files are still good.
    fn open_unfinished(&self, name: &str, path: &Path) -> Result<Option<Arc<Index>>, IndexError> {
        match Index::open(name, path, self.options.search, &self.options.metrics, &mut |_| {}) {
            Err(error) if !may_pass(&error) => {
                warn!(index = name, %error, "the unfinished next generation cannot be read; building it again");
                Ok(None)
            }
            opened => opened.map(Some),
        }
    }

    /// Replaces the serving generation by the one built in this folder, if `last` confirms that nothing is missing.
    /// Writers wait until this is done and then continue in the new generation.
    ///
    /// # Errors
    ///
    /// An error of `last` or of the disk. Nothing has changed then.
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

    /// The plans on disk. Plans that this version cannot read are skipped.
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
                Err(error) => {
                    info!(index = name.value(), %error, "skipping a next generation that this version cannot read");
                }
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

    /// Removes a plan that is no longer on disk, and the files built for it.
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
