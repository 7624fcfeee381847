//! Property test: an index is a map from ids to documents, after any operations and restarts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fastrand::Rng;
use proptest::prelude::*;
use ragengine_client::wire::{DocumentList, Metadata};
use serde_json::json;
use tempfile::TempDir;

use super::chunking::Chunk;
use super::listing::{Page, TextLength};
use super::search::{ByWords, Fusion, Query, TextOutcome};
use super::writer::{Embedded, Incoming};
use super::*;
use ragengine_pipeline::filter::Filter;

const WIDTH: usize = 6;
const TEAMS: u8 = 3;
const SOURCES: u8 = 2;
const EVERYTHING: Page = Page { limit: 1000, offset: 0 };

/// Graphs are built from the first documents on, and a search visits all nodes of a graph, or all lists.
const SEARCH: SearchSettings = SearchSettings {
    exact_below_rows: 12,
    ef_search: 200,
    n_probe: Some(64),
    language: ragengine_settings::TextLanguage::English,
};

#[derive(Debug, Clone)]
struct Written {
    id: u8,
    version: u16,
    chunks: u32,
    source: Option<u8>,
    team: u8,
}

#[derive(Debug, Clone)]
enum Step {
    /// In one transaction.
    Write(Vec<Written>),
    Delete(Vec<u8>),
    DeleteSource(u8),
    /// As after a kill, without the work that is done when an index is closed.
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let written = (0..14_u8, any::<u16>(), 1..5_u32, proptest::option::of(0..SOURCES), 0..TEAMS)
        .prop_map(|(id, version, chunks, source, team)| Written { id, version, chunks, source, team });
    let step = prop_oneof![
        6 => proptest::collection::vec(written, 1..6).prop_map(Step::Write),
        3 => proptest::collection::vec(0..14_u8, 1..5).prop_map(Step::Delete),
        1 => (0..SOURCES).prop_map(Step::DeleteSource),
        2 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..20)
}

impl Written {
    fn doc_id(&self) -> String {
        format!("document {}", self.id)
    }

    fn text(&self) -> String {
        format!("{} in version {}", self.doc_id(), self.version)
    }

    fn metadata(&self) -> Metadata {
        json!({"team": self.team, "all": true}).as_object().unwrap().clone()
    }

    fn chunk_text(&self, ordinal: u32) -> String {
        format!("{}, part {ordinal}", self.text())
    }

    fn vectors(&self) -> impl Iterator<Item = Vec<f32>> {
        let seed = u64::from(self.id) << 32 | u64::from(self.version) << 8;
        (0..u64::from(self.chunks)).map(move |ordinal| vector(seed + ordinal))
    }

    fn embedded(&self) -> Embedded {
        let chunk = |(ordinal, vector)| {
            (Chunk { heading: None, page: Some(ordinal + 1), text: self.chunk_text(ordinal) }, vector)
        };
        let document = Incoming {
            doc_id: self.doc_id(),
            text: self.text().into(),
            metadata: Arc::new(self.metadata()),
            source: self.source.map(source_name),
            content_hash: format!("hash of {}", self.text()),
            revision: Some(self.version.to_string()),
            cut_within: None,
        };
        Embedded { document, chunks: (0..).zip(self.vectors()).map(chunk).collect() }
    }
}

fn source_name(source: u8) -> String {
    format!("source {source}")
}

fn vector(seed: u64) -> Vec<f32> {
    let mut random = Rng::with_seed(seed);
    let values: Vec<f32> = (0..WIDTH).map(|_| random.f32() - 0.5).collect();
    let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    values.iter().map(|value| value / length).collect()
}

/// The expected content of an index: documents in order of creation.
#[derive(Default)]
struct Model {
    documents: BTreeMap<u64, Written>,
    next: u64,
}

impl Model {
    fn write(&mut self, written: &Written) {
        let place = self.documents.iter().find(|(_, known)| known.id == written.id).map(|(place, _)| *place);
        let place = place.unwrap_or(self.next);
        self.next = self.next.max(place + 1);
        self.documents.insert(place, written.clone());
    }

    fn ids(&self, is_wanted: impl Fn(&Written) -> bool) -> Vec<String> {
        self.documents.values().filter(|written| is_wanted(written)).map(Written::doc_id).collect()
    }

    /// The distances of chunks from a vector, and their texts, nearest first.
    fn by_distance(&self, query: &[f32], is_wanted: impl Fn(&Written) -> bool) -> Vec<(f32, String)> {
        let distance = |vector: &[f32]| vector.iter().zip(query).map(|(left, right)| (left - right).powi(2)).sum();
        let mut chunks: Vec<(f32, String)> = Vec::new();
        for written in self.documents.values().filter(|written| is_wanted(written)) {
            let chunk = |(ordinal, vector): (u32, Vec<f32>)| (distance(&vector), written.chunk_text(ordinal));
            chunks.extend((0..).zip(written.vectors()).map(chunk));
        }
        chunks.sort_by(|left, right| left.0.total_cmp(&right.0));
        chunks
    }
}

