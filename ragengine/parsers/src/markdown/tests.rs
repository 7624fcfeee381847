use serde_json::json;

use super::*;

#[test]
fn a_front_matter_is_removed_and_parsed() {
    for (text, body, metadata) in [
        ("# A *b* `c`\nd", "# A *b* `c`\nd", json!({"title": "A b c"})),
        ("a\n\nSecond\n======", "a\n\nSecond\n======", json!({"title": "Second"})),
        ("no heading", "no heading", json!({})),
        ("#\n\n# Later", "#\n\n# Later", json!({})),
        ("---\ntitle: T\n---\n# H", "# H", json!({"title": "T"})),
        ("---\r\ntitle: T\r\n---\r\n# H", "# H", json!({"title": "T"})),
        ("---\ntitle: 2026\ndate: 2026-05-01\n...\nb", "b", json!({"title": "2026", "date": "2026-05-01"})),
        ("---\ntags: [a]\n---\n# H", "# H", json!({"title": "H"})),
        ("---\ntitle: [a]\ndate: soon\nurl: /here\n---\nb", "b", json!({})),
        ("---\nurl: https://a.example/b\n---\nb", "b", json!({"url": "https://a.example/b"})),
        ("---\na rule above, and below\n---\n", "---\na rule above, and below\n---\n", json!({})),
        ("---\ntitle: never closed\n", "---\ntitle: never closed\n", json!({})),
        ("--- \ntitle: T\n---", "", json!({"title": "T"})),
        ("----\ntitle: T\n---\n", "----\ntitle: T\n---\n", json!({"title": "title: T"})),
    ] {
        let document = parse(text);
        let mut expected = metadata;
        expected["split_type"] = json!("markdown");
        assert_eq!(document.text, body, "{text:?}");
        assert_eq!(Value::Object(document.metadata), expected, "{text:?}");
    }
}

#[test]
fn a_front_matter_has_a_maximum_length() {
    let fill = "x".repeat(MAX_FRONT_MATTER_BYTES);
    let text = format!("---\ntitle: T\nother: {fill}\n---\nb");
    assert_eq!(parse(&text).text, text);
}

#[test]
fn a_title_has_a_maximum_length() {
    let document = parse(&format!("# {}", "é ".repeat(5_000)));
    let title = document.metadata["title"].as_str().unwrap();
    assert!((290..=300).contains(&title.len()), "{}", title.len());
}
