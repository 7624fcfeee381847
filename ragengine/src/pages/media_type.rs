use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, HeaderValue, Request, header};

use super::Stranger;

const JSON: &str = "application/json";
const TAR: &str = "application/x-tar";

/// The only path whose body is not JSON.
const RESTORE: &str = "/restore";

/// Checks the Content-Type of a request with a body. A page of another site can send text and forms without a preflight
/// request, but not these types.
///
/// # Errors
///
/// [`Stranger::MediaType`] when it is not the type of the path.
pub fn check(request: &Request<Body>) -> Result<(), Stranger> {
    let wanted = if request.uri().path() == RESTORE { TAR } else { JSON };
    if request.body().is_end_stream() || has_type(request.headers(), wanted) {
        return Ok(());
    }
    Err(Stranger::MediaType { wanted })
}

fn has_type(headers: &HeaderMap, wanted: &str) -> bool {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter().peekable();
    types.peek().is_some() && types.all(|value| is(value, wanted))
}

/// Whether a header has this media type. Parameters are ignored.
fn is(value: &HeaderValue, wanted: &str) -> bool {
    let essence = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(path: &str, media_types: &[&str], body: &'static str) -> bool {
        let mut request = Request::post(path);
        for media_type in media_types {
            request = request.header(header::CONTENT_TYPE, *media_type);
        }
        check(&request.body(Body::from(body)).unwrap()).is_ok()
    }

    #[test]
    fn a_body_needs_the_type_json() {
        for said in
            ["application/json", "Application/JSON", "application/json; charset=utf-8", " application/json ;a=b"]
        {
            assert!(checked("/index", &[said], "{}"), "{said}");
        }
        for said in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=application/json",
            "application/merge-patch+json",
            "application/jsonp",
            "text/plain; application/json",
            "application/x-tar",
            "",
        ] {
            assert!(!checked("/index", &[said], "{}"), "{said}");
        }
        assert!(!checked("/index", &[], "{}"), "no type");
        assert!(!checked("/index", &["application/json", "text/plain"], "{}"), "two types");
    }

    #[test]
    fn a_backup_needs_the_type_tar() {
        assert!(checked("/restore", &["application/x-tar"], "tar"));
        assert!(!checked("/restore", &["application/json"], "tar"));
        assert!(!checked("/restore", &["text/plain"], "tar"));
    }

    #[test]
    fn a_request_without_a_body_needs_no_type() {
        for said in [&[][..], &["text/plain"]] {
            assert!(checked("/persist/docs", said, ""), "{said:?}");
        }
    }
}
