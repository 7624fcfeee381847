//! Checks of tool calls, which must hold the policy as answers must.

use std::fmt;

use crate::checked::Outcome;
use crate::policy::Policy;
use crate::stream::GuardStream;

/// How often text in JSON may be JSON itself. Calls with more are not permitted.
const MAX_LEVELS: usize = 8;

/// A call of a tool, as a language model wrote it.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The id. Empty if there is none.
    pub id: &'a str,
    /// The name of the tool.
    pub name: &'a str,
    /// The arguments. They should be JSON.
    pub arguments: &'a str,
}

impl fmt::Debug for Call<'_> {
    /// The text is not shown.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Call").finish_non_exhaustive()
    }
}

impl Policy {
    /// The scanners that find something in a call. None if it may be sent.
    ///
    /// The arguments must hold the whole policy. All texts, also those that escapes in the arguments stand for, must
    /// have nothing that a scanner looks for.
    pub(crate) fn objections(&self, call: &Call<'_>) -> Option<Vec<&'static str>> {
        let Call { id, name, arguments } = *call;
        found(self.stream(), arguments)
            .or_else(|| found(self.content_stream(), &format!("{id}\n{name}")))
            .or_else(|| self.escaped_objections(arguments))
    }

    /// The scanners that find something behind the escapes of a text.
    fn escaped_objections(&self, text: &str) -> Option<Vec<&'static str>> {
        let mut level = unescaped(text)?;
        for _ in 0..MAX_LEVELS {
            if let Some(found) = found(self.content_stream(), &level) {
                return Some(found);
            }
            level = unescaped(&level)?;
        }
        Some(Vec::new())
    }
}

/// The scanners that find something. None if nothing is found.
fn found(mut stream: GuardStream, text: &str) -> Option<Vec<&'static str>> {
    stream.push(text);
    stream.finish();
    (stream.outcome() != Outcome::Passed).then(|| stream.triggered().to_vec())
}

/// The text with the characters that its JSON escapes stand for. None if it has no escapes.
fn unescaped(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let (mut rest, mut has_escapes) = (text, false);
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some((char, bytes)) = escape(rest) {
            plain.push(char);
            rest = &rest[bytes..];
            has_escapes = true;
        } else {
            plain.push('\\');
        }
    }
    plain.push_str(rest);
    has_escapes.then_some(plain)
}

/// The character of the escape whose backslash is before this text, and its length in bytes.
fn escape(text: &str) -> Option<(char, usize)> {
    let char = match text.as_bytes().first()? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        byte @ (b'"' | b'\\' | b'/') => char::from(*byte),
        b'u' => {
            let first = unit(&text[1..])?;
            let second = || text.get(5..)?.strip_prefix("\\u").and_then(unit);
            let is_pair = (0xd800..0xdc00).contains(&first);
            return match second().filter(|_| is_pair).map(|second| char::decode_utf16([first, second]).next()) {
                Some(Some(Ok(char))) => Some((char, 11)),
                _ => Some((char::from_u32(first.into()).unwrap_or(char::REPLACEMENT_CHARACTER), 5)),
            };
        }
        _ => return None,
    };
    Some((char, 1))
}

/// The number that four hexadecimal digits stand for.
fn unit(text: &str) -> Option<u16> {
    let digits = text.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_wherever_they_are() {
        for (text, expected) in [
            (r"no escape", None),
            (r"C:\dir", None),
            (r#"{"a":"b\nc"#, Some("{\"a\":\"b\nc")),
            (r"\u0041K\u0049\/\\n", Some("AKI/\\n")),
            (r"\ud83e\udd80 \ud83e \udd80x \u00", Some("🦀 \u{fffd} \u{fffd}x \\u00")),
            (r"\ud83e\u0041", Some("\u{fffd}A")),
            ("\\", None),
            (r"\uä123\t", Some("\\uä123\t")),
        ] {
            assert_eq!(unescaped(text).as_deref(), expected, "{text}");
        }
    }
}
