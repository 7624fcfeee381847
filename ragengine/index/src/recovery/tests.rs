use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use ragengine_client::wire::Document;
use ragengine_settings::VectorIndexKind;

use super::*;
use crate::Index;
use crate::catalog::{Catalog, CatalogOptions};
use crate::chunking::Chunk;
use crate::search::Query;
use crate::writer::{Embedded, Limits, Mode, check_documents};
use ragengine_pipeline::filter::Filter;

const SEARCH: SearchSettings = SearchSettings {
    exact_below_rows: 50,
    ef_search: 64,
    n_probe: None,
    language: ragengine_settings::TextLanguage::English,
};

fn record(kind: VectorIndexKind) -> IndexRecord {
    IndexRecord {
        model: "m".into(),
        embedding_fingerprint: "f".into(),
        dimensions: 2,
        max_tokens: 100,
        overlap_tokens: 10,
        vector_index: kind,
    }
}

fn point(number: u64) -> Vec<f32> {
    let angle = number as f32 / 1000.0;
    vec![angle.cos(), angle.sin()]
}

fn new_metrics() -> Arc<IndexMetrics> {
    crate::metrics::IndexMetrics::unread()
}

fn embedded(number: u64, at: u64) -> Embedded {
    let document = Document { doc_id: Some(number.to_string()), text: format!("at {at}"), ..Document::default() };
    let limits = Limits {
        max_documents: 1,
        max_document_bytes: 100,
        max_metadata_bytes: 100,
        cut_timeout: std::time::Duration::from_secs(9),
    };
    let chunk = Chunk { heading: None, page: None, text: format!("at {at}") };
    Embedded {
        document: check_documents(vec![document], limits, &ragengine_compute::Waiter::default()).unwrap().remove(0),
        chunks: vec![(chunk, point(at))],
    }
}

/// An operation on an open index.
type Event = fn(&mut Kept);

/// Damage to the folder of a closed index.
type Damage = fn(&Path);

/// An index that can be closed and reopened, and its expected content.
struct Kept {
    folder: tempfile::TempDir,
    index: Option<Arc<Index>>,
    metrics: Arc<IndexMetrics>,
    model: BTreeMap<u64, u64>,
}

impl Kept {
    /// An index with the documents `0..100`, each at the point of its number, and a snapshot.
    fn new(kind: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let metrics = new_metrics();
        let path = folder.path().join("index");
        let index = Index::create("i", &path, record(kind.parse().unwrap()), SEARCH, &metrics).unwrap();
        let mut kept = Self { folder, index: Some(index), metrics, model: BTreeMap::new() };
        kept.add(0..100);
        kept.index().rebuild_while_due();
        kept
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("index")
    }

    fn index(&self) -> &Arc<Index> {
        self.index.as_ref().unwrap()
    }

    fn put(&mut self, number: u64, at: u64) {
        self.put_all([(number, at)]);
    }

    /// Writes documents at the points of their numbers.
    fn add(&mut self, numbers: Range<u64>) {
        self.put_all(numbers.map(|number| (number, number)));
    }

    /// Writes documents by number at the given points.
    fn put_all(&mut self, documents: impl IntoIterator<Item = (u64, u64)>) {
        let documents: Vec<(u64, u64)> = documents.into_iter().collect();
        let prepared = documents.iter().map(|&(number, at)| embedded(number, at).prepare(2).unwrap()).collect();
        self.index().put(prepared, Mode::Upsert).unwrap();
        self.model.extend(documents);
    }

    fn delete(&mut self, numbers: std::ops::Range<u64>) {
        self.index().remove(numbers.clone().map(|number| number.to_string()).collect::<Vec<_>>()).unwrap();
        self.model.retain(|number, _| !numbers.contains(number));
    }

    /// Closes the index, changes its folder and reopens it.
    fn reopen_after(&mut self, change: impl FnOnce(&Path)) {
        self.index = None;
        change(&self.path());
        self.metrics = new_metrics();
        self.index = Some(Index::open("i", &self.path(), SEARCH, &self.metrics, &mut |_| {}).unwrap());
    }

    fn reopen(&mut self) {
        self.reopen_after(|_| {});
    }

    /// Checks that a search finds exactly the expected content.
    fn check(&self, what: &str) {
        let query = Query::dense(point(0), 1000, Filter::default());
        let found: BTreeMap<u64, u64> = self
            .index()
            .search(&query)
            .unwrap()
            .read_all()
            .unwrap()
            .into_iter()
            .map(|found| (found.doc_id.parse().unwrap(), found.text[3..].parse().unwrap()))
            .collect();
        assert_eq!(found, self.model, "{what}");
        assert_eq!(self.index().size().chunks, self.model.len() as u64, "{what}");
        for (number, at) in self.model.iter().take(3) {
            let query = Query::dense(point(*at), 1, Filter::default());
            assert_eq!(
                self.index().search(&query).unwrap().read_all().unwrap()[0].doc_id,
                number.to_string(),
                "{what}"
            );
        }
    }

