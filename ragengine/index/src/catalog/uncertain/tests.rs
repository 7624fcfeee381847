use std::path::Path;

use fastrand::Rng;

use super::super::tests::put;
use super::*;
use crate::catalog::{CatalogOptions, PlanChange, TookOver};
use crate::record::IndexRecord;
use crate::store::DatabaseFile;
use crate::store::tests::disk::{Disk, Fault, Survivors};
use crate::{IndexError, SearchSettings};

fn open(folder: &Path, disk: &Disk) -> Catalog {
    let options = CatalogOptions {
        directory: folder.to_owned(),
        search: SearchSettings {
            exact_below_rows: 10_000,
            ef_search: 64,
            n_probe: None,
            language: ragengine_settings::TextLanguage::English,
        },
        max_indexes: 3,
        embedding: ragengine_settings::Embedding::default().source(),
        metrics: crate::metrics::IndexMetrics::unread(),
    };
    let catalog = Catalog::open_with(options, |_| DatabaseFile::on(disk.clone())).unwrap();
    catalog.load(|_| {}).unwrap();
    catalog
}

fn has(catalog: &Catalog, doc_id: &str) -> bool {
    catalog.get("a").is_ok_and(|index| index.reader().number(doc_id).unwrap().is_some())
}

/// Changes the folder of index "a". Returns whether the change was acknowledged.
type Move = fn(&Catalog) -> bool;

fn take_over(catalog: &Catalog) -> bool {
    let (serving, planned) = (catalog.get("a").unwrap(), catalog.planned("a").unwrap());
    let (folder, next) = (planned.plan.folder().unwrap(), planned.building.next().unwrap());
    matches!(catalog.take_over(&serving, &next, folder, || Ok(true)), Ok(TookOver::Yes))
}

/// Tests a change with each of its operations refused once; the machine crashes later.
fn refused_everywhere(change: Move, deletes: bool) {
    for operation in 0.. {
        let hits = [Fault::Refusal, Fault::LateRefusal].map(|fault| refused(operation, fault, change, deletes));
        if hits == [false, false] {
            assert!(operation > 2, "{operation} operations are not all");
            return;
        }
    }
}

/// Returns whether the change has such an operation.
fn refused(operation: usize, fault: Fault, change: Move, deletes: bool) -> bool {
    let mut was_hit = false;
    for number in 0..4 {
        // The disk as it is, or after a crash.
        let survivors = if number == 0 { Survivors::All } else { Survivors::Some };
        let (folder, disk) = (tempfile::tempdir().unwrap(), Disk::default());
        let catalog = open(folder.path(), &disk);
        let (index, _) = catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap();
        let target = IndexRecord { max_tokens: 50, ..IndexRecord::of_two_dimensions() };
        catalog.change_plan("a", |_, _| Ok(PlanChange::Begin(target))).unwrap();
        let next = catalog.open_next("a", catalog.planned("a").unwrap().plan.folder().unwrap()).unwrap().unwrap();
        [&index, &next].into_iter().for_each(|index| put(index, "before").unwrap());
        disk.fail_at(operation, fault);
        let is_acknowledged = change(&catalog);
        was_hit |= disk.was_hit();
        let is_written = catalog.get("a").is_ok_and(|index| put(&index, "after").is_ok());
        let case = format!("{fault:?} at operation {operation}, acknowledged {is_acknowledged}, written {is_written}");
        drop((catalog, index, next));
        let random = &mut Rng::with_seed((operation * 4 + number) as u64);
        let catalog = open(folder.path(), &disk.after_a_stop(survivors, random));
        assert!(catalog.problems().is_empty(), "{case}: {:?}", catalog.problems());
        if deletes && is_acknowledged {
            assert!(catalog.names().is_empty(), "{case}");
        } else {
            assert!(has(&catalog, "before") || (deletes && !is_written), "{case}");
        }
        assert!(!is_written || has(&catalog, "after"), "{case}");
    }
    was_hit
}

#[test]
fn no_acknowledged_change_is_lost_when_the_disk_refuses_to_delete_an_index() {
    refused_everywhere(|catalog| catalog.delete("a").is_ok(), true);
}

#[test]
fn no_acknowledged_change_is_lost_when_the_disk_refuses_to_switch_generations() {
    refused_everywhere(take_over, false);
}

/// With a real file, which can be reopened.
#[test]
fn a_reopened_catalog_is_rewritten_from_memory() {
    let folder = tempfile::tempdir().unwrap();
    let options = |catalog: &Catalog| catalog.options.clone();
    let catalog = open(folder.path(), &Disk::default());
    let options = options(&catalog);
    drop(catalog);
    let catalog = Catalog::open(options.clone()).unwrap();
    let (index, _) = catalog.get_or_create("a", IndexRecord::of_two_dimensions).unwrap();
    put(&index, "before").unwrap();
    let target = IndexRecord { max_tokens: 50, ..IndexRecord::of_two_dimensions() };
    catalog.change_plan("a", |_, _| Ok(PlanChange::Begin(target))).unwrap();
    // The change is durable, but its caller gets an error.
    let change = |tables: &mut Tables<'_>| {
        tables.folders.remove("a")?;
        tables.folders.insert("b", 77)?;
        tables.plans.remove("a")?;
        Ok(())
    };
    catalog.write(change).unwrap();
    catalog.database.fail();
    catalog.mark_unavailable("a");
    assert!(matches!(catalog.get("a"), Err(IndexError::Unavailable { .. })));
    assert_eq!(catalog.heal().len(), 1);
    put(&catalog.get("a").unwrap(), "after").unwrap();
    drop((catalog, index));
    let catalog = Catalog::open(options).unwrap();
    catalog.load(|_| {}).unwrap();
    assert_eq!(catalog.names(), ["a"]);
    assert!(has(&catalog, "before") && has(&catalog, "after") && catalog.planned("a").is_some());
}
