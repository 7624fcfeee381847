//! Sitemaps as servers have them.

use std::io::Write;
use std::net::SocketAddr;

use axum::Router;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use flate2::Compression;
use flate2::write::GzEncoder;
use ragengine_settings::sync::{Http, Origin};
use ragengine_sources::{Opened, SourceError};
use tokio::net::TcpListener;

use crate::support::{Bench, expected, paths, texts};

/// A server whose answers have its own address in them, where they say `HOST`.
async fn server(answers: Vec<(&'static str, String)>) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut router = Router::new().fallback(|| async { StatusCode::NOT_FOUND });
    for (path, text) in answers {
        let text = text.replace("HOST", &format!("http://{address}"));
        let packed = path.ends_with(".gz");
        let answer = move || async move { if packed { gzip(&text).into_response() } else { text.into_response() } };
        router = router.route(path, get(answer));
    }
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn pages(urls: &[&str]) -> String {
    let urls: String = urls.iter().map(|url| format!("<url><loc>{url}</loc></url>")).collect();
    format!("<?xml version=\"1.0\"?><urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{urls}</urlset>")
}

fn index(urls: &[&str]) -> String {
    let urls: String = urls.iter().map(|url| format!("<sitemap><loc>{url}</loc></sitemap>")).collect();
    format!("<sitemapindex>{urls}</sitemapindex>")
}

async fn open(bench: &Bench, address: SocketAddr, path: &str) -> Result<Opened, SourceError> {
    let sitemap = Some(format!("http://{address}{path}"));
    bench
        .open(Origin::Http(Http { urls: vec![format!("http://{address}/extra.md")], sitemap, credentials: None }))
        .await
}

#[tokio::test]
async fn a_sitemap_lists_pages() {
    let bench = Bench::new();
    let address = server(vec![
        ("/sitemap.xml", index(&["HOST/1.xml", "HOST/2.xml.gz", "HOST/sitemap.xml", "HOST/3.txt"])),
        ("/1.xml", pages(&["HOST/a.md", "HOST/x/?q=1&amp;r=2", "HOST/a.md"])),
        ("/2.xml.gz", pages(&["HOST/b.md"])),
        ("/3.txt", "HOST/c.md\n\nnonsense\n".to_owned()),
        ("/a.md", "a".to_owned()),
        ("/b.md", "b".to_owned()),
        ("/c.md", "c".to_owned()),
        ("/x/", "x".to_owned()),
        ("/extra.md", "extra".to_owned()),
    ])
    .await;
    let opened = open(&bench, address, "/sitemap.xml").await.unwrap();
    let path = |name: &str| format!("{address}/{name}");
    let wanted = [("a.md", "a"), ("b.md", "b"), ("c.md", "c"), ("x/index.html?q=1&r=2", "x"), ("extra.md", "extra")];
    let wanted = wanted.map(|(name, text)| (path(name), text));
    let wanted: Vec<_> = wanted.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    assert_eq!(texts(&opened).await, expected(&wanted));
    let errors: Vec<_> = opened.errors().iter().map(|error| error.path.as_str()).collect();
    assert_eq!(errors, ["nonsense"]);
    assert_eq!(bench.left_files(), 0);
}

#[tokio::test]
async fn a_sitemap_of_which_a_part_is_missing_is_none() {
    let bench = Bench::new();
    let deep = |next: &str| index(&[&format!("HOST{next}")]);
    let many: Vec<_> = (0..1001).map(|number| format!("HOST/{number}.xml")).collect();
    let pages_of_many: Vec<_> = (0..101).map(|number| format!("HOST/{number}.md")).collect();
    let address = server(vec![
        ("/missing-part.xml", index(&["HOST/none.xml"])),
        ("/page.html", "<!doctype html><html></html>".to_owned()),
        ("/elsewhere.xml", index(&["http://169.254.169.254/sitemap.xml"])),
        ("/no-url.xml", index(&["file:///etc/passwd"])),
        ("/deep0.xml", deep("/deep1.xml")),
        ("/deep1.xml", deep("/deep2.xml")),
        ("/deep2.xml", deep("/deep3.xml")),
        ("/deep3.xml", deep("/deep4.xml")),
        ("/many.xml", index(&many.iter().map(String::as_str).collect::<Vec<_>>())),
        ("/pages.xml", pages(&pages_of_many.iter().map(String::as_str).collect::<Vec<_>>())),
        ("/bomb.xml.gz", format!("<urlset>{}</urlset>", " ".repeat(30_000_000))),
        ("/bomb.txt.gz", " ".repeat(30_000_000)),
    ])
    .await;
    let cases = [
        ("/none.xml", "status"),
        ("/missing-part.xml", "status"),
        ("/page.html", "sitemap"),
        ("/elsewhere.xml", "refused_address"),
        ("/no-url.xml", "address"),
        ("/deep0.xml", "sitemap"),
        ("/many.xml", "sitemap"),
        ("/pages.xml", "too_many_files"),
        ("/bomb.xml.gz", "sitemap"),
        ("/bomb.txt.gz", "sitemap"),
    ];
    for (path, kind) in cases {
        let error = open(&bench, address, path).await.map(|opened| paths(&opened).len()).unwrap_err();
        assert_eq!(error.kind(), kind, "{path}: {error}");
    }
    assert_eq!(bench.left_files(), 0);
}
