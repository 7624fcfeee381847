use proptest::prelude::*;

use super::marking::usage;
use super::*;

fn cut(pieces: &[&[u8]]) -> (Vec<String>, String) {
    let mut events = Events::default();
    let mut whole = Vec::new();
    for piece in pieces {
        events.push(piece, |event| whole.push(String::from_utf8(event.to_vec()).unwrap())).unwrap();
    }
    (whole, String::from_utf8(events.rest()).unwrap())
}

#[test]
fn events_are_found_wherever_the_pieces_end() {
    let stream = "data: {\"a\":1}\n\ndata: b\r\n\r\n: keep-alive\n\ndata: [DONE]\n\nda";
    let expected = ["data: {\"a\":1}\n\n", "data: b\r\n\r\n", ": keep-alive\n\n", "data: [DONE]\n\n"];
    for size in 1..stream.len() {
        let pieces: Vec<&[u8]> = stream.as_bytes().chunks(size).collect();
        let (events, rest) = cut(&pieces);
        assert_eq!(events, expected, "pieces of {size}");
        assert_eq!(rest, "da");
    }
}

#[test]
fn an_endless_event_is_refused() {
    let mut events = Events::default();
    let half = vec![b'x'; MAX_EVENT_BYTES / 2];
    let mut push = |piece: &[u8]| events.push(piece, |_| {});
    assert_eq!([push(&half), push(&half), push(b"x")], [Ok(()), Ok(()), Err(EventTooLong)]);
}

#[test]
fn the_data_of_an_event() {
    for (event, expected) in [
        ("data: {\"a\":1}\n\n", Some("{\"a\":1}")),
        ("data:[DONE]\r\n\r\n", Some("[DONE]")),
        ("event: ping\ndata: x\n\n", Some("x")),
        (": comment\n\n", None),
        ("data: a\ndata: b\n\n", None),
    ] {
        assert_eq!(data(event.as_bytes()), expected, "{event:?}");
    }
}

