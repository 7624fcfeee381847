//! `git http-backend` is a CGI program: <https://git-scm.com/docs/git-http-backend> and RFC 3875.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, bail, ensure};
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName};
use axum::http::request::Parts;
use axum::response::Response;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::repository::environment;

/// The maximum size of a request, in bytes. A fetch sends only a list of commits.
const MAX_REQUEST: usize = 1 << 20;

/// Passes a request to git and returns git's response.
pub async fn run(work: &Path, request: Request) -> anyhow::Result<Response> {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, MAX_REQUEST).await?;
    let mut backend = Command::new("git");
    backend.arg("http-backend").env_clear().envs(environment(work)).envs(variables(&head));
    backend.env("GIT_PROJECT_ROOT", work).env("CONTENT_LENGTH", body.len().to_string());
    backend.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
    let mut running = backend.spawn().context("git http-backend")?;
    let mut input = running.stdin.take().context("git http-backend has no input")?;
    let write = async {
        // git may answer before it has read the whole request.
        drop(input.write_all(&body).await);
        drop(input);
    };
    let (output, ()) = tokio::join!(running.wait_with_output(), write);
    let output = output?;
    ensure!(output.status.success(), "git http-backend ended with {}", output.status);
    parse(output.stdout)
}

fn variables(head: &Parts) -> Vec<(&'static str, String)> {
    let header = |name: HeaderName| {
        let value = head.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        value.unwrap_or_default()
    };
    vec![
        ("REQUEST_METHOD", head.method.to_string()),
        ("PATH_INFO", head.uri.path().to_owned()),
        ("QUERY_STRING", head.uri.query().unwrap_or_default().to_owned()),
        ("CONTENT_TYPE", header(CONTENT_TYPE)),
        ("HTTP_CONTENT_ENCODING", header(CONTENT_ENCODING)),
        ("GIT_PROTOCOL", header(HeaderName::from_static("git-protocol"))),
        ("GIT_HTTP_EXPORT_ALL", "1".to_owned()),
    ]
}

/// Parses headers, an empty line and the body. The status is in a header. Default: 200.
fn parse(mut output: Vec<u8>) -> anyhow::Result<Response> {
    let end = output.windows(4).position(|window| window == b"\r\n\r\n").context("the reply has no headers")?;
    let body = output.split_off(end + 4);
    let mut response = Response::builder();
    for line in String::from_utf8(output)?.lines().filter(|line| !line.is_empty()) {
        match line.split_once(": ") {
            Some(("Status", status)) => response = response.status(&status.as_bytes()[..status.len().min(3)]),
            Some((name, value)) => response = response.header(name, value),
            None => bail!("invalid header: {line}"),
        }
    }
    Ok(response.body(Body::from(body))?)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_reply_has_a_status_headers_and_a_body() {
        let missing = parse(b"Status: 404 Not Found\r\nExpires: never\r\n\r\n".to_vec()).unwrap();
        assert_eq!((missing.status().as_u16(), &missing.headers()["expires"]), (404, &"never".parse().unwrap()));
        let found = parse(b"Content-Type: text/plain\r\n\r\na\r\n\r\nb".to_vec()).unwrap();
        assert_eq!(found.status(), 200);
        assert!(parse(b"nothing".to_vec()).is_err());
    }
}
