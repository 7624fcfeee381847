use super::*;

/// `key|text|metadata` for a document, `!place: message` for a problem, and the error.
fn rows(table: &str, separator: Separator, limits: &Limits) -> (Vec<String>, Option<String>) {
    let mut shown = Vec::new();
    let result = parse(table.as_bytes(), separator, limits, &mut |parsed| {
        shown.push(match parsed {
            Parsed::Document(document) => {
                let metadata = Value::Object(document.metadata);
                format!("{}|{}|{metadata}", document.key.unwrap(), document.text.replace('\n', "/"))
            }
            Parsed::Problem(problem) => format!("!{}: {}", problem.place, problem.message),
        });
        Ok(())
    });
    (shown, result.err().map(|error| error.to_string()))
}

#[test]
fn a_row_is_a_document() {
    use Separator::{CommaOrSemicolon, Tab};
    for (table, separator, expected) in [
        ("a,b\n1,2\n", CommaOrSemicolon, vec![r#"1|a: 1/b: 2|{}"#]),
        ("\u{feff}a;b\n1,5;2\n", CommaOrSemicolon, vec![r#"1|a: 1,5/b: 2|{}"#]),
        ("a;b,c\n1;2,3\n", CommaOrSemicolon, vec![r#"1|a;b: 1;2/c: 3|{}"#]),
        ("a\tb\n1\t\n", Tab, vec![r#"1|a: 1|{}"#]),
        ("ID, Title ,x\nk,T,y\n", CommaOrSemicolon, vec![r#"k|Title: T/x: y|{"title":"T"}"#]),
        (
            "id,Content,url,team\nk,\"t, u\",https://a.example/,red\n",
            CommaOrSemicolon,
            vec![r#"k|t, u|{"team":"red","url":"https://a.example/"}"#],
        ),
        (
            "a,b\n1\n2,3\n",
            CommaOrSemicolon,
            vec!["!row 1: it has 1 columns, but the header row has 2", r#"2|a: 2/b: 3|{}"#],
        ),
    ] {
        let (found, error) = rows(table, separator, &Limits::default());
        assert_eq!((found, error), (expected.into_iter().map(str::to_owned).collect(), None), "{table:?}");
    }
}

#[test]
fn an_invalid_table_is_refused_with_a_reason() {
    let names = vec!["n"; MAX_COLUMNS + 1].join(",");
    for (table, error) in [
        ("", "it contains no text"),
        ("a,b\n", "it contains no text"),
        (names.as_str(), "it has more than 1000 columns"),
    ] {
        assert_eq!(rows(table, Separator::CommaOrSemicolon, &Limits::default()), (vec![], Some(error.to_owned())));
    }
}

#[test]
fn rows_that_are_not_utf8_are_reported() {
    let mut shown = Vec::new();
    let table: &[u8] = b"a\n\xff\nb\n";
    let result = parse(table, Separator::CommaOrSemicolon, &Limits::default(), &mut |parsed| {
        shown.push(parsed);
        Ok(())
    });
    assert_eq!(result, Ok(()));
    assert!(matches!(&shown[0], Parsed::Problem(problem) if problem.message == "it is not text in UTF-8"), "{shown:?}");
    assert_eq!(shown.len(), 2);
}

/// Without a limit, the rest of the file would be one row.
#[test]
fn an_unclosed_quotation_mark_ends_the_file() {
    let limits = Limits { max_document_bytes: 1_000, ..Limits::default() };
    let table = format!("a\n1\n\"{}", "x\n".repeat(4 * BUFFER_BYTES));
    let (found, error) = rows(&table, Separator::CommaOrSemicolon, &limits);
    assert_eq!(found, ["1|a: 1|{}"]);
    assert_eq!(error.as_deref(), Some("a row is too long: a quotation mark may not be closed"));
}
