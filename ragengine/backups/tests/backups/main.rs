//! Backups in a bucket of a real S3 server.

#![expect(clippy::unwrap_used, reason = "tests")]

mod damaged;
mod interrupted;
mod retention;
mod server;

use server::{bytes, name_of, read, server, upload};

#[tokio::test]
async fn a_backup_is_read_as_it_was_written() {
    let server = server().await;
    let bucket = server.bucket("clusters/docs").await;
    // Two whole parts and a rest, and sizes at the edge of a part.
    for (day, size) in [(1, 40 << 20), (2, 16 << 20), (3, 1)] {
        let sent = bytes(size);
        let manifest = upload(&bucket, name_of(day), &sent).await.unwrap();
        assert_eq!((manifest.bytes, manifest.contents.documents), (size as u64, 3));
        assert_eq!(manifest.name, name_of(day).to_string());
        let found = bucket.find(Some(&manifest.name)).await.unwrap();
        assert_eq!(found, manifest);
        assert!(read(&bucket, &found).await.unwrap() == sent, "{size}");
        assert_eq!(bucket.find(None).await.unwrap(), manifest, "the newest");
    }
    let other = server.bucket("clusters/doc").await;
    let missing = other.find(None).await.unwrap_err().to_string();
    assert_eq!(missing, "there is no complete backup below s3://backups/clusters/doc");
    let missing = bucket.find(Some("ragengine-20200101T000000Z-00000000.tar")).await.unwrap_err().to_string();
    assert!(missing.contains("the newest one is") && missing.contains(name_of(3).as_str()), "{missing}");
}

#[tokio::test]
async fn the_root_of_a_bucket_may_hold_backups() {
    let server = server().await;
    let bucket = server.bucket("").await;
    let manifest = upload(&bucket, name_of(1), b"backup").await.unwrap();
    assert!(server.folder.join(&manifest.name).is_file());
    assert_eq!(bucket.find(None).await.unwrap(), manifest);
}

#[tokio::test]
async fn wrong_credentials_are_an_error_that_names_the_step() {
    let server = server().await.with_wrong_key();
    let bucket = server.bucket("docs").await;
    let error = upload(&bucket, name_of(1), b"backup").await.unwrap_err();
    assert_eq!(error.kind(), "request");
    assert!(error.to_string().starts_with("cannot start the upload: "), "{error}");
    assert!(!error.to_string().contains("wrong-secret"), "{error}");
}
