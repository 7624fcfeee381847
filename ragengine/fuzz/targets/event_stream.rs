//! Any bytes as a language model's stream, cut anywhere, through what the server passes answers on with: the client gets the same bytes however the
//! stream is cut, every one that came and none that did not but for our field, which is there once and in the right place; of a stream
//! that breaks it gets the events that had ended, and an error that it can read.
//!
//! The first byte of the input says how many of the next bytes are the sizes of the pieces, which repeat; the rest is the stream.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ragengine_pipeline::stream::{
    Answering, Events, MAX_EVENT_BYTES, Ready, Relaying, Verdict, Whole, data, event, is_finish, with_fields,
};
use serde_json::{Map, Value, json};

const FIELD: &str = "source_nodes";

/// No input of the fuzzer's holds it: what is ours is told by it.
const OURS: &str = r#"[{"doc_id":"8c1f2a6e-5b9d-4c37-9a40-2f0d7f6f3b11"}]"#;

/// What the server says of a stream that broke.
const ERROR: &str = r#"{"error":{"message":"its stream broke"}}"#;

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
    if holds(stream, OURS) {
        return;
    }
    let relayed = relay(&[stream]);
    assert_eq!(relay(&pieces(stream, sizes)), relayed);
    is_what_came(stream, &relayed);
    // What looks like data is not always in a whole event.
    if let Ok(text) = std::str::from_utf8(stream) {
        keeps_what_it_marks(text);
        assert_eq!(Whole::read(text).is_some(), serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok());
    }
});

/// What a client got, and what became of the answer: nothing when its stream broke.
#[derive(Debug, PartialEq)]
struct Relayed {
    sent: Vec<u8>,
    verdict: Option<Verdict>,
}

/// As the server does it, piece by piece.
fn relay(pieces: &[&[u8]]) -> Relayed {
    let relayed = relay_untouched(pieces);
    assert_eq!(relay_deltas(pieces), relayed);
    relayed
}

/// As an answer from an index goes on: read as deltas and written as deltas.
fn relay_deltas(pieces: &[&[u8]]) -> Relayed {
    let mut answering = Answering::new(vec![(FIELD, OURS.to_owned())]);
    let mut sent = Vec::new();
    for piece in pieces {
        match answering.push(&piece.to_vec().into()).expect("the input is no longer than an event may be") {
            Ready::AsItCame => sent.extend_from_slice(piece),
            Ready::Bytes(bytes) => sent.extend(bytes),
        }
    }
    match answering.end() {
        Ok(rest) => sent.extend(rest),
        Err(_) => sent.extend(event(ERROR).into_bytes()),
    }
    Relayed { sent, verdict: answering.verdict() }
}

/// As one that nobody looks into goes on.
fn relay_untouched(pieces: &[&[u8]]) -> Relayed {
    let mut relaying = Relaying::new(vec![(FIELD, OURS.to_owned())]);
    let mut sent = Vec::new();
    for piece in pieces {
        match relaying.push(piece).expect("the input is no longer than an event may be") {
            Ready::AsItCame => sent.extend_from_slice(piece),
            Ready::Bytes(bytes) => sent.extend(bytes),
        }
    }
    match relaying.end() {
        Ok(rest) => sent.extend(rest),
        Err(_) => sent.extend(event(ERROR).into_bytes()),
    }
    Relayed { sent, verdict: relaying.verdict() }
}

/// Finds out in another way, from the whole stream at once, what a client must have got.
fn is_what_came(stream: &[u8], relayed: &Relayed) {
    let (mut whole, mut events) = (Vec::new(), Events::default());
    events.push(stream, |event| whole.push(event.to_vec())).expect("the input is no longer than an event may be");
    let rest = events.rest();
    assert_eq!([whole.concat(), rest.clone()].concat(), stream);
    assert!(whole.iter().all(|event| event.ends_with(b"\n\n") || event.ends_with(b"\n\r\n")));

    let all: Vec<&[u8]> = whole.iter().chain([&rest]).map(Vec::as_slice).collect();
    let finish = all.iter().position(|event| data(event).is_some_and(is_finish));
    let is_done = all.iter().any(|event| data(event) == Some("[DONE]"));
    let text = String::from_utf8_lossy(&relayed.sent);
    let ours = text.matches(OURS).count();
    let Some(verdict) = relayed.verdict else {
        // It broke: what had ended came, and then an error that can be read.
        assert!(finish.is_none() && !is_done && ours == 0);
        let expected = [whole.concat(), event(ERROR).into_bytes()].concat();
        assert_eq!(relayed.sent, expected);
        return;
    };
    assert!(finish.is_some() || is_done || verdict.has_error);
    match finish {
        // On the first event that says why the answer ended, and nowhere else.
        Some(position) => {
            let chunk = data(all[position]).expect("it has data");
            let marked = with_fields(chunk, &[(FIELD, OURS.to_owned())]).expect("what finishes an answer is an object");
            assert!(is_finish(&marked));
            assert_eq!(data(event(&marked).as_bytes()), Some(marked.as_str()));
            let (before, after) = (all[..position].concat(), all[position + 1..].concat());
            let event = std::str::from_utf8(all[position]).expect("it has data").replacen(chunk, &marked, 1);
            assert_eq!(relayed.sent, [before, event.into_bytes(), after].concat());
            assert_eq!(ours, 1);
        }
        // In an event of its own at most.
        None => assert_eq!(without_the_event_of(OURS, &relayed.sent), stream),
    }
}

/// A stream without the one event that holds this.
fn without_the_event_of(held: &str, stream: &[u8]) -> Vec<u8> {
    let (mut kept, mut taken, mut events) = (Vec::new(), 0, Events::default());
    let pushed = events.push(stream, |event| match holds(event, held) {
        true => taken += 1,
        false => kept.extend_from_slice(event),
    });
    pushed.expect("the input is no longer than an event may be");
    assert!(taken <= 1);
    [kept, events.rest()].concat()
}

fn holds(bytes: &[u8], held: &str) -> bool {
    bytes.windows(held.len()).any(|window| window == held.as_bytes())
}

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

/// A field more at the end of an object, and nothing else changed. What is valid JSON and no object is left alone.
fn keeps_what_it_marks(text: &str) {
    let sources = json!([{"doc_id": "a \"b\""}]);
    let marked = with_fields(text, &[(FIELD, sources.to_string())]);
    match (serde_json::from_str::<Value>(text), &marked) {
        (Ok(Value::Object(mut fields)), Some(marked)) => {
            let after: Map<String, Value> = serde_json::from_str(marked).expect("valid JSON stays valid");
            fields.insert(FIELD.to_owned(), sources);
            assert_eq!(after, fields);
        }
        (Ok(Value::Object(_)), None) => panic!("an object was not marked: {text}"),
        (Ok(_), Some(marked)) => panic!("no object, and marked: {marked}"),
        (Ok(_), None) | (Err(_), _) => {}
    }
}
