//! Tests of strict mode: only what was checked may pass.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::super::{MAX_HELD_CALL_BYTES, Reader, UNCHECKED};
use super::*;

/// The text that must not pass.
const CANARY: &str = "AKIA1234567890ABCDEF";

/// A guard that holds the texts of choices until they end, and replaces the canary. Calls with the canary are removed.
#[derive(Default)]
struct Guard {
    texts: Vec<(u64, String)>,
}

impl Guard {
    fn change(&mut self, delta: &Delta) -> Change {
        let place = self.texts.iter().position(|(choice, _)| *choice == delta.choice).unwrap_or_else(|| {
            self.texts.push((delta.choice, String::new()));
            self.texts.len() - 1
        });
        let held = &mut self.texts[place].1;
        held.push_str(&delta.text);
        let text =
            if delta.finish_reason.is_some() { std::mem::take(held).replace(CANARY, "***") } else { String::new() };
        let has_canary = |call: &ToolCall| format!("{call:?}").contains(CANARY);
        Change { text, finish_reason: None, keeps_calls: !delta.tool_calls.iter().any(has_canary) }
    }
}

/// What the client gets of a stream, up to the error if there is one.
fn sent(stream: &[u8], piece_bytes: usize) -> (String, Result<(), Unchecked>) {
    let (mut reader, mut rewriting, mut guard) = (Reader::default(), Rewriting::strict(), Guard::default());
    let mut written = Vec::new();
    let pieces = stream.chunks(piece_bytes.max(1)).map(|piece| reader.push(Bytes::copy_from_slice(piece)).unwrap());
    let mut chunks: Vec<Chunk> = pieces.flat_map(|piece| piece.chunks).collect();
    chunks.extend(reader.end().into_iter().flatten().flat_map(|piece| piece.chunks));
    for chunk in chunks {
        match rewriting.rewrite(chunk, |delta| guard.change(delta)) {
            Ok(chunks) => chunks.iter().for_each(|chunk| written.extend_from_slice(&chunk.raw)),
            Err(error) => return (String::from_utf8(written).unwrap(), Err(error)),
        }
    }
    (String::from_utf8(written).unwrap(), Ok(()))
}

fn data(value: &Value) -> String {
    event(&value.to_string())
}

