//! Runs a store on a disk that fails at each of its operations in turn. Afterwards, every acknowledged change is there,
//! and no change is partly there.

use std::collections::BTreeMap;

use fastrand::Rng;

use super::disk::{Disk, Fault, Survivors};
use super::*;

/// A document's text and the texts of its chunks, by its id.
type Contents = BTreeMap<String, (String, Vec<String>)>;

enum Step {
    Put(&'static str, String, u32),
    Delete(&'static str),
    /// Both in one transaction.
    Move(&'static str, &'static str, String),
}

/// Enough steps for the file to grow, for pages to be freed and reused, and for every table to be written.
fn steps() -> Vec<Step> {
    vec![
        Step::Put("a", "one".into(), 2),
        Step::Put("b", "two ".repeat(3000), 3),
        Step::Put("a", "one again".into(), 1),
        Step::Move("b", "c", "three".into()),
        Step::Put("d", "four ".repeat(8000), 2),
        Step::Delete("a"),
        Step::Put("b", "two once more".into(), 2),
        Step::Delete("d"),
        Step::Put("e", "five".into(), 1),
    ]
}

impl Step {
    fn take(&self, store: &Store) -> Result<(), StoreError> {
        store.write(|transaction| match self {
            Self::Put(doc_id, text, chunks) => put_in(transaction, doc_id, text, *chunks).map(|_| ()),
            Self::Delete(doc_id) => delete_in(transaction, doc_id).map(|_| ()),
            Self::Move(from, to, text) => {
                delete_in(transaction, from)?;
                put_in(transaction, to, text, 1).map(|_| ())
            }
        })
    }

    fn apply(&self, contents: &mut Contents) {
        let mut put = |doc_id: &str, text: &str, chunks: u32| {
            let texts = (0..chunks).map(|ordinal| format!("{text} {ordinal}")).collect();
            contents.insert(doc_id.to_owned(), (text.to_owned(), texts));
        };
        match self {
            Self::Put(doc_id, text, chunks) => put(doc_id, text, *chunks),
            Self::Move(from, to, text) => {
                put(to, text, 1);
                contents.remove(*from);
            }
            Self::Delete(doc_id) => {
                contents.remove(*doc_id);
            }
        }
    }
}

fn open(disk: &Disk) -> Result<Store, StoreError> {
    Store::open_in(DatabaseFile::on(disk.clone())?).map(|(store, _)| store)
}

fn new_disk() -> Disk {
    let disk = Disk::default();
    drop(Store::create_in(DatabaseFile::on(disk.clone()).unwrap(), &IndexRecord::of_two_dimensions()).unwrap());
    disk
}

/// The content of a store. Checks that its tables are consistent.
fn contents(store: &Store) -> Contents {
    let documents = everything(store);
    let reader = store.reader().unwrap();
    let mut rows = Vec::new();
    reader
        .each_vector(ALL_ROWS, |row, vector| {
            assert_eq!(vector.len(), 2);
            rows.push(row);
            Ok::<_, StoreError>(())
        })
        .unwrap();
    let mut expected: Vec<u64> = Vec::new();
    reader.each_document(|_, document| expected.extend(document.rows())).unwrap();
    expected.sort_unstable();
    assert_eq!(rows, expected, "a vector for each chunk of each document, and no other");
    let of = |(number, text, chunks): (u64, String, Vec<String>)| {
        assert_eq!(reader.revisions([number]).unwrap(), [Some(text.chars().take(8).collect::<String>())]);
        (text, chunks)
    };
    documents.into_iter().map(|(doc_id, document)| (doc_id, of(document))).collect()
}

/// The possible contents of a store: the acknowledged changes, with or without the change that failed.
struct Possible {
    acknowledged: Contents,
    with_the_next: Contents,
}

/// Performs every step until the disk fails.
fn live(store: &Store, fault: Fault) -> Possible {
    let mut acknowledged = Contents::new();
    let steps = steps();
    for (position, step) in steps.iter().enumerate() {
        let mut with_the_next = acknowledged.clone();
        step.apply(&mut with_the_next);
        match step.take(store) {
            Ok(()) => acknowledged = with_the_next,
            Err(error) => {
                assert_eq!(matches!(error, StoreError::Full), fault == Fault::Full, "{error}");
                assert!(store.has_failed());
                for later in &steps[position..] {
                    let refused = later.take(store);
                    assert!(matches!(refused, Err(StoreError::Latched)), "{fault:?}: {refused:?}");
                }
                return Possible { acknowledged, with_the_next };
            }
        }
    }
    Possible { with_the_next: acknowledged.clone(), acknowledged }
}

/// Reopens the store. The machine may crash once more during that.
fn reopen(disk: &Disk, random: &mut Rng) -> Store {
    disk.fail_at(random.usize(..30), Fault::Stop);
    drop(open(disk));
    open(&disk.after_a_stop(Survivors::Some, random)).unwrap()
}

fn check(store: &Store, possible: &Possible, case: &str) {
    let found = contents(store);
    assert!(found == possible.acknowledged || found == possible.with_the_next, "{case}: {:?}", found.keys());
    // The store is writable and reuses no number.
    let highest = everything(store).values().map(|(number, ..)| *number).max();
    let number = put(store, "later", "later", 1);
    assert!(highest.is_none_or(|highest| number > highest), "{case}");
    assert_eq!(contents(store).len(), found.len() + 1, "{case}");
}

fn fail_everywhere(fault: Fault) {
    let new = new_disk();
    for operation in 0.. {
        let disk = new.after_a_stop(Survivors::All, &mut Rng::with_seed(0));
        let store = open(&disk).unwrap();
        disk.fail_at(operation, fault);
        let possible = live(&store, fault);
        let was_hit = disk.was_hit();
        drop(store);
        // If only the disk fails, the operating system still has the written data.
        let survivors: &[Survivors] = match fault {
            Fault::Stop => &[Survivors::None, Survivors::All, Survivors::Some, Survivors::Some],
            Fault::Full | Fault::Refusal | Fault::LateRefusal | Fault::HalfWrite => &[Survivors::All, Survivors::Some],
        };
        for (number, &survivors) in survivors.iter().enumerate() {
            let mut random = Rng::with_seed((operation * 4 + number) as u64);
            let case = format!("{fault:?} at operation {operation}, {survivors:?} survive ({number})");
            let store = reopen(&disk.after_a_stop(survivors, &mut random), &mut random);
            check(&store, &possible, &case);
        }
        if !was_hit {
            assert!(operation > 100, "{operation} operations are not all");
            return;
        }
    }
}

#[test]
fn acknowledged_changes_survive_a_crash_at_any_operation() {
    fail_everywhere(Fault::Stop);
}

#[test]
fn acknowledged_changes_survive_a_disk_that_is_full_from_any_write_on() {
    fail_everywhere(Fault::Full);
}

#[test]
fn acknowledged_changes_survive_an_operation_that_fails() {
    fail_everywhere(Fault::Refusal);
}

#[test]
fn acknowledged_changes_survive_an_operation_that_is_done_but_reported_as_failed() {
    fail_everywhere(Fault::LateRefusal);
}

#[test]
fn acknowledged_changes_survive_a_write_that_is_cut_off() {
    fail_everywhere(Fault::HalfWrite);
}

/// The catalog lists an index only when it is complete. So opening an incomplete store must fail cleanly, without being
/// taken for an index.
#[test]
fn an_incomplete_store_is_not_opened() {
    for operation in 0.. {
        let disk = Disk::default();
        disk.fail_at(operation, Fault::Stop);
        let made = DatabaseFile::on(disk.clone())
            .and_then(|database| Store::create_in(database, &IndexRecord::of_two_dimensions()));
        let (was_made, was_hit) = (made.is_ok(), disk.was_hit());
        drop(made);
        for seed in 0..4 {
            let left = disk.after_a_stop(Survivors::Some, &mut Rng::with_seed(seed));
            let opened = open(&left);
            assert!(!was_made || opened.is_ok(), "operation {operation}: {:?}", opened.err());
        }
        if !was_hit {
            return;
        }
    }
}

/// A failed read also sets the flag: redb reads nothing more after it.
#[test]
fn a_disk_that_refuses_to_read_is_noticed() {
    let disk = new_disk();
    put(&open(&disk).unwrap(), "a", "one", 1);
    let store = open(&disk.after_a_stop(Survivors::All, &mut Rng::with_seed(0))).unwrap();
    assert_eq!((everything(&store).len(), store.has_failed()), (1, false));
    let disk = disk.after_a_stop(Survivors::All, &mut Rng::with_seed(0));
    let store = open(&disk).unwrap();
    disk.fail_at(0, Fault::Refusal);
    let reader = store.reader().unwrap();
    let read = || reader.each_vector(ALL_ROWS, |_, _| Ok::<_, StoreError>(()));
    assert!(matches!(read(), Err(StoreError::Disk(_))) && disk.was_hit() && store.has_failed());
    assert!(matches!(read(), Err(StoreError::Latched)), "although the disk would work now");
}
