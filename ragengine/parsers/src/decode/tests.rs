use super::*;

#[test]
fn bytes_are_decoded_or_refused_with_a_reason() {
    for (bytes, charset, text) in [
        (b"".as_slice(), None, Ok("")),
        ("Größe".as_bytes(), None, Ok("Größe")),
        (b"\xef\xbb\xbfa", None, Ok("a")),
        (b"\xff\xfea\0", None, Ok("a")),
        (b"\xfe\xff\0a", None, Ok("a")),
        (b"\xef\xbb\xbfa", Some("iso-8859-1"), Ok("a")),
        (b"Gr\xf6\xdfe", Some("iso-8859-1"), Ok("Größe")),
        (b"\x83\x65", Some("Shift_JIS"), Ok("テ")),
        (b"Gr\xf6\xdfe", None, Err("it is not text: its bytes are not UTF-8")),
        (b"\xff\xfea", None, Err("it is not text: its bytes are not UTF-16LE")),
        (b"\x83", Some("shift_jis"), Err("it is not text: its bytes are not Shift_JIS")),
        (b"a", Some("klingon\n"), Err("it is not text: its encoding 'klingon\\n' is not known")),
        (b"a\0b", None, Err("it is not text: it contains zero bytes")),
    ] {
        let decoded = decode(bytes.to_vec(), charset).map_err(|error| error.to_string());
        assert_eq!(decoded.as_deref().map_err(String::as_str), text, "{bytes:?} {charset:?}");
    }
}

#[test]
fn a_page_may_name_its_encoding() {
    for (page, charset) in [
        ("<meta charset=utf-8>", Some("utf-8")),
        ("<META CHARSET='Windows-1252'/>", Some("windows-1252")),
        ("<meta http-equiv=Content-Type content=\"text/html; charset = iso-8859-1\">", Some("iso-8859-1")),
        ("<meta name=description content=x><meta charset=\"koi8-r\">", Some("koi8-r")),
        ("<meta charset=utf-16>", Some("UTF-8")),
        ("<meta charset='UTF-16BE'>", Some("UTF-8")),
        ("<meta http-equiv=Content-Type content='text/html; charset=unicode'>", Some("UTF-8")),
        ("<p>charset=utf-8</p>", None),
        ("<meta charset>", None),
        ("<meta charset=''>", None),
        (&format!("{}<meta charset=utf-8>", " ".repeat(1024)), None),
    ] {
        assert_eq!(declared_in_html(page.as_bytes()).as_deref(), charset, "{page:?}");
    }
}