fn delta(delta: &Value) -> String {
    data(&json!({"id": "c1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
}

fn finish(reason: &str) -> String {
    data(&json!({"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
}

const DONE: &str = "data: [DONE]\n\n";

#[test]
fn an_event_that_cannot_be_read_breaks_the_stream_off() {
    for (hostile, expected) in [
        (r#"data: {"choices":[{"delta":{"content":"\ud83d CANARY"}}]}"#, Unchecked::Form),
        (r#"data: {"choices":[{"index":-1,"delta":{"content":"CANARY"}}]}"#, Unchecked::Form),
        (r#"data: {"choices":[{"index":0.0,"delta":{"content":"CANARY"}}]}"#, Unchecked::Form),
        (r#"data: {"choices":[{"delta":"CANARY"}]}"#, Unchecked::Form),
        (r#"data: {"choices":["CANARY"]}"#, Unchecked::Form),
        (r#"data: {"choices":"CANARY"}"#, Unchecked::Form),
        (r#"data: {"choices":[{"delta":{"content":"a","content":"CANARY"}}]}"#, Unchecked::Form),
        (r#"data: {"choices":[],"choices":[{"delta":{"content":"CANARY"}}]}"#, Unchecked::Form),
        (r#"data: {"choices":[{"delta":{"tool_calls":"CANARY"}}]}"#, Unchecked::Form),
        (
            r#"data: {"choices":[{"delta":{"tool_calls":[{"type":"custom","custom":{"input":"CANARY"}}]}}]}"#,
            Unchecked::Form,
        ),
        (
            r#"data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"\ud83d CANARY"}}]}}]}"#,
            Unchecked::Form,
        ),
        (r#"data: "CANARY""#, Unchecked::Form),
        ("data: CANARY", Unchecked::Form),
        ("event: ping\ndata: CANARY", Unchecked::Form),
        ("data: {\"choices\":[{\"delta\":{\"content\":\ndata: \"CANARY\"}}]}", Unchecked::SeveralLines),
        ("data: [DONE]\ndata: CANARY", Unchecked::SeveralLines),
        ("data: {}\rdata: CANARY", Unchecked::SeveralLines),
    ] {
        let stream =
            [&delta(&json!({"content": "a"})), &*hostile.replace("CANARY", CANARY), "\n\n", &finish("stop")].concat();
        assert_eq!(sent(stream.as_bytes(), 7), (String::new(), Err(expected)), "{hostile}");
    }
    let mut stream = delta(&json!({"content": "CANARY a"})).into_bytes();
    let place = stream.iter().position(|byte| *byte == b'C').unwrap();
    stream[place] = 0xff;
    assert_eq!(sent(&stream, 7), (String::new(), Err(Unchecked::NotText)));
}

#[test]
fn fields_that_were_not_checked_are_removed() {
    for hostile in [
        r#"{"choices":[{"index":0,"delta":{"content":"CANARY"}},{"index":1,"delta":null}]}"#,
        r#"{"choices":[{"delta":{"content":"CANARY"}}],"usage":{"prompt_tokens":null}}"#,
        r#"{"choices":[{"delta":{"content":"CANARY"}}],"usage":{"prompt_tokens":1.5,"text":"CANARY"}}"#,
        r#"{"choices":[{"delta":{"content":"CANARY"}}],"usage":"CANARY"}"#,
        r#"{"choices":[{"delta":{"content":"a","refusal":"CANARY"}}]}"#,
        r#"{"choices":[{"delta":{"content":"a","re\u0061soning":"CANARY"}}]}"#,
        r#"{"choices":[{"delta":{"reasoning_content":"CANARY"}}]}"#,
        r#"{"choices":[{"delta":{"content":[{"type":"text","text":"CANARY"}]}}]}"#,
        r#"{"choices":[{"delta":{"role":"CANARY"}}]}"#,
        r#"{"choices":[{"delta":{"content":"a"},"logprobs":{"content":[{"token":"CANARY"}]}}]}"#,
        r#"{"choices":[{"delta":{"content":"a"},"token_ids":[1],"stop_reason":"CANARY","text":"CANARY"}]}"#,
        r#"{"choices":[{"delta":{"content":"a"},"message":{"content":"CANARY"}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"CANARY"}]}"#,
        r#"{"choices":[],"prompt_token_ids":[1],"x_vendor":{"text":"CANARY"},"output":"CANARY"}"#,
        r#"{"id":{"a":"CANARY"},"created":"CANARY","model":["CANARY"],"choices":[{"delta":{"content":"a"}}]}"#,
        r#"{"error":{"code":1,"failed_generation":"CANARY","metadata":{"raw":"CANARY"}}}"#,
    ] {
        let lines =
            ["id: CANARY\nevent: CANARY\n: CANARY\ndata: ", hostile, "\n\n: CANARY\n\nevent: CANARY\n\n: CANARY\n"]
                .concat();
        let stream = [&lines.replace("CANARY", CANARY), &*finish("stop"), ": CANARY\ndata: [DONE]\n\n"].concat();
        let (sent, result) = sent(stream.as_bytes(), 1_000);
        assert_eq!(result, Ok(()), "{hostile}");
        assert!(!sent.contains(CANARY) && !sent.contains("CANARY") && !sent.contains("token_ids"), "{hostile}: {sent}");
        assert!(sent.ends_with(DONE), "{hostile}: {sent}");
    }
}

#[test]
fn known_fields_stay() {
    let first = concat!(
        r#"{"id":"c1","object":"chat.completion.chunk","created":5,"model":"m","system_fingerprint":"f","#,
        r#""service_tier":"default","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
    );
    let usage = concat!(
        r#"{"id":"c1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"#,
        r#""prompt_tokens_details":{"cached_tokens":1}}}"#,
    );
    let with_error = |message: &str| {
        let error = format!(r#"{{"error":{{"message":"{message}","type":"server_error","code":502}}}}"#);
        [first, usage, &error].map(event).concat() + DONE
    };
    // All but the words of an error.
    assert_eq!(sent(with_error("gone").as_bytes(), 9), (with_error(UNCHECKED), Ok(())));
}

#[test]
fn events_without_data_are_dropped() {
    let stream = [": keep-alive\n\n", "data:\n\n", "event: ping\ndata: {}\n\n", &delta(&json!({})), DONE].concat();
    assert_eq!(sent(stream.as_bytes(), 5), (DONE.to_owned(), Ok(())));
}

#[test]
fn nothing_of_a_choice_comes_after_its_end() {
    let call = json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]});
    let late = [delta(&json!({"content": "late"})), delta(&call), finish("stop")].concat();
    let stream = [finish("content_filter"), late, DONE.to_owned()].concat();
    assert_eq!(sent(stream.as_bytes(), 100), (finish("content_filter") + DONE, Ok(())));
}

/// The pieces of two calls, with these arguments of the second.
fn calls(arguments: &str) -> String {
    let call = |call: Value| delta(&json!({"tool_calls": [call]}));
    let (first, second) = arguments.split_at(arguments.len() / 2);
    [
        delta(&json!({"role": "assistant", "content": null})),
        call(json!({"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}})),
        call(json!({"index": 0, "function": {"arguments": "{}"}})),
        call(json!({"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": first}})),
        call(json!({"index": 1, "function": {"arguments": second}})),
    ]
    .concat()
}

#[test]
fn tool_calls_are_sent_when_they_are_whole() {
    let function = |name: &str, arguments: &str| json!({"name": name, "arguments": arguments});
    let whole = json!({"tool_calls": [
        {"index": 0, "id": "a", "type": "function", "function": function("f", "{}")},
        {"index": 1, "id": "b", "type": "function", "function": function("g", "{\"a\":1}")},
    ]});
    let role = delta(&json!({"role": "assistant"}));
    let stream = [calls("{\"a\":1}"), finish("tool_calls"), DONE.to_owned()].concat();
    let expected = [role.clone(), delta(&whole), finish("tool_calls"), DONE.to_owned()].concat();
    assert_eq!(sent(stream.as_bytes(), 11), (expected, Ok(())));
    // Some servers never say why an answer ended.
    let stream = [calls("{\"a\":1}"), DONE.to_owned()].concat();
    assert_eq!(sent(stream.as_bytes(), 11), ([role.clone(), delta(&whole), DONE.to_owned()].concat(), Ok(())));

    let stream = [calls(CANARY), finish("tool_calls"), DONE.to_owned()].concat();
    let blocked = [role, finish("content_filter"), DONE.to_owned()].concat();
    assert_eq!(sent(stream.as_bytes(), 11), (blocked.clone(), Ok(())));
    assert_eq!(sent([calls(CANARY), DONE.to_owned()].concat().as_bytes(), 11), (blocked, Ok(())));
}

#[test]
fn calls_of_all_forms_are_read() {
    for (pieces, expected) in [
        // OpenAI's older format.
        (
            vec![
                json!({"function_call": {"name": "f", "arguments": "{"}}),
                json!({"function_call": {"arguments": "}"}}),
            ],
            json!({"function_call": {"name": "f", "arguments": "{}"}}),
        ),
        // No index, and an object instead of its JSON.
        (
            vec![
                json!({"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}]}),
                json!({"tool_calls": [{"id": "b", "function": {"name": "g", "arguments": "{"}}]}),
                json!({"tool_calls": [{"id": "", "type": "", "function": {"name": null, "arguments": "}"}}]}),
            ],
            json!({"tool_calls": [
                {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}},
                {"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
            ]}),
        ),
        // The name with every piece, and another field that is removed.
        (
            vec![json!({"tool_calls": [{"index": 3, "function": {"name": "f", "x": CANARY}}]}); 2],
            json!({"tool_calls": [{"index": 3, "type": "function", "function": {"name": "f", "arguments": ""}}]}),
        ),
    ] {
        let stream: String = pieces.iter().map(delta).collect::<String>() + &finish("tool_calls");
        assert_eq!(sent(stream.as_bytes(), 50), (delta(&expected) + &finish("tool_calls"), Ok(())));
    }
}

#[test]
fn too_much_to_hold_is_blocked() {
    let piece = |index: usize, bytes: usize| {
        delta(&json!({"tool_calls": [{"index": index, "function": {"arguments": "a".repeat(bytes)}}]}))
    };
    let (half, end) = (MAX_HELD_CALL_BYTES / 2, finish("tool_calls"));
    let long = [piece(0, half), piece(1, half), piece(1, 1), piece(0, 1), end.clone()].concat();
    assert_eq!(sent(long.as_bytes(), 1 << 20), (finish("content_filter"), Ok(())));
    let many = (0..129).map(|index| piece(index, 1)).collect::<String>() + &end;
    assert_eq!(sent(many.as_bytes(), 1 << 20), (finish("content_filter"), Ok(())));
    // What was sent or dropped is not counted any more.
    let other = delta(&json!({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]})) + &end;
    let (text, _) =
        sent([long, other.replace(r#""index":0,"delta""#, r#""index":1,"delta""#)].concat().as_bytes(), 1 << 20);
    assert!(text.contains(r#"[{"index":1,"delta":{"tool_calls""#), "{text}");
}

/// A field of any name and value, some with the canary.
fn any_field() -> impl Strategy<Value = (String, Value)> {
    let name = prop::sample::select(vec![
        "refusal",
        "reasoning",
        "reasoning_content",
        "token_ids",
        "prompt_token_ids",
        "stop_reason",
        "logprobs",
        "text",
        "output",
        "audio",
        "annotations",
        "metadata",
        "usage",
        "choice",
        "content_parts",
        "message",
        "x_groq",
    ]);
    let value = prop::sample::select(vec![
        json!(CANARY),
        json!({"content": CANARY}),
        json!([CANARY, {"text": CANARY}]),
        json!({"prompt_tokens": 1, "text": CANARY}),
        json!(null),
        json!(1.5),
        json!([65, 75, 73, 65]),
    ]);
    (name.prop_map(str::to_owned), value)
}

/// A delta with a text or a piece of a call.
fn any_delta() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec!["a ", CANARY, "AKIA123456", "7890ABCDEF", "\u{e9}\"\\", ""]);
    let form = 0..5;
    (form, words, 0..2_u64, any_field()).prop_map(|(form, words, index, (name, value))| {
        let mut delta = match form {
            0 => json!({"role": "assistant", "content": words}),
            1 => json!({"content": words}),
            2 => json!({"tool_calls": [{"index": index, "id": words, "function": {"name": "f", "arguments": words}}]}),
            3 => json!({"function_call": {"name": words, "arguments": words}}),
            _ => json!(null),
        };
        if let Some(fields) = delta.as_object_mut() {
            fields.insert(name, value);
        }
        delta
    })
}

/// An event of a hostile endpoint.
fn any_event() -> impl Strategy<Value = String> {
    let choice =
        (any_delta(), 0..2_u64, any_field(), prop::option::weighted(0.2, "stop|tool_calls|AKIA1234567890ABCDEF"));
    let choice = choice.prop_map(|(delta, index, (name, value), reason)| {
        let mut choice = json!({"index": index, "delta": delta, "finish_reason": reason});
        choice[name] = value;
        choice
    });
    let form = 0..12;
    (prop::collection::vec(choice, 0..3), any_field(), form).prop_map(|(choices, (name, value), form)| {
        let mut fields = json!({"id": "c1", "choices": choices});
        fields[name] = value;
        let json = fields.to_string();
        match form {
            0 => format!(": {CANARY}\n\n"),
            1 => format!("event: {CANARY}\ndata: {json}\r\n\r\n"),
            2 => format!("data: {}\n\n", json.replace("AKIA", "\\u0041K\\u0049A")),
            3 => format!("data: {}\n\n", json.replace("\"index\":0", "\"index\":null")),
            4 => format!(": {CANARY}\n{DONE}"),
            _ => format!("data: {json}\n\n"),
        }
    })
}

/// All that a client could read of what was sent: the texts of each choice together, and everything else.
fn read_by_a_client(sent: &str) -> String {
    let mut texts = vec![String::new(); 3];
    for data in sent.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]") {
        let value: Value = serde_json::from_str(data).unwrap();
        for choice in value["choices"].as_array().into_iter().flatten() {
            let place = usize::try_from(choice["index"].as_u64().unwrap()).unwrap();
            texts[place].push_str(choice["delta"]["content"].as_str().unwrap_or_default());
        }
    }
    texts.join("\n") + sent
}

proptest! {
    #[test]
    fn the_canary_never_passes(
        events in prop::collection::vec(any_event(), 0..12),
        hostile_bytes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..2),
        piece_bytes in 1_usize..200,
    ) {
        let mut stream = (events.concat() + &finish("stop") + DONE).into_bytes();
        for (place, byte) in hostile_bytes {
            let place = place.index(stream.len());
            stream[place] = byte;
        }
        let (sent, _) = sent(&stream, piece_bytes);
        let read = read_by_a_client(&sent);
        prop_assert!(!read.contains(CANARY), "{}", sent);
    }

    #[test]
    fn the_pieces_make_no_difference(events in prop::collection::vec(any_event(), 0..8), piece_bytes in 1_usize..200) {
        let stream = events.concat() + DONE;
        prop_assert_eq!(sent(stream.as_bytes(), piece_bytes), sent(stream.as_bytes(), stream.len()));
    }
}
