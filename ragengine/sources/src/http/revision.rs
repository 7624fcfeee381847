use reqwest::header::{ETAG, HeaderMap, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED};

/// The maximum length of a header that is used as a revision, in bytes. If it is longer, the content is hashed instead.
const MAX_MARK_BYTES: usize = 200;

const ETAG_PREFIX: &str = "etag:";
const MODIFIED_PREFIX: &str = "modified:";

/// The revision from the headers of a response: the ETag, or else the time of modification.
pub fn of(headers: &HeaderMap) -> Option<String> {
    let mark = |name| {
        let text = headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok())?;
        (!text.is_empty() && text.len() <= MAX_MARK_BYTES).then_some(text)
    };
    let modified = || mark(LAST_MODIFIED).filter(|text| httpdate::parse_http_date(text).is_ok());
    match mark(ETAG) {
        Some(tag) => Some(format!("{ETAG_PREFIX}{tag}")),
        None => modified().map(|time| format!("{MODIFIED_PREFIX}{time}")),
    }
}

/// The headers of a conditional request for a known revision.
pub fn condition(known: &str) -> HeaderMap {
    let header = match (known.strip_prefix(ETAG_PREFIX), known.strip_prefix(MODIFIED_PREFIX)) {
        (Some(tag), _) => Some((IF_NONE_MATCH, tag)),
        (_, Some(time)) => Some((IF_MODIFIED_SINCE, time)),
        _ => None,
    };
    header.and_then(|(name, value)| Some((name, HeaderValue::from_str(value).ok()?))).into_iter().collect()
}

/// The time of modification, as in RFC 3339.
pub fn modified(headers: &HeaderMap) -> Option<String> {
    let time = httpdate::parse_http_date(headers.get(LAST_MODIFIED)?.to_str().ok()?).ok()?;
    Some(jiff::Timestamp::try_from(time).ok()?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

    fn headers(etag: &str, last_modified: &str) -> HeaderMap {
        let named = [(ETAG, etag), (LAST_MODIFIED, last_modified)];
        named
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name, value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn a_revision_is_the_condition_of_the_next_request() {
        let long = "\"".repeat(201);
        let modified = format!("modified:{TIME}");
        let cases = [
            ("\"a\"", TIME, Some("etag:\"a\""), Some((IF_NONE_MATCH, "\"a\""))),
            ("W/\"a\"", "", Some("etag:W/\"a\""), Some((IF_NONE_MATCH, "W/\"a\""))),
            ("", TIME, Some(modified.as_str()), Some((IF_MODIFIED_SINCE, TIME))),
            (&long, TIME, Some(modified.as_str()), Some((IF_MODIFIED_SINCE, TIME))),
            (&long, "yesterday", None, None),
            ("", "", None, None),
        ];
        for (etag, last_modified, revision, expected) in cases {
            let found = of(&headers(etag, last_modified));
            assert_eq!(found.as_deref(), revision);
            let condition = condition(found.as_deref().unwrap_or("sha256:00"));
            assert_eq!(condition.iter().next().map(|(name, value)| (name.clone(), value.to_str().unwrap())), expected);
        }
        assert!(condition("etag:a\nb").is_empty());
    }

    #[test]
    fn the_time_of_modification_is_converted_to_rfc_3339() {
        assert_eq!(modified(&headers("", TIME)).as_deref(), Some("1994-11-06T08:49:37Z"));
        assert_eq!(modified(&headers("", "yesterday")), None);
    }
}
