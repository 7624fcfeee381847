use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ragengine::access::{Action, authenticate, may};
use ragengine::error::shaped;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::process::Process;
use crate::support::{Reply, Server, media_type, settings};

/// Routes that only read, or change only what belongs to the caller. `GET /backup` is not among the free routes, because
/// it reveals everything.
const READS: [&str; 11] = [
    "/v1/chat/completions",
    "/v1/embeddings",
    "/retrieve",
    "/context/assess",
    "/query",
    "/chat",
    "/search",
    "/chat/clear",
    "/feedback",
    "/feedback/{answer_id}",
    "/interactions",
];

/// A folder with a secret as the kubelet mounts it: a change points the link `..data` to another folder.
struct MountedSecret(TempDir);

impl MountedSecret {
    fn with(token: &str) -> Self {
        let secret = Self(tempfile::tempdir().unwrap());
        symlink("..data/token", secret.path()).unwrap();
        secret.change(token);
        secret
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("token")
    }

    fn change(&self, token: &str) {
        self.point_to("..of", |folder| fs::write(folder.join("token"), token).unwrap());
    }

    /// Removes the token, as when the key is removed from the Secret.
    fn empty(&self) {
        self.point_to("..empty", |_| {});
    }

    fn point_to(&self, prefix: &str, fill: impl Fn(&Path)) {
        let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(self.0.path()).unwrap().keep();
        fill(&folder);
        let next = self.0.path().join("..data_tmp");
        symlink(folder.file_name().unwrap(), &next).unwrap();
        fs::rename(next, self.0.path().join("..data")).unwrap();
    }
}

/// A server that has loaded nothing. A write with the right token gets a 503.
async fn server(secret: &MountedSecret, more: &str) -> (Server, TempDir) {
    let data = tempfile::tempdir().unwrap();
    let yaml = format!("auth: {{writeToken: {{file: {}}}{more}}}", secret.path().display());
    (Server::start_unloaded(settings(&data, &yaml)).await, data)
}

async fn write(server: &Server, authorization: Option<&str>) -> Reply {
    let body = json!({"index_name": "i", "documents": [{"text": "x"}]});
    let request = server.request("/index").body(body.to_string());
    let request = match authorization {
        Some(value) => request.header("authorization", value),
        None => request,
    };
    Server::reply(request).await
}

async fn is_accepted(server: &Server, token: &str) -> bool {
    write(server, Some(&format!("Bearer {token}"))).await.status != 401
}

async fn wait_until_accepted(server: &Server, token: &str) {
    for _ in 0..3000 {
        if is_accepted(server, token).await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the token was never accepted");
}

/// Method, path and description of every operation in the OpenAPI document, with names for the parameters in the path.
async fn operations(server: &Server) -> Vec<(Method, String, Value)> {
    let document = server.get("/openapi.json").await.ok();
    let of_path = |(path, item): (&String, &Value)| {
        let path = path.replace("{index_name}", "i").replace("{source}", "s").replace("{id}", "m");
        let operation =
            |(name, said): (&String, &Value)| (name.to_uppercase().parse().unwrap(), path.clone(), said.clone());
        item.as_object().unwrap().iter().map(operation).collect::<Vec<_>>()
    };
    document["paths"].as_object().unwrap().iter().flat_map(of_path).collect()
}

#[tokio::test]
async fn only_writes_and_copies_require_the_token() {
    let secret = MountedSecret::with("right\n");
    let (server, _data) = server(&secret, "").await;
    let http = reqwest::Client::new();
    let mut writes = 0;
    for (method, path, operation) in operations(&server).await {
        let request = || {
            let request = http.request(method.clone(), format!("{}{path}", server.url));
            request.header("content-type", media_type(&path)).body("{}")
        };
        let refused = Server::reply(request()).await;
        let reads = method == Method::GET && path != "/backup" || READS.contains(&path.as_str());
        if reads {
            assert_ne!(refused.status, 401, "{method} {path}");
            continue;
        }
        writes += 1;
        assert!(operation["responses"]["401"].is_object(), "{method} {path} does not document its 401");
        assert_eq!((refused.status, &refused.headers["www-authenticate"]), (401, &"Bearer".parse().unwrap()), "{path}");
        let wrong = Server::reply(request().bearer_auth("wrong")).await;
        assert_eq!(wrong.status, 401, "{method} {path}");
        let right = Server::reply(request().bearer_auth("right")).await;
        assert_ne!(right.status, 401, "{method} {path}");
    }
    assert_eq!(writes, 14);
}

#[tokio::test]
async fn without_the_setting_every_client_may_write() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_unloaded(settings(&data, "{}")).await;
    assert_eq!(write(&server, None).await.status, 503);
    assert_eq!(write(&server, Some("Bearer any")).await.status, 503);
}

