//! The BM25 scores of given chunks, and what they are used for.

use serde_json::json;

use super::*;

#[test]
fn the_names_of_a_document_are_found() {
    let subject = Subject::new();
    let named = json!({"title": "Leave policy", "path": "people/time-off.md"});
    subject.put(&[("a", "Ask your manager", named.clone()), ("b", "Lunch is in the garden", json!({"title": 7}))]);
    for (query, expected) in [("policies", vec!["a"]), ("people", vec!["a"]), ("off manager", vec!["a"]), ("7", vec![])]
    {
        assert_eq!(subject.find(query), expected, "{query}");
    }
    // A title that repeats the path counts once.
    let same = json!({"title": "people/lunch.md", "path": "people/lunch.md"});
    subject.put(&[("c", "Lunch is in the garden", same), ("d", "Lunch is in the garden", named)]);
    assert_eq!(subject.find("people").len(), 3);
}

#[test]
fn scores_are_those_of_the_search() {
    let subject = Subject::new();
    let texts: Vec<String> = (0..40).map(|number| format!("word{} word{} red", number % 3, number % 5)).collect();
    for (number, text) in texts.iter().enumerate() {
        subject.put(&[(&number.to_string(), text, json!({}))]);
        if number % 9 == 0 {
            subject.index.analyse_pending().unwrap();
        }
    }
    subject.index.analyse_pending().unwrap();
    subject.index.remove(vec!["4".to_owned()]).unwrap();
    let text = subject.index.view.read().text().clone();
    assert!(text.parts().len() > 1);
    for query in ["word1", "word1 word4", "word0 red absent", "absent"] {
        let found = subject.index.search_text(&text, query, 100, &|_| true).unwrap();
        let rows: Vec<u64> = (0..50).rev().filter(|row| *row != 4).collect();
        let scores = subject.index.score_text(&text, query, &rows).unwrap();
        assert_eq!(scores.len(), found.hits.len(), "{query}");
        for hit in found.hits {
            assert!((scores[&hit.row] - hit.bm25).abs() < 1e-5, "{query} {hit:?} {scores:?}");
        }
    }
}

#[test]
fn the_words_of_a_chunk_count_even_if_others_have_better_ones() {
    let subject = Subject::new();
    subject.put(&[("near", "a pear is in the garden today", json!({})), ("best", "pear pear", json!({}))]);
    let found = |fusion| {
        let by_words = ByWords { text: "pear".into(), fusion, candidates: 1 };
        let query = Query { by_words: Some(by_words), ..Query::dense(vec![1.0, 0.0], 10, Filter::default()) };
        let found = subject.index.search(&query).unwrap().read_all().unwrap().into_iter();
        found.map(|chunk| (chunk.doc_id, chunk.found)).collect::<Vec<_>>()
    };
    let weighted = found(Fusion::Weighted(Default::default()));
    let (best, near) = (&weighted[0], &weighted[1]);
    assert_eq!((&*best.0, best.1.origin, best.1.score), ("best", Origin::Words, 0.3));
    // All vectors are at distance 2, so the similarity is 0.
    assert_eq!((&*near.0, near.1.origin), ("near", Origin::Vector));
    let expected = 0.3 * near.1.bm25.unwrap() / best.1.bm25.unwrap();
    assert!(expected > 0.05 && (near.1.score - expected).abs() < 1e-6, "{weighted:?}");
    // Ranks count only for the search that found the chunk.
    assert!(found(Fusion::ReciprocalRank).iter().any(|(_, found)| found.bm25.is_none()));
}

#[test]
fn the_evidence_of_a_question_is_from_both_searches() {
    let subject = Subject::new();
    let document = |doc_id, text, vector: [f32; 2]| {
        let mut document = embedded(doc_id, text, &json!({}));
        document.chunks[0].1 = vector.to_vec();
        document
    };
    let documents = [document("a", "red apple", [0.0, 1.0]), document("b", "green pear", [0.6, 0.8])];
    let query = Query::dense(vec![1.0, 0.0], 10, Filter::default());
    for written in documents.clone() {
        subject.index.put_vectors(vec![Embedded { chunks: documents[0].chunks.clone(), ..written }]).unwrap();
    }
    assert_eq!(subject.index.evidence(&query, "plum").unwrap(), None, "equal vectors");
    let subject = Subject::new();
    subject.index.put_vectors(documents.to_vec()).unwrap();
    let evidence = |text: &str| subject.index.evidence(&query, text).unwrap().unwrap();
    let known = evidence("the green pear");
    assert_eq!((known.words, known.unknown_share, known.agreement), (2, 0.0, 0.5), "{known:?}");
    assert!(known.bm25_lead_share > 0.5 && (known.covered_share - 1.0).abs() < 1e-6, "{known:?}");
    let half = evidence("green plum");
    assert!(half.unknown_share > 0.5 && half.bm25_lead_share < known.bm25_lead_share, "{half:?}");
    assert!((half.covered_share + half.unknown_share - 1.0).abs() < 1e-6, "{half:?}");
    let unknown = evidence("plum");
    assert_eq!((unknown.bm25_lead_share, unknown.covered_share, unknown.unknown_share), (0.0, 0.0, 1.0));
    assert_eq!(Subject::new().index.evidence(&query, "plum").unwrap(), None);
}
