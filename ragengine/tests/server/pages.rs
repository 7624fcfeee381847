//! Requests that a browser sends for web pages: which are refused, and which replies a page may read.

use serde_json::json;

use crate::support::process::Process;
use crate::support::{Reply, Server, settings};

async fn server(yaml: &str) -> (Server, tempfile::TempDir) {
    let data = tempfile::tempdir().unwrap();
    (Server::start_unloaded(settings(&data, yaml)).await, data)
}

fn document() -> String {
    json!({"index_name": "docs", "documents": [{"text": "x"}]}).to_string()
}

async fn sent(server: &Server, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let http = reqwest::Client::new();
    let mut request = http.request(method.parse().unwrap(), format!("{}{path}", server.url)).body(body.to_owned());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    Server::reply(request).await
}

#[tokio::test]
async fn an_html_form_is_refused() {
    let (server, _data) = server("{}").await;
    for media_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        for path in ["/index", "/retrieve", "/v1/chat/completions"] {
            let refused = sent(&server, "POST", path, &[("content-type", media_type)], &document()).await;
            assert!(refused.error(415).contains("application/json"), "{}", refused.text);
            assert_eq!(refused.json()["error"].is_object(), path.starts_with("/v1/"));
        }
    }
    let unsaid = sent(&server, "PUT", "/indexes/docs", &[], "{}").await;
    assert!(unsaid.error(415).contains("Content-Type: application/json"));
    let json = [("content-type", "application/json; charset=utf-8")];
    let restore = sent(&server, "POST", "/restore", &json, "tar").await;
    assert!(restore.error(415).contains("application/x-tar"));
    // Requests with the right media type pass this check and then fail because nothing is loaded.
    assert_eq!(sent(&server, "POST", "/index", &json, &document()).await.status, 503);
    assert_eq!(sent(&server, "POST", "/persist/docs", &[], "").await.status, 503);
    // The refusal does not wait for the body.
    let never = futures_util::stream::pending::<Result<String, std::io::Error>>();
    let request = reqwest::Client::new().post(format!("{}/index", server.url));
    assert_eq!(Server::reply(request.body(reqwest::Body::wrap_stream(never))).await.status, 415);
}

#[tokio::test]
async fn a_page_of_another_site_is_refused() {
    let (server, _data) = server("{}").await;
    let json = ("content-type", "application/json");
    for origin in ["https://evil.example", "null", "http://localhost:3000"] {
        for (method, path, body) in [("POST", "/index", document()), ("GET", "/indexes", String::new())] {
            let refused = sent(&server, method, path, &[("origin", origin), json], &body).await;
            assert!(refused.error(403).contains("cors.allowedOrigins"), "{}", refused.text);
            assert!(!refused.headers.contains_key("access-control-allow-origin"));
        }
    }
    let own = server.url.clone();
    assert_eq!(sent(&server, "POST", "/index", &[("origin", &own), json], &document()).await.status, 503);
    assert_eq!(server.get("/livez").await.status, 200);
}

#[tokio::test]
async fn a_rebound_host_name_is_refused() {
    let (server, _data) = server("allowedHosts: [docs.example]").await;
    for path in ["/backup", "/indexes", "/v1/models", "/metrics", "/openapi.json", "/nowhere"] {
        let refused = sent(&server, "GET", path, &[("host", "rebound.example")], "").await;
        assert!(refused.error(421).contains("allowedHosts"), "{}", refused.text);
    }
    for host in ["localhost", "docs.example:81", "127.0.0.1"] {
        assert_eq!(sent(&server, "GET", "/livez", &[("host", host)], "").await.status, 200, "{host}");
    }
    let line = "ragengine_http_requests_total{method=\"GET\",route=\"/backup\",status=\"421\"} 1";
    assert!(server.get("/metrics").await.text.contains(line));
}

/// Follows a browser: a preflight request, the request itself, and the headers that let the page read the reply.
#[tokio::test]
async fn an_allowed_page_works_in_a_browser() {
    let (server, _data) = server("{cors: {allowedOrigins: ['https://chat.example']}}").await;
    let page = ("origin", "https://chat.example");
    let wanted = "authorization,content-type,x-stainless-lang";
    let asks = [page, ("access-control-request-method", "POST"), ("access-control-request-headers", wanted)];
    let asked = sent(&server, "OPTIONS", "/v1/chat/completions", &asks, "").await;
    assert_eq!((asked.status, asked.text.as_str()), (204, ""));
    assert_eq!(asked.headers["access-control-allow-origin"], "https://chat.example");
    assert_eq!(asked.headers["access-control-allow-headers"], wanted);
    assert!(asked.headers["access-control-allow-methods"].to_str().unwrap().split(", ").any(|method| method == "POST"));

    let json = ("content-type", "application/json");
    let own_error = sent(&server, "POST", "/v1/chat/completions", &[page, json], "{").await;
    own_error.error(400);
    for reply in [own_error, sent(&server, "GET", "/livez", &[page], "").await] {
        assert_eq!(reply.headers["access-control-allow-origin"], "https://chat.example");
        assert_eq!(reply.headers["access-control-expose-headers"], "retry-after, x-answer-id, x-cache, x-request-id");
        assert_eq!(reply.headers["vary"], "origin");
    }
    // Vary: origin keeps a cache from serving a reply without CORS headers to a page.
    let program = server.get("/livez").await;
    assert_eq!(program.headers["vary"], "origin");
    assert!(!program.headers.contains_key("access-control-allow-origin"));

    let other = [("origin", "https://evil.example"), asks[1], asks[2]];
    let refused = sent(&server, "OPTIONS", "/v1/chat/completions", &other, "").await;
    assert!(refused.error(403).contains("cors.allowedOrigins"));
    assert!(!refused.headers.contains_key("access-control-allow-origin"));
}

/// The warnings that a server logs when it listens on this address.
async fn warnings(listen: &'static str) -> Vec<String> {
    let run = move || {
        let data = tempfile::tempdir().unwrap();
        let server = Process::start_with(data.path(), &[("LISTEN", listen)]);
        let lines = server.log_lines();
        server.kill();
        let warnings = lines.into_iter().filter(|line| line["level"] == "WARN");
        warnings.map(|line| line["message"].as_str().unwrap().to_owned()).collect()
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_write_token_warns_on_a_public_address() {
    let warned = warnings("0.0.0.0:0").await;
    assert!(matches!(&warned[..], [only] if only.contains("auth.writeToken")), "{warned:?}");
    assert_eq!(warnings("127.0.0.1:0").await, [""; 0]);
}
