//! Fuzzes the relaying of a language model's stream, split at any positions. The client must get the same bytes for
//! every split. These are all bytes of the stream, plus our field, once and in the right event. If the stream breaks,
//! the client gets the completed events, followed by an error event.
//!
//! The first byte of the input determines how many of the next bytes are sizes of pieces, which repeat. The rest is the
//! stream.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ragengine_pipeline::stream::{
    Answering, Events, MAX_EVENT_BYTES, Ready, Relaying, Verdict, Whole, data, event, is_finish, with_fields,
};
use serde_json::{Map, Value, json};

const FIELD: &str = "source_nodes";

/// The value of our field. Inputs that contain it are skipped.
const OURS: &str = r#"[{"doc_id":"8c1f2a6e-5b9d-4c37-9a40-2f0d7f6f3b11"}]"#;

/// The server's error for a broken stream.
const ERROR: &str = r#"{"error":{"message":"its stream broke"}}"#;

/// Maximum number of sizes of pieces, and maximum size of a piece in bytes.
const MAX_SIZES: usize = 7;
const MAX_SIZE: usize = 32;

fuzz_target!(|input: &[u8]| {
    // Ensures that no event is too long.
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
    check_relayed(stream, &relayed);
    // Also tests the functions for data on arbitrary text.
    if let Ok(text) = std::str::from_utf8(stream) {
        check_added_field(text);
        assert_eq!(Whole::read(text).is_some(), serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok());
    }
});

/// The bytes that a client got, and the verdict on the answer: none if the stream broke.
#[derive(Debug, PartialEq)]
struct Relayed {
    sent: Vec<u8>,
    verdict: Option<Verdict>,
}

/// Relays the stream piece by piece, in both ways of the server.
fn relay(pieces: &[&[u8]]) -> Relayed {
    let relayed = relay_untouched(pieces);
    assert_eq!(relay_deltas(pieces), relayed);
    relayed
}

/// Relays as for an answer from an index: read and written as deltas.
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

/// Relays as for an answer that is not inspected.
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

/// Computes the expected bytes in a different way, from the whole stream at once, and compares.
fn check_relayed(stream: &[u8], relayed: &Relayed) {
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
        // The stream broke: the client gets the completed events and an error event.
        assert!(finish.is_none() && !is_done && ours == 0);
        let expected = [whole.concat(), event(ERROR).into_bytes()].concat();
        assert_eq!(relayed.sent, expected);
        return;
    };
    assert!(finish.is_some() || is_done || verdict.has_error);
    match finish {
        // Our field is on the first event with a finish reason, and nowhere else.
        Some(position) => {
            let chunk = data(all[position]).expect("it has data");
            let marked = with_fields(chunk, &[(FIELD, OURS.to_owned())]).expect("a finishing chunk is an object");
            assert!(is_finish(&marked));
            assert_eq!(data(event(&marked).as_bytes()), Some(marked.as_str()));
            let (before, after) = (all[..position].concat(), all[position + 1..].concat());
            let event = std::str::from_utf8(all[position]).expect("it has data").replacen(chunk, &marked, 1);
            assert_eq!(relayed.sent, [before, event.into_bytes(), after].concat());
            assert_eq!(ours, 1);
        }
        // Our field is in a separate event, if anywhere.
        None => assert_eq!(without_event_with(OURS, &relayed.sent), stream),
    }
}

/// Removes the single event that contains `held`.
fn without_event_with(held: &str, stream: &[u8]) -> Vec<u8> {
    let (mut kept, mut taken, mut events) = (Vec::new(), 0, Events::default());
    let pushed = events.push(stream, |event| {
        if holds(event, held) {
            taken += 1;
        } else {
            kept.extend_from_slice(event);
        }
    });
    pushed.expect("the input is no longer than an event may be");
    assert!(taken <= 1);
    [kept, events.rest()].concat()
}

fn holds(bytes: &[u8], held: &str) -> bool {
    bytes.windows(held.len()).any(|window| window == held.as_bytes())
}

/// Splits the stream into pieces of these sizes, repeated.
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

/// Checks that adding a field changes nothing else in an object, and leaves other JSON values unchanged.
fn check_added_field(text: &str) {
    let sources = json!([{"doc_id": "a \"b\""}]);
    let marked = with_fields(text, &[(FIELD, sources.to_string())]);
    match (serde_json::from_str::<Value>(text), &marked) {
        (Ok(Value::Object(mut fields)), Some(marked)) => {
            let after: Map<String, Value> = serde_json::from_str(marked).expect("valid JSON stays valid");
            fields.insert(FIELD.to_owned(), sources);
            assert_eq!(after, fields);
        }
        (Ok(Value::Object(_)), None) => panic!("the field was not added to an object: {text}"),
        (Ok(_), Some(marked)) => panic!("the field was added to a value that is not an object: {marked}"),
        (Ok(_), None) | (Err(_), _) => {}
    }
}
