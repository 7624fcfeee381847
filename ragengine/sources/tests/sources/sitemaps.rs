//! Sitemaps on real servers.

use std::io::Write;
use std::net::SocketAddr;

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;
use flate2::Compression;
use flate2::write::GzEncoder;
use ragengine_settings::sync::{Http, Origin};
use ragengine_sources::{Extent, Opened, SourceError};
use tokio::net::TcpListener;

use crate::support::{Bench, expected, paths, texts};

/// Starts a server with a fixed response for each path. `HOST` in a response is replaced by the URL of the server; a
/// response that begins with an arrow is a redirect.
async fn server(answers: Vec<(&'static str, String)>) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut router = Router::new().fallback(|| async { StatusCode::NOT_FOUND });
    for (path, text) in answers {
        let text = text.replace("HOST", &format!("http://{address}"));
        let packed = path.ends_with(".gz");
        let answer = move || async move {
            match text.strip_prefix("-> ") {
                Some(to) => Redirect::temporary(to).into_response(),
                None if packed => gzip(&text).into_response(),
                None => text.into_response(),
            }
        };
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
    open_allowing(bench, address, path, &[]).await
}

async fn open_allowing(
    bench: &Bench,
    address: SocketAddr,
    path: &str,
    origins: &[&str],
) -> Result<Opened, SourceError> {
    let urls = vec![format!("http://{address}/extra.md")];
    let sitemap = Some(format!("http://{address}{path}"));
    let allowed_origins = origins.iter().map(|origin| (*origin).to_owned()).collect();
    bench.open(Origin::Http(Http { urls, sitemap, allowed_origins, ..Http::default() })).await
}

/// The path and the message of each error of a listing.
fn errors(opened: &Opened) -> Vec<(&str, &str)> {
    opened.errors().iter().map(|error| (error.path.as_str(), error.message.as_str())).collect()
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
    // The page of an entry that is not an address may be any, so none may count as removed.
    let [error] = opened.errors() else { panic!("{:?}", opened.errors()) };
    assert_eq!(error.extent, Extent::Everything);
    assert!(error.message.contains(&format!("http://{address}/3.txt has 1 entries")), "{error:?}");
    assert_eq!(bench.left_files(), 0);
}

#[tokio::test]
async fn an_incomplete_or_invalid_sitemap_is_an_error() {
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
        ("/empty.xml", String::new()),
        ("/empty.xml.gz", "\u{feff}\n".to_owned()),
        ("/empty-part.xml", index(&["HOST/empty.xml"])),
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
        ("/empty.xml", "sitemap"),
        ("/empty.xml.gz", "sitemap"),
        ("/empty-part.xml", "sitemap"),
    ];
    for (path, kind) in cases {
        let allowed = ["http://169.254.169.254"];
        let error =
            open_allowing(&bench, address, path, &allowed).await.map(|opened| paths(&opened).len()).unwrap_err();
        assert_eq!(error.kind(), kind, "{path}: {error}");
    }
    assert_eq!(bench.left_files(), 0);
}

#[tokio::test]
async fn a_sitemap_that_lists_nothing_may_be_incomplete() {
    let bench = Bench::new();
    let address = server(vec![
        ("/sitemap.xml", index(&["HOST/1.xml", "HOST/2.xml", "HOST/3.txt"])),
        ("/1.xml", pages(&["HOST/a.md"])),
        ("/2.xml", pages(&[])),
        ("/3.txt", "Down for maintenance".to_owned()),
        ("/no-part.xml", index(&[])),
        ("/no-address.xml", "<urlset><url><lastmod>2026-05-01</lastmod></url></urlset>".to_owned()),
        ("/empty-address.xml", pages(&[""])),
    ])
    .await;
    let opened = open(&bench, address, "/sitemap.xml").await.unwrap();
    assert_eq!(paths(&opened), [format!("{address}/a.md"), format!("{address}/extra.md")]);
    let named: Vec<_> = opened.errors().iter().filter(|error| error.extent == Extent::Everything).collect();
    let [third, second] = named[..] else { panic!("{named:?}") };
    for (error, sitemap) in [(second, "2.xml"), (third, "3.txt")] {
        let words = format!("the sitemap http://{address}/{sitemap} lists no page");
        assert!(error.path == "/" && error.message.contains(&words), "{error:?}");
    }
    for path in ["/2.xml", "/no-part.xml", "/no-address.xml", "/empty-address.xml"] {
        let opened = open(&bench, address, path).await.unwrap();
        assert_eq!(paths(&opened), [format!("{address}/extra.md")], "{path}");
        let is_whole = opened.errors().iter().all(|error| error.extent != Extent::Everything);
        assert!(!is_whole, "{path}: {:?}", errors(&opened));
    }
}

#[tokio::test]
async fn a_page_of_another_origin_is_an_error_unless_it_is_allowed() {
    let bench = Bench::new();
    let far = server(vec![("/b.md", "b".into()), ("/named.md", "named".into())]).await;
    let (b, named) = (format!("http://{far}/b.md"), format!("http://{far}/named.md"));
    let listed = ["HOST/a.md", &b, &named, "https://docs.example.com/x.txt"];
    let near = server(vec![("/sitemap.xml", pages(&listed)), ("/a.md", "a".into())]).await;
    let source = |allowed_origins: Vec<String>| {
        let sitemap = Some(format!("http://{near}/sitemap.xml"));
        Origin::Http(Http { urls: vec![named.clone()], sitemap, allowed_origins, ..Http::default() })
    };
    let (path_a, path_b, path_named) = (format!("{near}/a.md"), format!("{far}/b.md"), format!("{far}/named.md"));

    let opened = bench.open_with(source(vec![]), &[], &["**/*.txt"]).await.unwrap();
    assert_eq!(texts(&opened).await, expected(&[(&path_a, "a"), (&path_named, "named")]));
    let [(path, message)] = errors(&opened)[..] else { panic!("{:?}", errors(&opened)) };
    assert_eq!(path, path_b);
    assert!(message.contains(&format!("add http://{far} to allowedOrigins")), "{message}");

    let opened = bench.open_with(source(vec![format!("http://{far}")]), &[], &["**/*.txt"]).await.unwrap();
    assert_eq!(texts(&opened).await, expected(&[(&path_a, "a"), (&path_b, "b"), (&path_named, "named")]));
    assert_eq!(errors(&opened), []);
}

#[tokio::test]
async fn a_sitemap_of_another_origin_is_not_fetched_unless_it_is_allowed() {
    let bench = Bench::new();
    let far = server(vec![("/2.xml", pages(&["HOST/b.md"]))]).await;
    let elsewhere = format!("http://{far}/2.xml");
    let near = server(vec![
        ("/sitemap.xml", index(&["HOST/1.xml", &elsewhere])),
        ("/1.xml", pages(&["HOST/a.md"])),
        ("/none.xml", index(&["HOST/1.xml", &format!("http://{far}/none.xml")])),
    ])
    .await;
    let opened = open(&bench, near, "/sitemap.xml").await.unwrap();
    assert_eq!(paths(&opened), [format!("{near}/a.md"), format!("{near}/extra.md")]);
    // The pages of that sitemap are not known, so no page may count as removed.
    let [(path, message)] = errors(&opened)[..] else { panic!("{:?}", errors(&opened)) };
    assert_eq!(path, "/");
    assert!(message.contains(&elsewhere) && message.contains("allowedOrigins"), "{message}");
    // The sitemap does not exist, so fetching it would be an error.
    assert!(open(&bench, near, "/none.xml").await.is_ok());

    let origin = format!("http://{far}/");
    let opened = open_allowing(&bench, near, "/sitemap.xml", &[&origin]).await.unwrap();
    let mut wanted = [format!("{near}/a.md"), format!("{near}/extra.md"), format!("{far}/b.md")];
    wanted.sort();
    assert_eq!(paths(&opened), wanted);
    assert_eq!(open_allowing(&bench, near, "/none.xml", &[&origin]).await.unwrap_err().kind(), "status");
}

#[tokio::test]
async fn a_sitemap_may_list_pages_of_the_origin_it_is_redirected_to() {
    let bench = Bench::new();
    let foreign = "https://docs.example.com/c.md";
    let far = server(vec![
        ("/nested.xml", pages(&["HOST/a.md", foreign])),
        ("/index.xml", index(&["HOST/nested.xml"])),
        ("/a.md", "a".to_owned()),
    ])
    .await;
    let near = server(vec![
        ("/sitemap.xml", format!("-> http://{far}/nested.xml")),
        ("/index.xml", format!("-> http://{far}/index.xml")),
        ("/nested.xml", format!("-> http://{far}/nested.xml")),
        ("/index-here.xml", index(&["HOST/nested.xml"])),
        ("/extra.md", "extra".to_owned()),
    ])
    .await;
    for path in ["/sitemap.xml", "/index.xml", "/index-here.xml"] {
        let opened = open(&bench, near, path).await.unwrap();
        let (a, extra) = (format!("{far}/a.md"), format!("{near}/extra.md"));
        assert_eq!(texts(&opened).await, expected(&[(&a, "a"), (&extra, "extra")]), "{path}");
        let paths: Vec<_> = errors(&opened).into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["docs.example.com/c.md"], "{path}");
    }
}

#[tokio::test]
async fn an_invalid_origin_is_an_error() {
    let bench = Bench::new();
    let near = server(vec![("/sitemap.xml", pages(&["HOST/a.md"]))]).await;
    for origin in ["cdn.example.com", "https://cdn.example.com/docs", "https://me:secret@cdn.example.com", "*"] {
        let error = open_allowing(&bench, near, "/sitemap.xml", &[origin]).await.unwrap_err();
        assert_eq!(error.kind(), "address", "{origin}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
