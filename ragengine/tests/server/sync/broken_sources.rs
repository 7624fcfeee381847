//! Sources that answer with incomplete data. Their documents are not deleted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{Bench, set};

/// The files of a web or S3 server, by path or key. All have the same time of modification, as in a release.
#[derive(Clone, Default)]
struct Files(Arc<Mutex<BTreeMap<String, String>>>);

const RELEASED: &str = "Fri, 01 May 2026 10:00:00 GMT";

impl Files {
    fn put(&self, files: &[(&str, &str)]) {
        let mut all = self.0.lock().unwrap();
        all.extend(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())));
    }

    fn remove(&self, path: &str) {
        assert!(self.0.lock().unwrap().remove(path).is_some());
    }

    /// The S3 listing of the bucket.
    fn listing(&self) -> String {
        let object = |(key, text): (&String, &String)| {
            let (size, tag) = (text.len(), tag(text));
            format!(
                "<Contents><Key>{key}</Key><Size>{size}</Size>\
                 <LastModified>2026-05-01T10:00:00Z</LastModified><ETag>{tag}</ETag></Contents>"
            )
        };
        let objects: String = self.0.lock().unwrap().iter().map(object).collect();
        format!("<ListBucketResult><IsTruncated>false</IsTruncated>{objects}</ListBucketResult>")
    }

    /// Serves the files as objects of the bucket `docs`, and as pages with a time of modification but no ETag. Replaces
    /// `HOST` in the texts by the returned URL.
    async fn serve(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (files, host) = (self.clone(), url.clone());
        let answer = move |request: Request| async move {
            let path = request.uri().path().trim_start_matches('/').to_owned();
            if request.uri().query().is_some_and(|query| query.contains("list-type=2")) {
                return files.listing().into_response();
            }
            let key = path.strip_prefix("docs/");
            let Some(text) = files.0.lock().unwrap().get(key.unwrap_or(&path)).cloned() else {
                return StatusCode::NOT_FOUND.into_response();
            };
            let mut response: Response = text.replace("HOST", &host).into_response();
            response.headers_mut().insert(header::LAST_MODIFIED, RELEASED.parse().unwrap());
            if key.is_some() {
                response.headers_mut().insert(header::ETAG, tag(&text).parse().unwrap());
            }
            response
        };
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
        url
    }
}

fn tag(text: &str) -> String {
    format!("\"{:032x}\"", text.bytes().fold(7_u128, |tag, byte| tag * 31 + u128::from(byte)))
}

fn urlset(pages: &[&str]) -> String {
    let pages: String = pages.iter().map(|page| format!("<url><loc>HOST/{page}</loc></url>")).collect();
    format!("<urlset>{pages}</urlset>")
}

fn task(bench: &Bench, origin: &Value) -> Value {
    let mut task = bench.task("o");
    task["allowedRanges"] = json!(["127.0.0.1"]);
    task["sources"] = json!([{"name": "files", "origin": origin}]);
    task
}

fn paths(record: &Value) -> Vec<&str> {
    record["errors"].as_array().unwrap().iter().map(|error| error["path"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_emptied_object_is_held_back_and_an_invalid_key_is_one_error() {
    let (bench, files) = (Bench::new().await, Files::default());
    files.put(&[("a.md", "one"), ("b.md", "two"), ("c.md", "three"), ("d.md", "four"), ("e.md", "five")]);
    let task = task(&bench, &json!({"s3": {"bucket": "docs", "endpoint": files.serve().await}}));
    assert_eq!(bench.sync(&task).await, "files: 5 sent, 0 deleted, 0 files with errors");
    let first = bench.record("o.files").await["revision"].clone();

    files.put(&[("a.md", ""), ("//", "odd"), ("docs//", "odd"), ("sub/", "")]);
    files.remove("e.md");
    let said = bench.sync(&task).await;
    assert!(said.starts_with("files: 0 sent, 1 deleted, 3 files with errors, 1 held back"), "{said}");
    assert_eq!(bench.documents().await, set(&["o.files/a.md", "o.files/b.md", "o.files/c.md", "o.files/d.md"]));
    let record = bench.record("o.files").await;
    assert_eq!(paths(&record), ["//", "docs//", "a.md"]);
    assert_eq!(record["revision"], first, "the revision does not change while documents are held back");

    files.put(&[("a.md", "one")]);
    assert_eq!(bench.sync(&task).await, "files: 0 sent, 0 deleted, 2 files with errors");
    let record = bench.record("o.files").await;
    assert_eq!(paths(&record), ["//", "docs//"]);
    assert!(
        record["revision"].is_string() && record["revision"] != first,
        "invalid keys are part of the revision: {record}"
    );
}

#[tokio::test]
async fn an_empty_sitemap_deletes_nothing() {
    let (bench, files) = (Bench::new().await, Files::default());
    let index =
        "<sitemapindex><sitemap><loc>HOST/1.xml</loc></sitemap><sitemap><loc>HOST/2.xml</loc></sitemap></sitemapindex>";
    let first = urlset(&["a.md", "b.md", "c.md"]);
    files.put(&[("sitemap.xml", index), ("1.xml", &first), ("2.xml", &urlset(&["d.md"]))]);
    files.put(&[("a.md", "one"), ("b.md", "two"), ("c.md", "three"), ("d.md", "four"), ("new.md", "five")]);
    let url = files.serve().await;
    let task = task(&bench, &json!({"http": {"sitemap": format!("{url}/sitemap.xml")}}));
    assert_eq!(bench.sync(&task).await, "files: 4 sent, 0 deleted, 0 files with errors");
    let (all, revision) = (bench.documents().await, bench.record("o.files").await["revision"].clone());

    files.put(&[("2.xml", "<urlset/>")]);
    assert_eq!(bench.sync(&task).await, "files: 0 sent, 0 deleted, 1 files with errors");
    let record = bench.record("o.files").await;
    let message = record["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains(&format!("{url}/2.xml lists no page")), "{record}");
    assert_eq!(record["revision"], revision);
    files.put(&[("2.xml", "")]);
    assert!(!bench.run(&task).await.status.success());
    let record = bench.record("o.files").await;
    assert!(record["message"].as_str().unwrap().contains("/2.xml cannot be read: it is empty"), "{record}");
    assert_eq!(bench.documents().await, all);

    // All pages have the same time of modification, so the new page does not count as a moved one.
    files.put(&[("1.xml", &urlset(&["new.md"])), ("2.xml", &urlset(&["d.md"]))]);
    let said = bench.sync(&task).await;
    assert!(said.starts_with("files: 1 sent, 0 deleted, 0 files with errors, 3 held back"), "{said}");
}