    fn built(&self) -> usize {
        self.index().view.read().vectors().built()
    }

    /// How many reads of a snapshot had this result.
    fn reads(&self, result: &str) -> usize {
        self.count("reads", result)
    }

    fn count(&self, what: &str, result: &str) -> usize {
        self.metrics.snapshots(what, result)
    }

    fn snapshots(&self) -> usize {
        let names = fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("snapshot")).count()
    }
}

#[test]
fn the_graph_survives_a_restart() {
    for kind in ["HNSW8", "HNSW8_SQ8", "SQ8"] {
        let mut kept = Kept::new(kind);
        assert_eq!((kept.snapshots(), kept.count("writes", "written")), (1, 1), "{kind}");
        kept.reopen();
        assert_eq!((kept.built(), kept.reads("loaded")), (100, 1), "{kind}");
        if kind == "HNSW8" {
            kept.check(kind);
        }
        // The snapshot is current, so it is not written again.
        kept.index().rebuild_while_due();
        assert_eq!(kept.count("writes", "written"), 0, "{kind}");
    }
}

#[test]
fn changes_after_the_snapshot_survive_a_restart() {
    let changes: [(&str, Event); 6] = [
        ("nothing", |_| {}),
        ("documents were added", |kept| kept.add(200..210)),
        ("documents were deleted", |kept| kept.delete(10..20)),
        ("documents were changed", |kept| kept.put_all((10..20).map(|number| (number, number + 500)))),
        ("a deleted one came again", |kept| {
            kept.delete(5..6);
            kept.put(5, 700);
        }),
        ("all were deleted", |kept| kept.delete(0..100)),
    ];
    for (what, change) in changes {
        let mut kept = Kept::new("HNSW8");
        change(&mut kept);
        kept.check(what);
        for _ in 0..2 {
            kept.reopen();
            assert_eq!(kept.reads("loaded"), 1, "{what}");
            kept.check(what);
        }
        kept.index().rebuild_while_due();
        kept.check(what);
        kept.reopen();
        kept.check(what);
    }
}

#[test]
fn an_unusable_snapshot_is_rebuilt() {
    let damages: [(&str, Damage); 5] = [
        ("missing", |folder| fs::remove_dir_all(snapshot_of(folder)).unwrap()),
        ("damaged", |folder| fs::write(snapshot_of(folder).join("vectors.faiss"), "torn").unwrap()),
        ("damaged", |folder| fs::write(snapshot_of(folder).join("manifest"), "").unwrap()),
        ("foreign", |folder| {
            let other = Kept::new("HNSW8");
            fs::remove_dir_all(snapshot_of(folder)).unwrap();
            fs::rename(snapshot_of(&other.path()), snapshot_of(folder)).unwrap();
        }),
        ("foreign", |folder| {
            // From the same store, which was reset to a state without most of its rows.
            drop(fs::remove_file(folder.join("store.redb")));
            fs::rename(folder.join("earlier"), folder.join("store.redb")).unwrap();
        }),
    ];
    for (number, (expected, damage)) in damages.into_iter().enumerate() {
        let mut kept = Kept::new("HNSW8");
        if number == 4 {
            kept = set_back();
        }
        kept.reopen_after(damage);
        assert_eq!((kept.built(), kept.reads(expected)), (0, 1), "{number}: {expected}");
        kept.check(expected);
        assert_eq!(kept.snapshots(), 0, "{number}: {expected}");
        kept.index().rebuild_while_due();
        kept.reopen();
        assert_eq!((kept.built(), kept.reads("loaded")), (kept.model.len(), 1), "{number}: {expected}");
    }
}

/// An index with an older copy of its store, `earlier`, that has fewer documents than the snapshot.
fn set_back() -> Kept {
    let mut kept = Kept::new("HNSW8");
    kept.reopen_after(|folder| {
        fs::copy(folder.join("store.redb"), folder.join("earlier")).unwrap();
    });
    let model = kept.model.clone();
    kept.add(200..300);
    kept.index().rebuild_while_due();
    kept.model = model;
    kept
}

#[test]
fn a_snapshot_with_other_vectors_is_rejected() {
    let kept = Kept::new("HNSW8");
    let mut segment = Segment::new(Kind::Hnsw { m: 8 }, 2).unwrap();
    let rows: Vec<u64> = (0..100).collect();
    let vectors: Vec<f32> = rows.iter().flat_map(|row| point(row + 1)).collect();
    segment.add(&rows, &vectors).unwrap();
    let all = kept.index().view.read().rows();
    let refused = is_of_the_store(&segment, &kept.index().reader(), &all).unwrap_err();
    assert_eq!(refused.kind(), "foreign");
}

fn snapshot_of(folder: &Path) -> PathBuf {
    folder.join("snapshot-00000001")
}

