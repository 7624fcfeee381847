use std::io::Cursor;

use serde_json::json;

use super::*;

#[test]
fn a_line_is_a_document_or_an_error() {
    for (line, expected) in [
        (r#"{"text": "a"}"#, Ok((None, "a", json!({})))),
        (r#"{"content": "a", "id": "k"}"#, Ok((Some("k"), "a", json!({})))),
        (r#"{"body": "a", "doc_id": 12}"#, Ok((Some("12"), "a", json!({})))),
        (r#"{"text": "a", "content": "b", "body": "c"}"#, Ok((None, "a", json!({})))),
        (
            r#"{"text": "a", "title": " b\n c ", "url": "https://d.example/", "date": "2026-05-01T00:00:00Z"}"#,
            Ok((None, "a", json!({"title": "b c", "url": "https://d.example/", "date": "2026-05-01"}))),
        ),
        (r#"{"text": "a", "title": 5, "url": "nowhere", "date": null}"#, Ok((None, "a", json!({})))),
        (
            r#"{"text": "a", "metadata": {"team": "x", "n": [1]}, "more": {"deep": []}}"#,
            Ok((None, "a", json!({"team": "x", "n": [1]}))),
        ),
        (r#"{"text": "a", "title": "own", "metadata": {"title": "other"}}"#, Ok((None, "a", json!({"title": "own"})))),
        (r#"{"text": 5}"#, Err("its text must be a string")),
        (r#"{"id": "k"}"#, Err("it has no text, content or body")),
        (r#"{"text": "a", "id": true}"#, Err("its id must be a string or a number")),
        (r#"{"text": "a", "metadata": [1]}"#, Err("its metadata must be an object")),
        (r#"["a"]"#, Err("it is not a JSON object")),
        (r#"{"text": "a""#, Err("it is not JSON: EOF while parsing an object at column 12")),
        (r#"{"text": "a", "text": "b"}"#, Err("duplicate field `text`")),
    ] {
        let found = document(line.as_bytes());
        match expected {
            Ok((key, text, metadata)) => {
                let found = found.unwrap();
                assert_eq!((found.key.as_deref(), found.text.as_str()), (key, text), "{line}");
                assert_eq!(Value::Object(found.metadata), metadata, "{line}");
            }
            Err(words) => assert_eq!(found.unwrap_err(), words, "{line}"),
        }
    }
}

#[test]
fn metadata_is_limited() {
    let long = "é".repeat(2_000);
    let line = json!({"text": "a", "metadata": {"long": long, "list": vec![1; 1_000], "short": 1}}).to_string();
    let metadata = document(line.as_bytes()).unwrap().metadata;
    assert_eq!(metadata["long"].as_str().unwrap().len(), 1_000);
    assert_eq!(metadata.keys().collect::<Vec<_>>(), ["long", "short"]);

    let line = json!({"text": "a", "metadata": {"long": "x".repeat(MAX_METADATA_BYTES)}}).to_string();
    assert_eq!(document(line.as_bytes()).unwrap_err(), "its metadata is longer than 16384 bytes");
}

#[test]
fn a_line_that_is_too_long_is_skipped() {
    for (text, lines) in [
        ("", vec![]),
        ("ab\ncd", vec![(Line::Whole, "ab"), (Line::Whole, "cd")]),
        ("ab\n\n", vec![(Line::Whole, "ab"), (Line::Whole, "")]),
        ("abcdef\ngh\n", vec![(Line::TooLong, ""), (Line::Whole, "gh")]),
        ("ab\nabcdefghijk", vec![(Line::Whole, "ab"), (Line::TooLong, "")]),
    ] {
        // A buffer that is smaller than a line.
        let mut reader = std::io::BufReader::with_capacity(2, Cursor::new(text));
        let mut line = Vec::new();
        for (kind, content) in lines {
            assert_eq!(read_line(&mut reader, &mut line, 4), Ok(kind), "{text:?}");
            if kind == Line::Whole {
                assert_eq!(line, content.as_bytes(), "{text:?}");
            }
            assert!(line.capacity() <= 8, "{text:?}");
        }
        assert_eq!(read_line(&mut reader, &mut line, 4), Ok(Line::End), "{text:?}");
    }
}
