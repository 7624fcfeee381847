use super::*;

fn document(key: Option<&str>, text: &str) -> Result<ParsedDocument, String> {
    Ok(ParsedDocument { key: key.map(str::to_owned), text: text.to_owned(), ..ParsedDocument::default() })
}

/// The result of rows: `key=text` for a document, `!place: message` for a problem.
fn taken(limits: &Limits, rows: Vec<Result<ParsedDocument, String>>) -> (Vec<String>, Result<(), String>) {
    let mut shown = Vec::new();
    let mut emit = |parsed: Parsed| {
        shown.push(match parsed {
            Parsed::Document(document) => format!("{}={}", document.key.unwrap(), document.text),
            Parsed::Problem(problem) => format!("!{}: {}", problem.place, problem.message),
        });
        Ok(())
    };
    let mut taker = Rows::new("row", limits, &mut emit);
    let take_all = || rows.into_iter().zip(1..).try_for_each(|(row, number)| taker.take(number, row));
    let result = take_all().and_then(|()| taker.finish());
    (shown, result.map_err(|error| error.to_string()))
}

#[test]
fn keys_are_unique_and_problems_do_not_stop_the_others() {
    let bad = || Err("bad".to_owned());
    let limits = Limits { max_documents: 3, max_document_bytes: 5, ..Limits::default() };
    for (rows, shown, result) in [
        (vec![], vec![], Err("it contains no text")),
        (vec![document(None, "a"), document(Some("k"), "b")], vec!["1=a", "k=b"], Ok(())),
        (vec![bad(), document(None, "b"), bad()], vec!["!row 1: bad", "2=b", "!row 3: bad"], Ok(())),
        (vec![bad(), bad()], vec![], Err("none of its rows can be read; row 1: bad")),
        (
            vec![document(Some("k"), "a"), document(Some("k"), "b"), document(Some("k"), "c")],
            vec!["k=a", "!row 2: its id 'k' is that of row 1", "!row 3: its id 'k' is that of row 1"],
            Ok(()),
        ),
        (
            vec![document(Some("2"), "a"), document(None, "b")],
            vec!["2=a", "!row 2: its id '2' is that of row 1"],
            Ok(()),
        ),
        (
            vec![document(None, "12345"), document(None, "123456")],
            vec!["1=12345", "!row 2: its text is longer than 5 bytes"],
            Ok(()),
        ),
        (vec![document(None, "a"), document(None, "b\0")], vec!["1=a", "!row 2: it contains zero bytes"], Ok(())),
        (vec![document(None, "a"), document(None, " \n")], vec!["1=a", "!row 2: it contains no text"], Ok(())),
        (
            vec![document(None, "a"), document(Some("a\nb"), "b")],
            vec!["1=a", "!row 2: its id holds a control character"],
            Ok(()),
        ),
        (
            vec![document(None, "a"), document(Some(""), "b")],
            vec!["1=a", "!row 2: its id must have 1 to 200 bytes"],
            Ok(()),
        ),
        (
            vec![document(None, "a"), document(Some(&"k".repeat(201)), "b")],
            vec!["1=a", "!row 2: its id must have 1 to 200 bytes"],
            Ok(()),
        ),
        (
            vec![document(None, "a"), document(None, "b"), document(None, "c"), document(None, "d")],
            vec!["1=a", "2=b", "3=c"],
            Err("it contains more than 3 documents"),
        ),
    ] {
        let (found, outcome) = taken(&limits, rows);
        assert_eq!(found, shown);
        assert_eq!(outcome.as_ref().map_err(String::as_str), result.as_ref().map_err(|words| *words), "{shown:?}");
    }
}

#[test]
fn the_number_of_reported_problems_is_limited() {
    let mut rows = vec![document(None, "a")];
    rows.extend((0..MAX_PROBLEMS + 7).map(|_| Err("bad".to_owned())));
    let (shown, result) = taken(&Limits::default(), rows);
    assert_eq!(result, Ok(()));
    assert_eq!(shown.len(), 1 + MAX_PROBLEMS + 1);
    assert_eq!(shown.last().unwrap(), "!later rows: 7 more rows cannot be read");
}

#[test]
fn parsing_stops_when_the_consumer_does() {
    let mut asked = 0;
    let mut emit = |_| {
        asked += 1;
        Err(Stopped)
    };
    let limits = Limits::default();
    let mut rows = Rows::new("row", &limits, &mut emit);
    assert_eq!(rows.take(1, document(None, "a")), Err(ParseError::Stopped));
    assert_eq!(asked, 1);
}