#[test]
fn flat_and_small_indexes_have_no_snapshot() {
    let mut kept = Kept::new("Flat");
    kept.reopen();
    assert_eq!((kept.snapshots(), kept.reads("loaded"), kept.reads("missing")), (0, 0, 0));
    kept.check("Flat");
    let mut kept = Kept::new("HNSW8");
    kept.delete(0..60);
    // A rebuild, as when most positions are dead.
    kept.index().rebuild().unwrap();
    kept.index().keep_snapshot();
    assert_eq!(kept.snapshots(), 0, "the graph is gone");
    kept.reopen();
    assert_eq!((kept.reads("loaded"), kept.reads("missing")), (0, 0), "none is expected");
    kept.check("small");
}

#[test]
fn a_failure_to_write_a_snapshot_does_not_affect_the_index() {
    let mut kept = Kept::new("HNSW8");
    fs::write(kept.path().join("snapshot.tmp"), "in its way").unwrap();
    kept.add(200..300);
    kept.index().rebuild_while_due();
    assert_eq!((kept.count("writes", "disk"), kept.built()), (1, 200));
    assert!(!kept.index().has_failed());
    kept.put(300, 300);
    kept.check("written to after it");
    kept.reopen_after(|folder| fs::remove_file(folder.join("snapshot.tmp")).unwrap());
    assert_eq!((kept.reads("loaded"), kept.built()), (1, 100), "the older one is still good");
    kept.check("the rest was read from the store");
}

#[test]
fn a_deleted_index_gets_no_snapshot() {
    let mut kept = Kept::new("HNSW8");
    kept.add(200..300);
    kept.index().mark_deleted();
    fs::remove_dir_all(kept.path()).unwrap();
    assert!(!kept.index().rebuild_while_due());
    kept.index().keep_snapshot();
    assert!(!kept.path().exists());
}

#[test]
fn a_new_index_of_the_same_name_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let metrics = new_metrics();
    let open = || {
        let options = CatalogOptions {
            directory: folder.path().to_owned(),
            search: SEARCH,
            max_indexes: 3,
            embedding: ragengine_settings::Embedding::default().source(),
            metrics: Arc::clone(&metrics),
        };
        let catalog = Catalog::open(options).unwrap();
        catalog.load(|_| {}).unwrap();
        catalog
    };
    let catalog = open();
    let make = |catalog: &Catalog| catalog.get_or_create("a", || record("HNSW8".parse().unwrap())).unwrap().0;
    let kept = |index| Kept {
        folder: tempfile::tempdir().unwrap(),
        index: Some(index),
        metrics: new_metrics(),
        model: BTreeMap::new(),
    };
    let mut first = kept(make(&catalog));
    first.add(0..100);
    first.index().rebuild_while_due();
    catalog.delete("a").unwrap();
    let mut second = kept(make(&catalog));
    second.put(500, 500);
    let model = second.model.clone();
    drop((first, second, catalog));
    let catalog = open();
    let mut again = kept(catalog.get("a").unwrap());
    again.model = model;
    again.check("only what was put into the second");
}

#[test]
fn opening_reports_its_steps() {
    let mut kept = Kept::new("HNSW8");
    kept.add(100..100 + BATCH as u64);
    kept.index = None;
    let mut steps = Vec::new();
    Index::open("i", &kept.path(), SEARCH, &kept.metrics, &mut |step| steps.push(step.to_string())).unwrap();
    assert_eq!(steps, ["reading its documents", "reading the snapshot of its vectors", "4096 of 4096 vectors read"]);
}

proptest! {
    #[test]
    fn ranges_without_rows(
        cuts in prop::collection::btree_set(0_u64..60, 0..12),
        rows in prop::collection::btree_set(0_u64..60, 0..40),
    ) {
        let cuts: Vec<u64> = cuts.into_iter().collect();
        let ranges: Vec<Range<u64>> = cuts.chunks_exact(2).map(|pair| pair[0]..pair[1]).collect();
        let rows: Vec<u64> = rows.into_iter().collect();
        let left = without(&ranges, &rows);
        prop_assert!(left.iter().all(|range| !range.is_empty()));
        let expected: Vec<u64> = ranges.into_iter().flatten().filter(|row| !rows.contains(row)).collect();
        prop_assert_eq!(left.into_iter().flatten().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn after_a_shutdown_nothing_is_built_and_finished_work_is_kept() {
    let mut kept = Kept::new("HNSW8");
    kept.add(200..300);
    kept.index().shut_down();
    kept.index().rebuild_if_due();
    assert!(!kept.index().is_rebuilding(), "none is started");
    assert!(!kept.index().rebuild_while_due(), "none continues");
    assert!(matches!(kept.index().rebuild(), Err(IndexError::ShuttingDown)));
    assert_eq!(kept.built(), 100);
    kept.check("searched as before");
    kept.reopen();
    assert_eq!((kept.reads("loaded"), kept.built()), (1, 100));
    assert!(kept.index().rebuild_while_due());
    assert_eq!(kept.built(), 200);
}
