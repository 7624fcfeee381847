//! What an index promises, with each engine.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::corpus::{TestChunk, TestDocument, some, vector};
use crate::engine::{Engine, Near};

mod filters;

pub use filters::filters_are_exact;

/// Distances may differ by this.
const TOLERANCE: f32 = 1e-3;

fn ids(documents: &[TestDocument]) -> Vec<&str> {
    documents.iter().map(|document| document.doc_id.as_str()).collect()
}

fn everything() -> Value {
    json!({})
}

fn squared_distance(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| (left - right).powi(2)).sum()
}

/// Lists have each document once, in the order of their first writes.
pub async fn lists_are_exact(engine: &Engine) {
    assert_eq!((engine.list(&everything()).await, engine.size().await), (vec![], (0, 0, 0)));
    assert_eq!(engine.nearest(&[vector(1)], 5, &everything()).await, []);
    assert_eq!(engine.by_words("line", 5, &everything()).await, []);
    let documents = some(50);
    engine.put(&documents[..20]).await;
    engine.put(&documents[20..]).await;
    // Writing a document again does not move it.
    engine.put(&documents[3..5]).await;
    let listed = engine.list(&everything()).await;
    assert_eq!(listed.iter().map(|document| document.doc_id.as_str()).collect::<Vec<_>>(), ids(&documents));
    assert_eq!(listed[7].metadata, documents[7].metadata);
    let bytes = documents.iter().map(|document| document.text.len() as u64).sum();
    assert_eq!(engine.size().await, (50, 100, bytes));
    let team = engine.ids(&json!({"team": "b"})).await;
    let expected = documents.iter().filter(|document| document.metadata["team"] == "b");
    assert_eq!(team, expected.map(|document| document.doc_id.clone()).collect::<BTreeSet<_>>());
}

/// A document has the chunks, words, metadata and source of its latest write only.
pub async fn a_write_replaces_a_document(engine: &Engine) {
    let others = some(3);
    engine.put(&others).await;
    let old = TestDocument::new("d", "apples\npears\nplums").with_metadata(&json!({"kind": "old", "also": 1}));
    engine.put(std::slice::from_ref(&old)).await;
    let new = TestDocument::new("d", "cherries\npears").with_metadata(&json!({"kind": "new"})).of_source("s", "2");
    engine.put(std::slice::from_ref(&new)).await;
    let whole = engine.whole("d").await.unwrap();
    assert_eq!(
        (whole.text.as_str(), &whole.metadata, whole.source.as_deref()),
        ("cherries\npears", &new.metadata, Some("s"))
    );
    let place = |start, end| (Some(start), Some(end), None, None);
    assert_eq!(whole.places, [place(0, 8), place(9, 14)]);
    let near = engine.nearest(&[old.chunks[2].vector.clone()], 20, &everything()).await;
    let of_document = near.iter().filter(|near| near.doc_id == "d").map(|near| near.text.as_str());
    assert_eq!(of_document.collect::<BTreeSet<_>>(), BTreeSet::from(["cherries", "pears"]));
    assert_eq!(near.len(), 8);
    assert_eq!(engine.by_words("apples plums", 9, &everything()).await, []);
    assert_eq!(engine.by_words("cherry", 9, &everything()).await, [("d".to_owned(), 0)]);
    assert_eq!(engine.ids(&json!({"kind": "old"})).await, BTreeSet::new());
    assert_eq!(engine.ids(&json!({"also": {"$exists": true}})).await, BTreeSet::new());
    assert_eq!(engine.ids(&json!({"kind": "new"})).await, BTreeSet::from(["d".to_owned()]));
    assert_eq!(engine.size().await.1, 8);
    // The same again changes nothing.
    engine.put(std::slice::from_ref(&new)).await;
    assert_eq!((engine.whole("d").await.unwrap(), engine.size().await.1), (whole, 8));
}

/// A deleted document is in no later answer, also when it is written again in between.
pub async fn deleted_documents_are_gone(engine: &Engine) {
    let documents = some(20);
    engine.put(&documents).await;
    let gone = ["document 003", "document 007", "missing", "document 003"];
    assert_eq!(engine.delete(&gone).await, [true, true, false, true]);
    assert_eq!(engine.delete(&gone).await, [false; 4]);
    let left: BTreeSet<String> = engine.ids(&everything()).await;
    assert!(left.len() == 18 && !left.contains("document 003") && !left.contains("document 007"));
    for position in [3, 7] {
        let near = engine.nearest(&[documents[position].chunks[0].vector.clone()], 100, &everything()).await;
        assert_eq!(near.len(), 36);
        assert!(near.iter().all(|near| left.contains(&near.doc_id)));
    }
    let found = engine.by_words("line 3 7", 100, &everything()).await;
    assert!(found.len() == 36 && found.iter().all(|(doc_id, _)| left.contains(doc_id)));
    assert_eq!(engine.whole("document 003").await, None);
    assert_eq!(engine.ids(&json!({"number": {"$ne": 1}})).await.len(), 17, "deleted documents match no negation");
    engine.put(&documents[3..4]).await;
    let near = engine.nearest(&[documents[3].chunks[1].vector.clone()], 1, &everything()).await;
    assert_eq!((near[0].doc_id.as_str(), near[0].ordinal), ("document 003", 1));
    assert_eq!(engine.list(&everything()).await.last().unwrap().doc_id, "document 003", "it was new");
    assert_eq!(engine.size().await.0, 19);
}

