use serde_json::{Value, json};

use super::*;

/// Reads a request with `count` copies of a document.
fn read(count: usize, document: &str) -> Result<usize, String> {
    let body = format!(r#"{{"index_name":"i","documents":[{}]}}"#, vec![document; count].join(","));
    let request = serde_json::from_str::<AddDocuments>(&body).map_err(|error| error.to_string())?;
    Ok(request.documents.len())
}

fn with_fields(text: &str, fields: usize) -> String {
    let metadata: Metadata = (0..fields).map(|field| (format!("field{field}"), Value::from("value 1"))).collect();
    json!({"text": text, "metadata": metadata}).to_string()
}

#[test]
fn a_request_may_have_the_maximum_number_of_typical_documents() {
    let text = "A sentence about cats.";
    let three = json!({"text": text, "metadata": {"title": "Cats", "url": "https://example.com/cats", "page": 12}});
    for (count, document) in [
        (10_000, three.to_string()),
        (10_000, with_fields(&"word ".repeat(100), 7)),
        (20_000, r#"{"text":"a"}"#.to_owned()),
        (20_000, r#"{"text":"a","metadata":null}"#.to_owned()),
        (50_000, json!({"doc_id": "d", "text": "word ".repeat(100)}).to_string()),
        (100, json!({"text": "a", "metadata": {"": vec![0; 990]}}).to_string()),
    ] {
        assert_eq!(read(count, &document), Ok(count), "{document}");
    }
}

#[test]
fn documents_that_take_much_more_memory_than_their_json_are_refused() {
    let lists = format!(r#"{{"text":"a","metadata":{{"":[{}]}}}}"#, ["[[[[[[0]]]]]]"; 100].join(","));
    for (count, document) in [
        (20_000, r#"{"text":"a","metadata":{"":[{},{}]}}"#.to_owned()),
        (20_000, r#"{"text":"","metadata":{"":{"":{"":0}}}}"#.to_owned()),
        (10_000, with_fields("a", 24)),
        (1_000, lists),
        (200, json!({"text": "a", "metadata": {"": vec![0; 990]}}).to_string()),
        (90_000, r#"{"text":"a"}"#.to_owned()),
    ] {
        let error = read(count, &document).unwrap_err();
        assert!(error.contains("12 MiB of memory") && error.contains("send them in parts"), "{document}: {error}");
    }
}

#[test]
fn more_documents_than_the_hard_limit_are_refused() {
    let text = json!({"text": "word ".repeat(90)}).to_string();
    assert!(read(MAX_ITEMS + 1, &text).unwrap_err().contains("more than 100000 items"));
}
