use std::borrow::Cow;

/// A text as PostgreSQL can store it: without NUL, which becomes U+FFFD.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{FFFD}").into() } else { text.into() }
}

/// The same for several texts.
pub(crate) fn texts(texts: &[String]) -> Vec<Cow<'_, str>> {
    texts.iter().map(|one| text(one)).collect()
}