/// Distances are those of the vectors, and of several vectors the least one counts.
pub async fn distances_are_squared_l2(engine: &Engine) {
    let documents = some(60);
    engine.put(&documents).await;
    let queries = [vector(1), vector(2), documents[9].chunks[1].vector.clone()];
    for (vectors, filter) in [
        (&queries[..1], everything()),
        (&queries[2..], everything()),
        (&queries[..], everything()),
        (&queries[..2], json!({"team": "c", "number": {"$lt": 30}})),
    ] {
        let found = engine.nearest(vectors, 10, &filter).await;
        let mut expected: Vec<Near> = documents.iter().flat_map(|document| of_document(document, vectors)).collect();
        let allowed = engine.ids(&filter).await;
        expected.retain(|near| allowed.contains(&near.doc_id));
        expected.sort_by(|left, right| left.distance.total_cmp(&right.distance));
        assert_eq!(found.len(), 10);
        for (found, expected) in found.iter().zip(expected) {
            let difference = (found.distance - expected.distance).abs();
            assert!(difference < TOLERANCE, "{found:?} instead of {expected:?}");
            assert_eq!(
                (&found.doc_id, found.ordinal, &found.text),
                (&expected.doc_id, expected.ordinal, &expected.text)
            );
        }
    }
    assert_eq!(engine.nearest(&queries[..1], 1000, &everything()).await.len(), 120);
}

fn of_document<'a>(document: &'a TestDocument, vectors: &'a [Vec<f32>]) -> impl Iterator<Item = Near> + 'a {
    (0..).zip(&document.chunks).map(|(ordinal, chunk)| Near {
        doc_id: document.doc_id.clone(),
        ordinal,
        text: chunk.text.clone(),
        distance: vectors.iter().map(|each| squared_distance(each, &chunk.vector)).fold(f32::INFINITY, f32::min),
    })
}

/// Words are found in other forms, as parts of identifiers and in scripts without spaces; the best chunk is first.
pub async fn words_are_found(engine: &Engine) {
    engine
        .put(&[
            TestDocument::new("travel", "The policies for travelling by train.\nTravel, travel and travel again."),
            TestDocument::new("code", "fn readTimeout(max_tokens: u32)\nthe cost of living")
                .with_metadata(&json!({"k": 1})),
            TestDocument::new("Zürich", "Ein Café in Zürich\n東京の天気\nПоезд"),
            TestDocument::new("quotes", "say \"hello\" \\ {bye}\n'; drop class"),
        ])
        .await;
    for (query, expected) in [
        ("policy", vec![("travel", 0)]),
        ("What is the policy?", vec![("travel", 0)]),
        ("traveled", vec![("travel", 1), ("travel", 0)]),
        ("read timeout", vec![("code", 0)]),
        ("maxTokens", vec![("code", 0)]),
        ("cafe zurich", vec![("Zürich", 0)]),
        ("東京", vec![("Zürich", 1)]),
        ("поезд", vec![("Zürich", 2)]),
        ("hello", vec![("quotes", 0)]),
        ("\"}]}}{ hello \\", vec![("quotes", 0)]),
        ("drop'; --", vec![("quotes", 1)]),
        ("nothing such", vec![]),
        ("...", vec![]),
    ] {
        let expected: Vec<(String, u32)> = expected.into_iter().map(|(id, ordinal)| (id.to_owned(), ordinal)).collect();
        assert_eq!(engine.by_words(query, 9, &everything()).await, expected, "{query}");
    }
    assert_eq!(engine.by_words("policy cost", 9, &json!({"k": 1})).await, [("code".to_owned(), 1)]);
    assert_eq!(engine.by_words("travel", 1, &everything()).await, [("travel".to_owned(), 1)]);
}

