//! Any bytes as a stream of events, cut anywhere: the same events come out, no byte is lost, and every event can be marked.
//!
//! The first byte of the input says how many of the next bytes are the sizes of the pieces, which repeat; the rest is the stream.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ragengine_pipeline::stream::{Events, MAX_EVENT_BYTES, data, event, is_finish, with_fields};
use serde_json::{Map, Value, json};

const FIELD: &str = "source_nodes";

/// The input's ways of cutting: at most so many sizes, each of at most so many bytes.
const MAX_SIZES: usize = 7;
const MAX_SIZE: usize = 32;

fuzz_target!(|input: &[u8]| {
    // No event can be too long, however long the inputs are allowed to be.
    if input.len() > MAX_EVENT_BYTES {
        return;
    }
    let Some((count, rest)) = input.split_first() else { return };
    let Some((sizes, stream)) = rest.split_at_checked(usize::from(*count) % (MAX_SIZES + 1)) else { return };
    let (events, rest) = cut(&[stream]);
    assert_eq!((&events, &rest), (&cut(&pieces(stream, sizes)).0, &cut(&pieces(stream, sizes)).1));
    assert_eq!([events.concat(), rest].concat(), stream);
    events.iter().for_each(|event| can_be_marked(event));
    // What looks like data is not always in a whole event.
    if let Ok(text) = std::str::from_utf8(stream) {
        keeps_what_it_marks(text);
    }
});

/// The stream in pieces of these sizes, again and again.
fn pieces<'a>(mut stream: &'a [u8], sizes: &[u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for size in sizes.iter().cycle().map(|&size| usize::from(size) % MAX_SIZE + 1) {
        let (piece, rest) = stream.split_at(size.min(stream.len()));
        pieces.push(piece);
        stream = rest;
        if stream.is_empty() {
            break;
        }
    }
    pieces.push(stream);
    pieces
}

fn cut(pieces: &[&[u8]]) -> (Vec<Vec<u8>>, Vec<u8>) {
    let mut events = Events::default();
    let mut whole = Vec::new();
    for piece in pieces {
        events.push(piece, |event| whole.push(event.to_vec())).expect("the input is no longer than an event may be");
    }
    (whole, events.rest())
}

fn can_be_marked(bytes: &[u8]) {
    assert!(bytes.ends_with(b"\n\n") || bytes.ends_with(b"\n\r\n"));
    let Some(text) = data(bytes) else { return };
    let marked = keeps_what_it_marks(text);
    // A chunk that says why the answer ended is an object, and one that was marked still says so.
    if is_finish(text) {
        let marked = marked.expect("an object can be marked");
        assert!(is_finish(&marked));
        assert_eq!(data(event(&marked).as_bytes()), Some(marked.as_str()));
    }
}

/// A field more at the end of an object, and nothing else changed. What is valid JSON and no object is left alone.
fn keeps_what_it_marks(text: &str) -> Option<String> {
    let sources = json!([{"doc_id": "a \"b\""}]);
    let marked = with_fields(text, &[(FIELD, sources.to_string())]);
    let before = serde_json::from_str::<Value>(text);
    match (before, &marked) {
        (Ok(Value::Object(mut fields)), Some(marked)) => {
            let after: Map<String, Value> = serde_json::from_str(marked).expect("valid JSON stays valid");
            fields.insert(FIELD.to_owned(), sources);
            assert_eq!(after, fields);
        }
        (Ok(Value::Object(_)), None) => panic!("an object was not marked: {text}"),
        (Ok(_), Some(marked)) => panic!("no object, and marked: {marked}"),
        (Ok(_), None) | (Err(_), _) => {}
    }
    marked
}
