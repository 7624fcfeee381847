use proptest::prelude::*;

use super::*;

fn chunk(text: &str, start_char_idx: Option<usize>) -> Chunk {
    Chunk { text: text.to_owned(), start_char_idx }
}

fn joined(chunks: &[(&str, Option<usize>)]) -> String {
    let mut text = JoinedText::default();
    chunks.iter().for_each(|(part, start)| text.add(&chunk(part, *start)));
    text.text
}

#[test]
fn chunks_are_joined_where_they_were_cut() {
    for (what, chunks, expected) in [
        ("one", vec![("one", Some(0))], "one"),
        ("white space before the first is left out", vec![("one", Some(7))], "one"),
        ("a space is between them", vec![("one", Some(0)), ("two", Some(4))], "one two"),
        ("an empty line is between them", vec![("one", Some(0)), ("two", Some(5))], "one\n\ntwo"),
        ("they touch", vec![("one", Some(0)), ("two", Some(3))], "onetwo"),
        ("they overlap", vec![("grün, rot", Some(0)), ("rot, blau", Some(6))], "grün, rot, blau"),
        ("the same text again, with the place of the first", vec![("one", Some(0)), ("one", Some(0))], "one\n\none"),
        ("a part of the first, by its place", vec![("one two", Some(0)), ("two", Some(4))], "one two\n\ntwo"),
        ("they do not overlap as their places say", vec![("one", Some(0)), ("two", Some(1))], "one\n\ntwo"),
        ("their places are not known", vec![("one", None), ("two", None)], "one\n\ntwo"),
        ("one place is not known", vec![("one", Some(0)), ("two", None), ("six", Some(8))], "one\n\ntwo\n\nsix"),
        ("the gap is impossible", vec![("one", Some(0)), ("two", Some(usize::MAX))], "one\n\ntwo"),
        ("the longest gap", vec![("a", Some(0)), ("b", Some(1_001))], &*format!("a{}b", "\n".repeat(1_000))),
        ("a longer gap", vec![("a", Some(0)), ("b", Some(1_002))], "a\n\nb"),
    ] {
        assert_eq!(joined(&chunks), expected, "{what}");
    }
}

proptest! {
    /// Whatever the overlap, no text is lost or doubled.
    #[test]
    fn overlapping_parts_of_a_text_give_the_text(
        text in "[a-zä€]{1,60}", cuts in prop::collection::vec((1_usize..12, 0_usize..6), 1..20)
    ) {
        let characters: Vec<char> = text.chars().collect();
        let (mut parts, mut end) = (Vec::new(), 0);
        for (length, overlap) in cuts {
            if end == characters.len() {
                break;
            }
            let start = if parts.is_empty() { 0 } else { end - overlap.min(end) };
            let to = (end + length).min(characters.len());
            parts.push((characters[start..to].iter().collect::<String>(), start));
            end = to;
        }
        let parts: Vec<(&str, Option<usize>)> = parts.iter().map(|(part, start)| (&**part, Some(*start))).collect();
        prop_assert_eq!(joined(&parts), characters[..end].iter().collect::<String>());
    }

    /// With wrong places, too, each chunk is in the text.
    #[test]
    fn no_chunk_is_lost(chunks in prop::collection::vec(("[ab]{1,5}", prop::option::of(0_usize..12)), 1..10)) {
        let parts: Vec<(&str, Option<usize>)> = chunks.iter().map(|(text, start)| (&**text, *start)).collect();
        let text = joined(&parts);
        for (chunk, _) in &parts {
            prop_assert!(text.contains(chunk), "{text} lacks {chunk}");
        }
    }
}

#[test]
fn a_document_without_text_is_left_out_and_a_missing_chunk_is_an_error() {
    let store = HashMap::from(
        [("a", "one"), ("b", " \n")].map(|(id, text)| (id.to_owned(), Wrapped { data: chunk(text, None) })),
    );
    let import = |node_ids: &[&str]| {
        let node_ids = node_ids.iter().map(|&id| id.to_owned()).collect();
        imported("d".to_owned(), Document { node_ids, ..Document::default() }, &store)
    };
    assert_eq!(import(&[]).unwrap(), None);
    assert_eq!(import(&["b"]).unwrap(), None);
    assert_eq!(import(&["a", "b"]).unwrap().unwrap().text, "one");
    assert_eq!(import(&["a", "c"]).unwrap_err().to_string(), "docstore.json lacks chunk 'c' of document 'd'");
}
