//! Listings with keys that cannot be paths in a file system.

use ragengine_settings::sync::{Origin, S3};
use ragengine_sources::{Extent, Opened, SourceError};

use crate::support::{Bench, paths, serve};

/// A listing of objects with these keys and sizes.
fn page(objects: &[(&str, u64)]) -> String {
    let object = |(key, size): &(&str, u64)| {
        format!(
            "<Contents><Key>{key}</Key><Size>{size}</Size>\
             <LastModified>2026-05-01T10:00:00Z</LastModified><ETag>\"a\"</ETag></Contents>"
        )
    };
    let objects: String = objects.iter().map(object).collect();
    format!("<ListBucketResult><IsTruncated>false</IsTruncated>{objects}</ListBucketResult>")
}

/// Opens a bucket whose server answers every request with this page.
async fn open(page: String) -> Result<Opened, SourceError> {
    let router = axum::Router::new().fallback(move || std::future::ready(page.clone()));
    let endpoint = Some(format!("http://{}", serve(router).await));
    let source = S3 { bucket: "docs".into(), endpoint, ..S3::default() };
    Bench::new().open_with(Origin::S3(source), &[], &["**/*.png"]).await
}

#[tokio::test]
async fn an_invalid_key_does_not_affect_other_objects() {
    let good = [("a.md", 3), ("e/f.md", 3)];
    let odd = [("b//c.md", 3), ("/d.md", 3), ("x//y.png", 3), ("//", 3), ("docs//", 3), ("e/", 3), ("/", 3)];
    let opened = open(page(&[&good[..], &odd].concat())).await.unwrap();
    assert_eq!(paths(&opened), ["a.md", "e/f.md"]);
    let named: Vec<&str> = opened.errors().iter().map(|error| error.path.as_str()).collect();
    assert_eq!(named, ["/", "//", "/d.md", "b//c.md", "docs//", "e/"]);
    assert!(opened.errors().iter().all(|error| error.extent == Extent::Itself), "{:?}", opened.errors());
    let without = open(page(&good)).await.unwrap();
    assert!(opened.revision().is_some() && opened.revision() != without.revision());
}

#[tokio::test]
async fn an_empty_object_is_a_file_unless_its_key_ends_with_a_slash() {
    let objects = [("a.md", 0), ("sub/", 0), ("sub/b.md", 1), ("/", 0), ("//", 0), ("sub//", 0), ("c//d.md", 0)];
    let opened = open(page(&objects)).await.unwrap();
    assert_eq!(paths(&opened), ["a.md", "sub/b.md"]);
    let named: Vec<&str> = opened.errors().iter().map(|error| error.path.as_str()).collect();
    assert_eq!(named, ["c//d.md"]);
}

#[tokio::test]
async fn an_incomplete_listing_is_an_error() {
    let cut_off = "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>";
    let cases = [
        ("", "not a bucket listing"),
        ("<html><body>Down for maintenance</body></html>", "not a bucket listing"),
        ("<Error><Code>SlowDown</Code></Error>", "not a bucket listing"),
        ("<ListBucketResult><Contents>", "not a bucket listing"),
        (cut_off, "no token for the next page"),
    ];
    for (text, words) in cases {
        let error = open(text.to_owned()).await.map(|opened| paths(&opened).len()).unwrap_err();
        assert_eq!(error.kind(), "answer", "{text}: {error}");
        assert!(error.to_string().contains(words), "{text}: {error}");
    }
    assert!(open(page(&[])).await.is_ok());
}
