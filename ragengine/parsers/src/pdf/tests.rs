use super::*;

#[test]
fn a_byte_order_mark_determines_the_encoding() {
    for (bytes, text) in [
        (b"Caf\xe9".as_slice(), "Café"),
        (b"\xfe\xff\0C\x20\x13", "C–"),
        (b"\xef\xbb\xbfCaf\xc3\xa9", "Café"),
        (b"", ""),
    ] {
        assert_eq!(text_string(bytes), text);
    }
}

#[test]
fn an_invalid_file_is_refused() {
    for bytes in [b"".as_slice(), b"%PDF-1.7\n", b"<html></html>"] {
        let error = parse(bytes.to_vec(), &Limits::default()).unwrap_err();
        assert_eq!(error.to_string(), "it is not a valid PDF file", "{bytes:?}");
    }
}
