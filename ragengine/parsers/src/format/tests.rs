use super::*;

#[test]
fn the_extension_or_the_content_type_determines_the_format() {
    for (path, content_type, format) in [
        ("a/guide.md", None, Some(Format::Markdown)),
        ("a.b/GUIDE.MD", None, Some(Format::Markdown)),
        ("notes.txt", None, Some(Format::Text)),
        ("page.htm", None, Some(Format::Html)),
        ("book.pdf", None, Some(Format::Pdf)),
        ("rows.ndjson", None, Some(Format::JsonLines)),
        ("rows.csv", None, Some(Format::Csv)),
        ("rows.tsv", None, Some(Format::Tsv)),
        ("main.rs", None, Some(Format::Code(CodeLanguage::Rust))),
        ("main.tsx", None, Some(Format::Text)),
        ("deploy.yaml", None, Some(Format::Text)),
        ("src/Makefile", None, Some(Format::Text)),
        (".hidden", None, None),
        ("md", None, None),
        ("a.md/picture", None, None),
        ("picture.png", None, None),
        ("data.json", None, None),
        ("", None, None),
        ("", Some("text/html; charset=utf-8"), Some(Format::Html)),
        ("about", Some("TEXT/HTML"), Some(Format::Html)),
        ("guide.md", Some("text/html"), Some(Format::Html)),
        ("guide.md", Some("text/plain; charset=utf-8"), Some(Format::Markdown)),
        ("guide.md", Some("application/octet-stream"), Some(Format::Markdown)),
        ("robots", Some("text/plain"), Some(Format::Text)),
        ("download", Some("application/pdf"), Some(Format::Pdf)),
        ("picture.png", Some("image/png"), None),
        ("picture", Some("image/png"), None),
    ] {
        assert_eq!(Format::of(path, content_type).ok(), format, "{path:?} {content_type:?}");
    }
}

#[test]
fn a_content_type_may_name_an_encoding() {
    for (content_type, charset) in [
        ("text/html", None),
        ("text/html; charset=utf-8", Some("utf-8")),
        ("text/html;Charset=\"ISO-8859-1\"; x=y", Some("ISO-8859-1")),
        ("text/html; x=charset", None),
    ] {
        assert_eq!(charset_of(content_type), charset, "{content_type:?}");
    }
}