#[test]
fn the_last_chunk_is_known_by_its_finish_reason() {
    for (chunk, expected) in [
        (r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#, true),
        (r#"{"choices":[{"delta":{"content":"a"},"finish_reason":null}]}"#, false),
        (r#"{"choices":[{"delta":{"content":"\"finish_reason\":\"stop\""}}]}"#, false),
        (r#"{"choices":[{"finish_reason":null},{"index":1,"finish_reason" : "length"}]}"#, true),
        (r#"{"choices":[{"delta":{"finish_reason":"stop"},"finish_reason":null}]}"#, false),
        (r#"{"choices":[],"usage":{}}"#, false),
        ("[DONE]", false),
        (r#"{"finish_reason""#, false),
    ] {
        assert_eq!(is_finish(chunk), expected, "{chunk}");
    }
}

#[test]
fn values_are_looked_for_behind_a_name_and_a_colon() {
    let data = r#"{"usage":null, "x":"usage", "y":["usage"], "z":{"usage" : 7}}"#;
    let found: Vec<&str> = values_of(data, "\"usage\"").map(|value| &value[..1]).collect();
    assert_eq!(found, ["n", "7"]);
    assert_eq!(values_of("", "\"usage\"").next(), None);
}

#[test]
fn a_field_is_put_at_the_end_of_an_object() {
    for (object, expected) in [
        (r#"{"a":1.50}"#, Some(r#"{"a":1.50,"s":null}"#)),
        ("{\n \"a\": 1\n}\n", Some("{\n \"a\": 1\n,\"s\":null}")),
        ("{ }", Some("{ \"s\":null}")),
        ("[1]", None),
        ("", None),
        ("}", None),
    ] {
        assert_eq!(with_fields(object, &[("s", "null".to_owned())]).as_deref(), expected, "{object}");
    }
    let two = [("s", "[]".to_owned()), ("t", "1".to_owned())];
    assert_eq!(with_fields("{}", &two).as_deref(), Some(r#"{"s":[],"t":1}"#));
}

proptest! {
    #[test]
    fn no_byte_is_lost_or_made_up(pieces in proptest::collection::vec("[a\n\r:{}\"]{0,12}", 0..20)) {
        let bytes: Vec<&[u8]> = pieces.iter().map(String::as_bytes).collect();
        let (events, rest) = cut(&bytes);
        prop_assert_eq!(events.concat() + &rest, pieces.concat());
    }
}

fn marked(pieces: &[&str], fields: &[(&'static str, &str)]) -> (String, Marking) {
    let mut marking = Marking::new(fields.iter().map(|(name, value)| (*name, (*value).to_owned())).collect());
    let mut out = String::new();
    for piece in pieces {
        match marking.push(piece.as_bytes()).unwrap() {
            Ready::AsItCame => out.push_str(piece),
            Ready::Bytes(bytes) => out.push_str(std::str::from_utf8(&bytes).unwrap()),
        }
    }
    out.push_str(std::str::from_utf8(&marking.rest()).unwrap());
    (out, marking)
}

const ANSWER: &str = "\
    data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n\
    data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":null}]}\n\n\
    data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
    data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";

#[test]
fn the_fields_are_put_once_wherever_the_pieces_end() {
    let expected = ANSWER.replace("\"stop\"}]}", "\"stop\"}],\"source_nodes\":[],\"explanation\":{}}");
    for size in 1..ANSWER.len() {
        let pieces: Vec<&str> =
            ANSWER.as_bytes().chunks(size).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
        let (out, marking) = marked(&pieces, &[("source_nodes", "[]"), ("explanation", "{}")]);
        assert_eq!(out, expected, "pieces of {size}");
        assert!(marking.is_done());
        assert_eq!(marking.usage(), Some(Usage { prompt_tokens: 7, completion_tokens: 2 }));
    }
}

#[test]
fn the_end_of_an_answer_is_told_from_the_end_of_its_stream() {
    let finish = "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n";
    let word = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n\n";
    let error = "data: {\"error\":{\"message\":\"no\"}}\n\n";
    for (pieces, is_whole, has_error) in [
        (vec![word], false, false),
        (vec![word, finish], true, false),
        (vec![word, "data: [DONE]\n\n"], true, false),
        (vec![word, error], false, true),
        (vec!["data: {\"error\":null,\"choices\":[]}\n\n"], false, false),
        (vec!["data: {\"choices\":[{\"delta\":{\"content\":\"\\\"error\\\": 1\"}}]}\n\n"], false, false),
        (vec!["data: {\"choices\":[{\"delta\":{\"error\":1}}]}\n\n"], false, false),
    ] {
        let (_, marking) = marked(&pieces, &[]);
        assert_eq!((marking.is_whole(), marking.has_error()), (is_whole, has_error), "{pieces:?}");
    }
    // Servers may leave out the empty line after the last event.
    let mut marking = Marking::new(vec![("source_nodes", "[]".to_owned())]);
    marking.push(finish.trim_end().as_bytes()).unwrap();
    assert_eq!(marking.rest(), finish.trim_end().replace("]}", "],\"source_nodes\":[]}").as_bytes());
    assert!(marking.is_whole());
}

#[test]
fn an_answer_that_never_says_why_it_ended_gets_the_fields_before_the_mark() {
    let first = concat!(
        r#"{"id":"c1","object":"chat.completion.chunk","created":5,"model":"m","#,
        r#""choices":[{"delta":{"content":"Hi"}}]}"#,
    );
    let closing =
        r#"{"id":"c1","created":5,"model":"m","object":"chat.completion.chunk","choices":[],"source_nodes":[1]}"#;
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7}}\n\n";
    for done in ["data: [DONE]\n\n", "data: [DONE]\r\n\r\n", ": over\ndata:[DONE]\n\n", "data: [DONE]"] {
        let stream = format!("{}{usage}{done}", event(first));
        let expected = format!("{}{usage}{}{done}", event(first), event(closing));
        for size in 1..stream.len() {
            let pieces: Vec<&str> =
                stream.as_bytes().chunks(size).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
            let (out, marking) = marked(&pieces, &[("source_nodes", "[1]")]);
            assert_eq!(out, expected, "pieces of {size}");
            assert!(marking.is_whole());
        }
    }
    // A stream without any chunk still gets an event that clients can parse.
    let (out, _) = marked(&["data: [DONE]\n\n"], &[("source_nodes", "[1]")]);
    assert_eq!(
        out,
        "data: {\"object\":\"chat.completion.chunk\",\"choices\":[],\"source_nodes\":[1]}\n\ndata: [DONE]\n\n"
    );
}

#[test]
fn no_event_is_added_where_nothing_is_missing() {
    let finish = "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n";
    let error = "data: {\"error\":{\"message\":\"no\"}}\n\n";
    for (stream, fields, events) in [
        ([finish, "data: [DONE]\n\n"], vec![("source_nodes", "[]")], 2),
        // A failed answer from an index does not end as a whole one does.
        ([error, "data: [DONE]\n\n"], vec![("source_nodes", "[]")], 1),
        ([error, "data: [DONE]\n\n"], vec![], 2),
        (["data: {\"choices\":[{\"delta\":{}}]}\n\n", "data: [DONE]\n\n"], vec![], 2),
    ] {
        let (out, _) = marked(&stream, &fields);
        assert_eq!(out.matches("data: ").count(), events, "{out}");
    }
}

#[test]
fn whole_events_that_need_nothing_are_not_copied() {
    let mut marking = Marking::new(vec![("source_nodes", "[]".to_owned())]);
    let first = ANSWER.split_inclusive("\n\n").next().unwrap();
    assert_eq!(marking.push(first.as_bytes()), Ok(Ready::AsItCame));
    assert_eq!(marking.push(b"data: {"), Ok(Ready::Bytes(Vec::new())));
    assert_eq!(marking.push(b"}\n\n"), Ok(Ready::Bytes(b"data: {}\n\n".to_vec())));
}

#[test]
fn other_lines_of_a_marked_event_stay() {
    let event = "event: message\nid: 7\ndata: {\"choices\":[{\"finish_reason\":\"stop\"}]}\r\n\r\n";
    let (out, _) = marked(&[event], &[("source_nodes", "[]")]);
    assert_eq!(out, event.replace("]}\r", "],\"source_nodes\":[]}\r"));
}

#[test]
fn the_first_word_is_noticed() {
    for (delta, expected) in [
        (r#"{"role":"assistant","content":""}"#, false),
        (r#"{"role":"assistant","content":null,"refusal":null,"tool_calls":[]}"#, false),
        (r#"{"content":" "}"#, true),
        (r#"{"reasoning_content":"Let"}"#, true),
        (r#"{"refusal":"No"}"#, true),
        (r#"{"tool_calls":[{"index":0}]}"#, true),
    ] {
        let chunk = format!("data: {{\"choices\":[{{\"delta\":{delta}}}]}}\n\n");
        assert_eq!(marked(&[&chunk], &[]).1.has_words(), expected, "{delta}");
    }
}

#[test]
fn usage_is_read_where_it_is() {
    for (object, expected) in [
        (r#"{"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}"#, Some((3, 2))),
        (r#"{"usage":null}"#, None),
        (r#"{"usage":{"prompt_tokens":3}}"#, Some((3, 0))),
        (r#"{"usage":"much"}"#, None),
        ("[DONE]", None),
    ] {
        let counts = |usage: Usage| (usage.prompt_tokens, usage.completion_tokens);
        assert_eq!(usage(object).map(counts), expected, "{object}");
        assert_eq!(Whole::read(object).and_then(|whole| whole.usage).map(counts), expected, "{object}");
    }
}

/// The bytes that a client gets from a stream, up to its end or the point where it breaks.
fn relayed(pieces: &[&str]) -> (String, Result<Verdict, Broken>) {
    let mut relaying = Relaying::new(vec![("source_nodes", "[]".to_owned())]);
    let mut sent = String::new();
    for piece in pieces {
        match relaying.push(piece.as_bytes()).unwrap() {
            Ready::AsItCame => sent.push_str(piece),
            Ready::Bytes(bytes) => sent.push_str(std::str::from_utf8(&bytes).unwrap()),
        }
    }
    let last = relaying.end();
    let verdict = last.map(|rest| {
        sent.push_str(std::str::from_utf8(&rest).unwrap());
        relaying.verdict().unwrap()
    });
    (sent, verdict)
}

#[test]
fn a_stream_that_breaks_leaves_out_what_was_not_finished() {
    let word = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let error = "data: {\"error\":{\"message\":\"no\"}}";
    let fine = Verdict { usage: None, has_error: false };
    let closing = "data: {\"object\":\"chat.completion.chunk\",\"choices\":[],\"source_nodes\":[]}\n\n";
    for (pieces, sent, verdict) in [
        (vec![word, "data: {\"choi"], word.to_owned(), Err(Broken::Early)),
        (vec![word], word.to_owned(), Err(Broken::Early)),
        (vec![], String::new(), Err(Broken::Early)),
        (vec![word, error], [word, error].concat(), Ok(Verdict { has_error: true, ..fine })),
        (vec![word, "data: [DO", "NE]\n\n"], [word, closing, "data: [DONE]\n\n"].concat(), Ok(fine)),
    ] {
        assert_eq!(relayed(&pieces), (sent, verdict), "{pieces:?}");
    }
    let (sent, verdict) = relayed(&[ANSWER]);
    assert_eq!(sent, ANSWER.replace("\"stop\"}]}", "\"stop\"}],\"source_nodes\":[]}"));
    assert_eq!(verdict.unwrap().usage, Some(Usage { prompt_tokens: 7, completion_tokens: 2 }));
}

#[test]
fn the_mark_of_the_end_is_enough_for_a_verdict() {
    let mut relaying = Relaying::new(Vec::new());
    relaying.push(b"data: {\"choices\":[]}\n\n").unwrap();
    assert_eq!((relaying.has_words(), relaying.verdict()), (false, None));
    relaying.push(b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n").unwrap();
    assert_eq!((relaying.has_words(), relaying.verdict()), (true, None));
    relaying.push(b"data: [DONE]\n\n").unwrap();
    assert_eq!(relaying.verdict(), Some(Verdict { usage: None, has_error: false }));
}

/// Sends the same pieces as an answer from an index and as a pass-through answer. Returns the bytes and the verdict of
/// both.
fn both_ways(pieces: &[&str]) -> [(Vec<u8>, Option<Verdict>); 2] {
    let fields = || vec![("source_nodes", "[1]".to_owned())];
    let (mut answering, mut relaying) = (Answering::new(fields()), Relaying::new(fields()));
    let (mut said, mut passed) = (Vec::new(), Vec::new());
    for piece in pieces {
        let sent = |ready: Ready| match ready {
            Ready::AsItCame => piece.as_bytes().to_vec(),
            Ready::Bytes(bytes) => bytes,
        };
        said.extend(sent(answering.push(&bytes::Bytes::copy_from_slice(piece.as_bytes())).unwrap()));
        passed.extend(sent(relaying.push(piece.as_bytes()).unwrap()));
    }
    said.extend(answering.end().unwrap_or_default());
    passed.extend(relaying.end().unwrap_or_default());
    [(said, answering.verdict()), (passed, relaying.verdict())]
}

const EVENTS: [&str; 18] = [
    ": comment\n\n",
    "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n\n",
    "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n\n",
    "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"\\u00e4 \\\"b\\\"\"}}]}\r\n\r\n",
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\n",
    "data: {\"choices\":\"none\",\"usage\":{\"prompt_tokens\":3}}\n\n",
    "data: {\"error\":{\"message\":\"no\"}}\n\n",
    // OpenRouter sends errors in the middle of a stream like this.
    "data: {\"id\":\"c\",\"error\":{\"code\":502},\
     \"choices\":[{\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}],\"usage\":{\"prompt_tokens\":5}}\n\n",
    "data: {\"error\":{},\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n",
    // Events that one parser accepts as JSON and the other does not.
    "data: {\"choices\":[{\"delta\":{\"x\":\"\\ud800\"},\"finish_reason\":\"stop\"}]}\n\n",
    "data: {\"choices\":[{\"delta\":{},\"finish\\u005freason\":\"stop\"}]}\n\n",
    "data: {\"error\":\"\\ud800\",\"choices\":[]}\n\n",
    "data: {\"choices\":[],\"us\\u0061ge\":{\"prompt_tokens\":9}}\n\n",
    "event: ping\ndata: x\n\n",
    "data: {\"choices\":[{\"delta\":null,\"finish_reason\":\"length\"}]}\n\n",
    "data: [DONE]\n\n",
    "data: {\"cho",
];

proptest! {
    #[test]
    fn an_answer_is_sent_as_one_that_is_passed_through(
        events in proptest::collection::vec(0..EVENTS.len(), 0..8),
        size in 1_usize..60,
    ) {
        let stream: String = events.into_iter().map(|event| EVENTS[event]).collect();
        let characters: Vec<String> = stream.chars().map(String::from).collect();
        let pieces: Vec<String> = characters.chunks(size).map(<[String]>::concat).collect();
        let [said, passed] = both_ways(&pieces.iter().map(String::as_str).collect::<Vec<_>>());
        prop_assert_eq!(said, passed);
    }
}

#[test]
fn fields_that_are_not_sent_yet_come_before_the_mark_of_the_end() {
    let word = "data: {\"id\":\"c\",\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let closing = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[],\"source_nodes\":[1]}\n\n";
    let finish = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let error = "data: {\"error\":{\"message\":\"no\"}}\n\n";
    let done = "data: [DONE]\n\n";
    for (pieces, expected) in [
        ([word, done], [word, closing, done].concat()),
        ([finish, done], [&finish.replace("]}\n", "],\"source_nodes\":[1]}\n"), done].concat()),
        // A failed answer has no such mark.
        ([error, done], error.to_owned()),
    ] {
        let [said, passed] = both_ways(&pieces);
        assert_eq!(String::from_utf8(said.0.clone()).unwrap(), expected);
        assert_eq!(said, passed);
    }
}

#[test]
fn a_writer_tells_what_it_has_written() {
    let field = |name, value: &str| vec![(name, value.to_owned())];
    let (mut reader, mut writer) = (Reader::default(), Writer::new(field("source_nodes", "[1]")));
    writer.add_fields(field("explanation", "{}"));
    let finish = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    let with_fields = finish.replace("]}", r#"],"source_nodes":[1],"explanation":{}}"#);
    let word = r#"{"choices":[{"delta":{"content":"a"}}]}"#;
    let (role, error) = (r#"{"choices":[{"delta":{"role":"assistant"}}]}"#, r#"{"error":{"message":"no"}}"#);
    for (data, expected, has_words, has_error, is_done) in [
        (role, role, false, false, false),
        (word, word, true, false, false),
        (finish, &*with_fields, true, false, false),
        (error, error, true, true, false),
        (finish, finish, true, true, false),
        ("[DONE]", "[DONE]", true, true, true),
        (role, role, true, true, true),
    ] {
        let written = writer.write(reader.push(event(data).into()).unwrap());
        assert_eq!(written, event(expected));
        let told = (writer.has_words(), writer.verdict().has_error, writer.is_done());
        assert_eq!(told, (has_words, has_error, is_done), "{data}");
    }
}

#[test]
fn an_error_that_ends_an_answer_carries_the_fields() {
    let word = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let error = "data: {\"error\":{\"code\":502},\
        \"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}],\"usage\":{\"prompt_tokens\":5}}\n\n";
    let [said, passed] = both_ways(&[word, error]);
    let expected = [word.to_owned(), error.replace("}}\n", "},\"source_nodes\":[1]}\n")].concat();
    assert_eq!(String::from_utf8(said.0.clone()).unwrap(), expected);
    let usage = Some(Usage { prompt_tokens: 5, completion_tokens: 0 });
    assert_eq!(said.1, Some(Verdict { usage, has_error: true }));
    assert_eq!(said, passed);
}
