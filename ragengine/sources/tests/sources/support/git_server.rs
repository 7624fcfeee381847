//! A git server over HTTP, and repositories, both with the `git` command.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// A repository with a working tree for commits.
pub struct Repository {
    pub folder: PathBuf,
}

impl Repository {
    /// Creates an empty repository.
    pub fn new(folder: &Path) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        let repository = Self { folder: folder.to_owned() };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    /// Runs git in the repository, and returns its output.
    pub fn git(&self, arguments: &[&str]) -> String {
        let mut command = std::process::Command::new("git");
        let identity = [("NAME", "somebody"), ("EMAIL", "somebody@example.com"), ("DATE", "2024-01-01T00:00:00Z")];
        for (name, value) in identity {
            command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
        }
        let output =
            command.args(arguments).env("GIT_CONFIG_GLOBAL", "/dev/null").current_dir(&self.folder).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Commits all files, and returns the id of the commit.
    pub fn commit(&self) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "a change"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Allows partial clones.
    pub fn allow_filter(&self) {
        self.git(&["config", "uploadpack.allowFilter", "true"]);
    }
}

/// The behaviour of the server, and its log.
#[derive(Clone, Default)]
pub struct Rules {
    /// The required value of the `Authorization` header.
    pub authorization: Option<&'static str>,
    /// The paths of all requests.
    pub requests: std::sync::Arc<std::sync::Mutex<Vec<String>>>,
}

/// Serves the repositories in a folder until the test ends.
pub async fn serve(folder: &Path, rules: Rules) -> SocketAddr {
    let folder = folder.to_owned();
    let answer = move |request: Request| {
        let (folder, rules) = (folder.clone(), rules.clone());
        async move {
            rules.requests.lock().unwrap().push(request.uri().path().to_owned());
            let sent = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
            if rules.authorization.is_some_and(|wanted| sent != Some(wanted)) {
                return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Basic realm=\"git\"")]).into_response();
            }
            run(&folder, request).await
        }
    };
    super::serve(Router::new().fallback(answer)).await
}

/// Passes a request to git by CGI (RFC 3875).
async fn run(folder: &Path, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let text =
        |name: HeaderName| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let body = axum::body::to_bytes(body, 10_000_000).await.unwrap();
    let mut command = Command::new("git");
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", folder)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("REQUEST_METHOD", head.method.as_str())
        .env("PATH_INFO", head.uri.path())
        .env("QUERY_STRING", head.uri.query().unwrap_or_default())
        .env("CONTENT_TYPE", text(header::CONTENT_TYPE))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", text(header::CONTENT_ENCODING))
        .env("GIT_PROTOCOL", text(HeaderName::from_static("git-protocol")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    tokio::spawn(async move { input.write_all(&body).await });
    response_of(&child.wait_with_output().await.unwrap().stdout)
}

fn response_of(output: &[u8]) -> Response {
    let end = output.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
    let mut response = Response::new(Body::from(Bytes::copy_from_slice(&output[end + 4..])));
    for line in std::str::from_utf8(&output[..end]).unwrap().lines() {
        let (name, value) = line.split_once(": ").unwrap();
        if name == "Status" {
            *response.status_mut() = value[..3].parse().unwrap();
        } else {
            response.headers_mut().append(HeaderName::try_from(name).unwrap(), HeaderValue::from_str(value).unwrap());
        }
    }
    response
}