#[tokio::test]
async fn a_refusal_says_where_the_token_is() {
    let secret = MountedSecret::with("right");
    let (plain, _data) = server(&secret, "").await;
    let source = ", writeTokenSource: 'the Secret docs-write (key token) in the namespace default; \
                  `auth.writes: open` in the RAGEngine lets everybody write'";
    let (with_source, _data) = server(&secret, source).await;
    let mut refusals = Vec::new();
    for (server, authorization) in
        [(&plain, None), (&plain, Some("Bearer wrong")), (&with_source, None), (&with_source, Some("Basic cmlnaHQ="))]
    {
        let refused = write(server, authorization).await;
        refusals.push(json!({"sent": authorization, "status": refused.status, "reply": refused.json()}));
    }
    let stranger = authenticate(&plain.app, &axum::http::HeaderMap::new()).await;
    let openai = shaped("/v1/files", may(&stranger, Action::Write, None).unwrap_err().into());
    assert_eq!(openai.headers()["www-authenticate"], "Bearer");
    let body = axum::body::to_bytes(openai.into_body(), 1000).await.unwrap();
    refusals.push(json!({"below": "/v1", "reply": serde_json::from_slice::<Value>(&body).unwrap()}));
    insta::assert_json_snapshot!("unauthorized", refusals);
}

#[tokio::test]
async fn a_refusal_does_not_wait_for_the_body() {
    let secret = MountedSecret::with("right");
    let (server, _data) = server(&secret, "").await;
    let never = futures_util::stream::pending::<Result<String, std::io::Error>>();
    let request = server.request("/index").body(reqwest::Body::wrap_stream(never));
    assert_eq!(Server::reply(request).await.status, 401);
}

#[tokio::test]
async fn a_changed_token_is_accepted_and_the_previous_one_expires() {
    let secret = MountedSecret::with("one");
    let (lenient, _data) = server(&secret, ", previousTokenSeconds: 3600").await;
    let (strict, _data) = server(&secret, ", previousTokenSeconds: 0").await;
    for server in [&lenient, &strict] {
        tokio::spawn(Arc::clone(server.app.write_token.as_ref().unwrap()).watch());
        assert!(is_accepted(server, "one").await && !is_accepted(server, "two").await);
    }
    secret.change("two");
    for (server, one_holds) in [(&lenient, true), (&strict, false)] {
        wait_until_accepted(server, "two").await;
        assert_eq!(is_accepted(server, "one").await, one_holds);
    }
    secret.change("three");
    wait_until_accepted(&lenient, "three").await;
    assert!(is_accepted(&lenient, "two").await && !is_accepted(&lenient, "one").await);
}

#[test]
fn the_log_reports_each_token_change_once_and_never_a_token() {
    let secret = MountedSecret::with("first-token");
    let data = tempfile::tempdir().unwrap();
    let settings = data.path().join("settings.yaml");
    fs::write(&settings, format!("auth: {{writeToken: {{file: {}}}}}", secret.path().display())).unwrap();
    let mut server = Process::start_configured(data.path(), &settings);
    let status = |url: &str, token: &str| {
        let request = reqwest::Client::new().delete(format!("{url}/indexes/none")).bearer_auth(token);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { request.send().await.unwrap().status().as_u16() })
    };
    let lines = |server: &Process, message: &str| {
        server.log_lines().into_iter().filter(|line| line["message"] == message).collect::<Vec<_>>()
    };
    assert_eq!(status(&server.url, "first-token"), 404);
    assert_eq!(status(&server.url, "other-token"), 401);
    let refused = server.wait_until("has logged the refusal", |server| lines(server, "request refused").pop());
    assert_eq!((&refused["level"], &refused["kind"]), (&"INFO".into(), &"unauthorized".into()));
    secret.empty();
    server.wait_until("finds no token", |server| {
        server.log_lines().into_iter().find(|line| line["message"].as_str().unwrap().contains("cannot be reread"))
    });
    assert_eq!(status(&server.url, "first-token"), 404);
    secret.change("second-token");
    server.wait_until("has seen the change", |server| lines(server, "write token changed").pop());
    assert_eq!((status(&server.url, "second-token"), status(&server.url, "first-token")), (404, 404));
    let log = server.log_lines();
    let count = |words: &str| log.iter().filter(|line| line["message"].as_str().unwrap().contains(words)).count();
    assert_eq!((count("write token changed"), count("cannot be reread")), (1, 1), "{log:?}");
    for line in &log {
        assert!(!line.to_string().contains("-token\"") && !line.to_string().contains("first-token"), "{line}");
    }
}