/// An index, with the folders of all its copies.
struct Subject {
    index: Arc<Index>,
    folder: TempDir,
    opened: usize,
}

fn new_metrics() -> Arc<IndexMetrics> {
    crate::metrics::IndexMetrics::unread()
}

impl Subject {
    fn new(kind: VectorIndexKind) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let record = IndexRecord {
            model: "m".into(),
            embedding_fingerprint: "f".into(),
            dimensions: WIDTH,
            max_tokens: 100,
            overlap_tokens: 10,
            vector_index: kind,
        };
        let index = Index::create("any", &folder.path().join("0"), record, SEARCH, &new_metrics()).unwrap();
        Self { index, folder, opened: 0 }
    }

    fn take(&mut self, step: &Step, model: &mut Model) {
        match step {
            Step::Write(written) => {
                // The last document of each id, because ids must differ in one call.
                let by_id: BTreeMap<u8, &Written> = written.iter().map(|written| (written.id, written)).collect();
                self.index.put_vectors(by_id.values().map(|written| written.embedded()).collect()).unwrap();
                by_id.values().for_each(|written| model.write(written));
            }
            Step::Delete(ids) => {
                let known: BTreeSet<u8> = model.documents.values().map(|written| written.id).collect();
                let were_there: Vec<bool> = ids.iter().map(|id| known.contains(id)).collect();
                let doc_ids: Vec<String> = ids.iter().map(|id| format!("document {id}")).collect();
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                assert_eq!(runtime.block_on(self.index.delete(doc_ids)).unwrap(), were_there);
                model.documents.retain(|_, written| !ids.contains(&written.id));
            }
            Step::DeleteSource(source) => {
                let before = model.documents.len();
                model.documents.retain(|_, written| written.source != Some(*source));
                let deleted = self.index.delete_source(&source_name(*source)).unwrap();
                assert_eq!(deleted, (before - model.documents.len()) as u64);
            }
            Step::Reopen => self.reopen(),
        }
    }

    /// Opens a copy of the folder. The original may be building a graph or writing a snapshot.
    fn reopen(&mut self) {
        self.opened += 1;
        let copy = self.folder.path().join(self.opened.to_string());
        copy_files(&self.folder.path().join((self.opened - 1).to_string()), &copy);
        self.index = Index::open("any", &copy, SEARCH, &new_metrics(), &mut |_| {}).unwrap();
        self.index.rebuild_if_due();
    }

    fn check(&self, model: &Model) {
        let size = self.index.size();
        let documents = model.documents.values();
        let expected = IndexSize {
            documents: documents.len() as u64,
            chunks: documents.clone().map(|written| u64::from(written.chunks)).sum(),
            text_bytes: documents.clone().map(|written| written.text().len() as u64).sum(),
        };
        assert_eq!(size, expected);
        self.check_listing(model);
        let query = vector(u64::MAX - self.opened as u64);
        self.check_search(model, &query, json!({}), |_| true);
        for team in 0..TEAMS {
            self.check_search(model, &query, json!({"team": team, "all": true}), |written| written.team == team);
            self.check_words(model, &query, json!({"team": team}), |written| written.team == team);
        }
        self.check_words(model, &query, json!({}), |_| true);
    }

    /// A search for the number of a document finds exactly the chunks that contain the number.
    fn check_words(
        &self,
        model: &Model,
        vector: &[f32],
        filter: serde_json::Value,
        is_wanted: impl Fn(&Written) -> bool,
    ) {
        for number in ["3", "7"] {
            let filter = Filter::new(filter.as_object().unwrap()).unwrap();
            let by_words = ByWords { text: number.into(), fusion: Fusion::TextOnly, candidates: 1000 };
            let query = Query { by_words: Some(by_words), ..Query::dense(vector.to_vec(), 1000, filter) };
            let found = self.index.search(&query).unwrap();
            assert!(matches!(found.text, TextOutcome::Done), "{:?}", found.text);
            let found: BTreeMap<String, f32> =
                found.read_all().unwrap().into_iter().map(|chunk| (chunk.text, chunk.found.distance)).collect();
            let has_number = |text: &str| text.split([' ', ',']).any(|word| word == number);
            let expected = model.by_distance(vector, &is_wanted).into_iter();
            let expected: BTreeMap<String, f32> =
                expected.filter(|(_, text)| has_number(text)).map(|(distance, text)| (text, distance)).collect();
            assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
            let is_exact = |(text, distance): (&String, &f32)| (expected[text] - distance).abs() < 1e-4;
            assert!(found.iter().all(is_exact), "{found:?} {expected:?}");
        }
    }

    fn check_listing(&self, model: &Model) {
        let length = TextLength { each: 1000, together: usize::MAX };
        let list = |filter: &Filter| self.index.list(filter, &EVERYTHING, length).unwrap();
        let all = list(&Filter::default());
        self.check_text_lengths(&all);
        assert_eq!(all.total_items, model.documents.len());
        for (listed, written) in all.documents.iter().zip(model.documents.values()) {
            let expected = (written.doc_id(), written.text(), written.metadata(), written.source.map(source_name));
            let listed = (&listed.doc_id, &listed.text, &listed.metadata, &listed.source);
            assert_eq!(listed, (&expected.0, &expected.1, &expected.2, &expected.3));
        }
        for team in 0..TEAMS {
            let filter = Filter::parse(&json!({"team": [team, "none"]}).to_string()).unwrap();
            let ids: Vec<String> = list(&filter).documents.into_iter().map(|listed| listed.doc_id).collect();
            assert_eq!(ids, model.ids(|written| written.team == team));
        }
        for source in 0..SOURCES {
            let listed = self.index.list_source(&source_name(source), &EVERYTHING).unwrap().documents;
            let of_source = |written: &&Written| written.source == Some(source);
            let expected = model.documents.values().filter(of_source);
            let expected: Vec<_> =
                expected.map(|written| (written.doc_id(), Some(written.version.to_string()))).collect();
            let listed: Vec<_> = listed.into_iter().map(|document| (document.doc_id, document.revision)).collect();
            assert_eq!(listed, expected);
        }
    }

    /// Texts are cut at their own limit, and at what remains of the limit for all texts.
    fn check_text_lengths(&self, all: &DocumentList) {
        let length = TextLength { each: 5, together: 12 };
        let cut = self.index.list(&Filter::default(), &EVERYTHING, length).unwrap();
        let mut left = length.together;
        for (cut, whole) in cut.documents.iter().zip(&all.documents) {
            let expected: String = whole.text.chars().take(length.each.min(left)).collect();
            left -= expected.chars().count();
            assert_eq!((&cut.text, cut.is_truncated), (&expected, expected != whole.text));
        }
        assert_eq!(cut.documents.len(), all.documents.len());
    }

    fn check_search(
        &self,
        model: &Model,
        vector: &[f32],
        filter: serde_json::Value,
        is_wanted: impl Fn(&Written) -> bool,
    ) {
        let k = 7;
        let filter = Filter::new(filter.as_object().unwrap()).unwrap();
        let found = self.index.search(&Query::dense(vector.to_vec(), k, filter)).unwrap();
        let found = found.read_all().unwrap();
        let expected = model.by_distance(vector, is_wanted);
        assert_eq!(found.len(), expected.len().min(k));
        // A compressed vector may swap places with one that is similarly near.
        let slack = if matches!(self.index.kind(), VectorIndexKind::HnswSq8 { .. }) { 0.1 } else { 1e-4 };
        for (found, (nearest, _)) in found.iter().zip(&expected) {
            let own = expected.iter().find(|(_, text)| *text == found.text);
            let own = own.unwrap_or_else(|| panic!("{} is not there", found.text)).0;
            assert!((found.found.distance - own).abs() < 1e-4, "{} is not {own}", found.found.distance);
            assert!(own <= nearest + slack, "{own} in the place of {nearest}");
            let ordinal: u32 = found.text.rsplit_once(' ').unwrap().1.parse().unwrap();
            assert_eq!(found.metadata["page"], json!(ordinal + 1));
        }
    }
}

/// Copies a folder. Files that disappear during that, such as temporary ones, are skipped.
fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            // A snapshot, which may be incomplete.
            copy_files(&entry.path(), &to.join(entry.file_name()));
        } else {
            drop(std::fs::copy(entry.path(), to.join(entry.file_name())));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn an_index_is_a_map(
        kind in prop_oneof![Just("Flat"), Just("HNSW16"), Just("HNSW16_SQ8"), Just("IVF4,Flat")],
        steps in steps(),
    ) {
        let mut subject = Subject::new(kind.parse().unwrap());
        let mut model = Model::default();
        let mut known = BTreeMap::new();
        for step in &steps {
            subject.take(step, &mut model);
            subject.check(&model);
            // While the version is the same, so are the documents, also after a restart.
            let content: BTreeMap<String, String> =
                model.documents.values().map(|written| (written.doc_id(), written.text())).collect();
            let version = subject.index.version().unwrap();
            prop_assert_eq!(known.entry(version).or_insert_with(|| content.clone()), &content);
        }
        subject.reopen();
        subject.check(&model);
    }
}
