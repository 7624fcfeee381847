use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, HeaderValue, Request, header};

use super::Stranger;

const JSON: &str = "application/json";
const TAR: &str = "application/x-tar";

/// The one path that takes no JSON.
const RESTORE: &str = "/restore";

/// Whether a body is said to be what the path takes. A page of another site may send texts and forms without asking, and neither of these.
pub fn check(request: &Request<Body>) -> Result<(), Stranger> {
    let wanted = if request.uri().path() == RESTORE { TAR } else { JSON };
    match request.body().is_end_stream() || is_said(request.headers(), wanted) {
        true => Ok(()),
        false => Err(Stranger::MediaType { wanted }),
    }
}

fn is_said(headers: &HeaderMap, wanted: &str) -> bool {
    let mut said = headers.get_all(header::CONTENT_TYPE).iter().peekable();
    said.peek().is_some() && said.all(|value| is(value, wanted))
}

/// Whether it is this media type, whatever its parameters are.
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
    fn a_body_is_said_to_be_json() {
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
        assert!(!checked("/index", &[], "{}"), "nothing is said");
        assert!(!checked("/index", &["application/json", "text/plain"], "{}"), "two things are said");
    }

    #[test]
    fn a_backup_is_said_to_be_a_tar_file() {
        assert!(checked("/restore", &["application/x-tar"], "tar"));
        assert!(!checked("/restore", &["application/json"], "tar"));
        assert!(!checked("/restore", &["text/plain"], "tar"));
    }

    #[test]
    fn of_no_body_nothing_need_be_said() {
        for said in [&[][..], &["text/plain"]] {
            assert!(checked("/persist/docs", said, ""), "{said:?}");
        }
    }
}
