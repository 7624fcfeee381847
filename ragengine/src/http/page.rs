//! The pages for a browser: the chat at `/`, and the reference of the API at `/docs`. Their files are in the program.

use axum::extract::{Path, Request};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::error::{ApiError, PlainError};
use crate::telemetry::Logged;

/// The files of the pages.
#[derive(RustEmbed)]
#[folder = "page"]
#[exclude = "*.md"]
struct Files;

/// What the chat page may load and do. Its scripts, and only they, turn text into HTML, with a sanitizer.
const CHAT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types dompurify page";

/// What the reference may load and do. Its viewer sets styles in attributes.
const REFERENCE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The chat page.
pub async fn chat(request: Request) -> Response {
    page("index.html", CHAT_POLICY, &request)
}

/// The reference of the API.
pub async fn reference(request: Request) -> Response {
    page("docs.html", REFERENCE_POLICY, &request)
}

/// A file of the pages.
pub async fn file(Path(path): Path<String>, request: Request) -> Response {
    // A page by its file name would have no policy for what it loads.
    match Files::get(&path).filter(|_| !path.ends_with(".html")) {
        Some(file) => respond(file, "default-src 'none'; frame-ancestors 'none'", &request),
        None => PlainError(ApiError::NotFound(format!("the page has no file '{path}'"))).into_response(),
    }
}

fn page(name: &str, policy: &'static str, request: &Request) -> Response {
    match Files::get(name) {
        Some(file) => respond(file, policy, request),
        None => PlainError(ApiError::Internal(format!("the file {name} is missing in the program"))).into_response(),
    }
}

/// The response with a file, or without it if the browser has it already.
fn respond(file: EmbeddedFile, policy: &'static str, request: &Request) -> Response {
    let tag = format!("\"{}\"", hex(&file.metadata.sha256_hash()));
    let known = request.headers().get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    let is_known = known.is_some_and(|known| known.contains(&tag));
    let headers = [
        (header::CONTENT_TYPE, content_type(&file)),
        (header::ETAG, HeaderValue::from_str(&tag).unwrap_or(HeaderValue::from_static("\"\""))),
        // Asked for again each time, because another version of the server has other files under the same names.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
        (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    ];
    let mut response = if is_known {
        (StatusCode::NOT_MODIFIED, headers).into_response()
    } else {
        (headers, file.data).into_response()
    };
    // A page has dozens of files, which are not worth a line each.
    response.extensions_mut().insert(Logged);
    response
}

fn content_type(file: &EmbeddedFile) -> HeaderValue {
    let media_type = file.metadata.mimetype();
    let is_text = media_type.starts_with("text/") || media_type.ends_with("javascript");
    let media_type = if is_text { format!("{media_type}; charset=utf-8") } else { media_type.to_owned() };
    HeaderValue::from_str(&media_type).unwrap_or(HeaderValue::from_static("application/octet-stream"))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().take(16).fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(path: &str) -> usize {
        Files::get(path).unwrap_or_else(|| panic!("{path} is missing")).data.len()
    }

    /// The parts of the page that are needed before something is seen.
    fn needed_first() -> Vec<String> {
        let index = Files::get("index.html").unwrap();
        let html = std::str::from_utf8(&index.data).unwrap().to_owned();
        let mut needed: Vec<String> =
            html.split(['"', '\'']).filter_map(|part| part.strip_prefix("/page/")).map(str::to_owned).collect();
        let mut next = 0;
        while let Some(path) = needed.get(next).cloned() {
            next += 1;
            let file = Files::get(&path).unwrap();
            if !path.ends_with(".js") {
                continue;
            }
            let script = std::str::from_utf8(&file.data).unwrap();
            let imports = script.lines().filter(|line| line.starts_with("import ") || line.starts_with("export "));
            for import in imports.filter_map(|line| line.split("from \"./").nth(1)?.split('"').next()) {
                if !needed.iter().any(|known| known == import) {
                    needed.push(import.to_owned());
                }
            }
        }
        needed.sort();
        needed.dedup();
        needed
    }

    #[test]
    fn the_first_paint_needs_less_than_100_kilobytes() {
        let needed = needed_first();
        assert!(needed.len() > 3, "{needed:?}");
        let bytes = size("index.html") + needed.iter().map(|path| size(path)).sum::<usize>();
        assert!(bytes < 100_000, "{bytes} bytes: {needed:?}");
    }

    #[test]
    fn no_file_names_another_host() {
        for path in Files::iter().filter(|path| !path.starts_with("vendor/") && !path.ends_with(".svg")) {
            let file = Files::get(&path).unwrap();
            let text = std::str::from_utf8(&file.data).unwrap();
            for place in ["src=\"http", "href=\"http", "fetch(\"http", "import(\"http", "url(http", "from \"http"] {
                assert!(!text.contains(place), "{path}: {place}");
            }
        }
    }

    #[test]
    fn files_have_their_types() {
        for (path, expected) in [
            ("index.html", "text/html; charset=utf-8"),
            ("app.js", "text/javascript; charset=utf-8"),
            ("style.css", "text/css; charset=utf-8"),
            ("favicon.svg", "image/svg+xml"),
        ] {
            assert_eq!(content_type(&Files::get(path).unwrap()), expected, "{path}");
        }
        assert!(Files::get("vendor/README.md").is_none());
    }
}
