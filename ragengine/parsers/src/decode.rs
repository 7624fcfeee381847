use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::ParseError;

/// Number of bytes of a web page that are searched for its declared encoding, as in browsers.
const MAX_DECLARATION_BYTES: usize = 1024;

/// Decodes bytes to text, by their byte order mark, otherwise by `charset`, otherwise as UTF-8.
///
/// # Errors
///
/// The bytes are invalid in that encoding, or are not text.
pub(crate) fn decode(bytes: Vec<u8>, charset: Option<&str>) -> Result<String, ParseError> {
    let encoding = match Encoding::for_bom(&bytes) {
        Some((encoding, _)) => encoding,
        None => charset.map(encoding_of).transpose()?.unwrap_or(UTF_8),
    };
    let text = if encoding == UTF_8 {
        let text = String::from_utf8(bytes).map_err(|_| not_of(encoding))?;
        text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)
    } else {
        let (text, _, has_errors) = encoding.decode(&bytes);
        if has_errors {
            return Err(not_of(encoding));
        }
        text.into_owned()
    };
    if text.contains('\0') {
        return Err(ParseError::NotText("it contains zero bytes".to_owned()));
    }
    Ok(text)
}

/// Finds the encoding that a web page declares in `<meta charset>` or `<meta http-equiv>`. A page whose declaration can be
/// read here is not UTF-16: if it says so, it is UTF-8, as in browsers.
pub(crate) fn declared_in_html(bytes: &[u8]) -> Option<String> {
    let start = &bytes[..bytes.len().min(MAX_DECLARATION_BYTES)];
    let start = String::from_utf8_lossy(start).to_ascii_lowercase();
    let metas = start.split("<meta").skip(1).filter_map(|rest| rest.split('>').next());
    metas.filter_map(|meta| meta.split_once("charset")?.1.trim_start().strip_prefix('=')).find_map(|value| {
        let value = value.trim_start().trim_start_matches(['"', '\'']);
        let name: String = value
            .chars()
            .take_while(|character| character.is_ascii_alphanumeric() || "-_:.".contains(*character))
            .collect();
        (!name.is_empty()).then(|| if is_utf_16(&name) { UTF_8.name().to_owned() } else { name })
    })
}

fn is_utf_16(charset: &str) -> bool {
    Encoding::for_label(charset.as_bytes()).is_some_and(|encoding| encoding == UTF_16LE || encoding == UTF_16BE)
}

fn encoding_of(charset: &str) -> Result<&'static Encoding, ParseError> {
    Encoding::for_label(charset.as_bytes())
        .ok_or_else(|| ParseError::NotText(format!("its encoding '{}' is not known", charset.escape_default())))
}

fn not_of(encoding: &'static Encoding) -> ParseError {
    ParseError::NotText(format!("its bytes are not {}", encoding.name()))
}

#[cfg(test)]
mod tests;
