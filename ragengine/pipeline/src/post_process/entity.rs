//! Entities such as `&amp;` and `&#233;`. As in CommonMark, each ends with a semicolon.

use quick_xml::escape::resolve_html5_entity;

use crate::answer::scan::{Reading, Window};

/// The maximum length of an entity between `&` and `;`, in bytes. The longest name of HTML has 31.
const MAX_NAME_BYTES: usize = 32;

/// Reads and decodes an entity at the beginning of a text.
pub(super) fn read(window: Window<'_>) -> Reading<String> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'#';
    let length = window.text.bytes().skip(1).take(MAX_NAME_BYTES).take_while(is_name).count();
    let end = 1 + length;
    match window.text.as_bytes().get(end) {
        None if !window.is_whole => Reading::Open,
        Some(b';') => decoded(&window.text[1..end]).map_or(Reading::Text(1), |text| Reading::Item(end + 1, text)),
        _ => Reading::Text(1),
    }
}

/// A text with its entities decoded, each once.
pub(super) fn decode(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        whole.push_str(&rest[..at]);
        rest = &rest[at..];
        match read(Window { text: rest, is_whole: true, is_full: false }) {
            Reading::Item(bytes, text) => {
                whole.push_str(&text);
                rest = &rest[bytes..];
            }
            _ => {
                whole.push('&');
                rest = &rest[1..];
            }
        }
    }
    whole + rest
}

/// The text of an entity by its name or number.
fn decoded(name: &str) -> Option<String> {
    let Some(number) = name.strip_prefix('#') else { return resolve_html5_entity(name).map(str::to_owned) };
    let (digits, radix) = number.strip_prefix(['x', 'X']).map_or((number, 10), |digits| (digits, 16));
    let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    // Numbers of no character become the replacement character.
    let code = u32::from_str_radix(digits, radix).ok().filter(|code| *code != 0).and_then(char::from_u32);
    is_number.then(|| code.unwrap_or(char::REPLACEMENT_CHARACTER).to_string())
}