/// A source has its documents with their hashes and revisions, and takes only its own with it.
pub async fn sources_are_kept(engine: &Engine) {
    let of_source = |number: usize, source: &str| {
        TestDocument::new(&format!("{source} {number}"), &format!("text {number}\nand more")).of_source(source, "r1")
    };
    let first: Vec<_> = (0..12).map(|number| of_source(number, "a source")).collect();
    engine.put(&first).await;
    engine.put(&[of_source(1, "a source/2"), TestDocument::new("none", "text")]).await;
    let changed = TestDocument { revision: Some("r2".to_owned()), ..first[2].clone() };
    engine.put(&[changed]).await;
    let mut listed = engine.list_source("a source").await;
    listed.sort();
    let mut expected: Vec<_> = first
        .iter()
        .map(|document| {
            let revision = if document.doc_id == "a source 2" { "r2" } else { "r1" };
            (document.doc_id.clone(), document.content_hash(), Some(revision.to_owned()))
        })
        .collect();
    expected.sort();
    assert_eq!(listed, expected);
    let bytes = first.iter().map(|document| document.text.len() as u64).sum();
    assert_eq!(engine.source_size("a source").await, (12, 24, bytes));
    assert_eq!(engine.source_size("unknown").await, (0, 0, 0));
    // A document that goes to another source leaves this one.
    engine.put(&[TestDocument { source: Some("a source/2".to_owned()), ..first[5].clone() }]).await;
    assert_eq!(engine.delete_source("a source").await, 11);
    assert_eq!(engine.list_source("a source").await, []);
    let left = BTreeSet::from(["none", "a source/2 1", "a source 5"].map(str::to_owned));
    assert_eq!(engine.ids(&everything()).await, left);
    assert_eq!(engine.delete_source("unknown").await, 0);
}

/// Ids, keys, sources and texts have any characters.
pub async fn any_name_is_possible(engine: &Engine) {
    let names = [
        "\"}]}}) { x }",
        "' OR 1=1; --",
        "\\",
        "\\\"",
        "a b",
        " a b",
        "ä/ö?ü#&=%20",
        "😀 👩‍👩‍👧",
        "*",
        "a*",
        "?",
        "e\u{301}",
        "é",
        "{{name}}",
        "where$",
        "../../x",
        "\u{202e}rtl",
        "_additional",
        "id",
        "tokens",
    ];
    let longest = "ü".repeat(256);
    let names: Vec<&str> = names.into_iter().chain([longest.as_str()]).collect();
    let document = |name: &str| {
        let metadata = Map::from_iter([(name.to_owned(), json!(name)), ("all".to_owned(), json!([name, "x"]))]);
        TestDocument::new(name, &format!("{name}\nand {name}")).with_metadata(&metadata.into()).of_source(name, name)
    };
    engine.put(&names.iter().map(|name| document(name)).collect::<Vec<_>>()).await;
    assert_eq!(engine.ids(&everything()).await, names.iter().map(|&name| name.to_owned()).collect());
    for name in &names {
        let itself = BTreeSet::from([(*name).to_owned()]);
        assert_eq!(engine.ids(&json!({*name: *name})).await, itself, "{name}");
        assert_eq!(engine.ids(&json!({"all": {"$in": [*name]}})).await, itself, "{name}");
        assert_eq!(engine.ids(&json!({*name: {"$exists": true}})).await, itself, "{name}");
        let listed = engine.list_source(name).await;
        assert_eq!(listed, [((*name).to_owned(), document(name).content_hash(), Some((*name).to_owned()))]);
        let whole = engine.whole(name).await.unwrap();
        assert_eq!((whole.text, whole.metadata), (document(name).text, document(name).metadata));
        let near = engine.nearest(&[document(name).chunks[1].vector.clone()], 1, &json!({*name: *name})).await;
        assert_eq!((near[0].doc_id.as_str(), near[0].text.as_str()), (*name, format!("and {name}").as_str()));
    }
    assert_eq!(engine.delete(&names).await, vec![true; names.len()]);
    assert_eq!(engine.size().await, (0, 0, 0));
}

/// Texts are kept to the last byte.
pub async fn large_texts_are_kept(engine: &Engine) {
    let line = |number: usize| format!("line {number} \u{1}\u{7f} 𝒳 «{}»\t", "x ä ".repeat(500));
    let lines: Vec<String> = (0..1_500).map(line).collect();
    let chunks = lines.iter().enumerate().map(|(number, line)| TestChunk {
        text: line.clone(),
        heading: Some(format!("Part {} > ü", number / 100)),
        page: Some(u32::try_from(number).unwrap() + 1),
        vector: vector(number as u64),
    });
    let document = TestDocument { chunks: chunks.collect(), ..TestDocument::new("large", "") };
    let document = TestDocument { text: lines.join("\n"), ..document };
    assert!(document.text.len() > 3_000_000);
    engine.put(std::slice::from_ref(&document)).await;
    assert_eq!(engine.size().await, (1, 1_500, document.text.len() as u64));
    let whole = engine.whole("large").await.unwrap();
    assert!(whole.text == document.text);
    assert_eq!(
        (whole.places.len(), &whole.places[1_234].2, whole.places[1_234].3),
        (1_500, &Some("Part 12 > ü".into()), Some(1_235))
    );
    let near = engine.nearest(&[vector(777)], 2, &everything()).await;
    assert!((near[0].ordinal, near[0].text == lines[777]) == (777, true) && near[0].distance < TOLERANCE);
    assert_eq!(engine.delete(&["large"]).await, [true]);
    assert_eq!(engine.nearest(&[vector(777)], 2, &everything()).await, []);
}
