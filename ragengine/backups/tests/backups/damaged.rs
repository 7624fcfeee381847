//! Backups that changed in the bucket.

use std::fs;

use futures_util::StreamExt as _;
use ragengine_backups::BackupError;

use crate::server::{bytes, name_of, server, upload};

#[tokio::test]
async fn a_damaged_backup_is_never_given_out_whole() {
    let server = server().await;
    let bucket = server.bucket("docs").await;
    let manifest = upload(&bucket, name_of(1), &bytes(20 << 20)).await.unwrap();
    let path = server.folder.join("docs").join(&manifest.name);
    let whole = fs::read(&path).unwrap();
    for place in [0, 9 << 20, whole.len() - 1] {
        let mut flipped = whole.clone();
        flipped[place] ^= 1;
        fs::write(&path, &flipped).unwrap();
        let found = bucket.find(None).await.unwrap();
        let mut pieces = std::pin::pin!(bucket.read(&found));
        let (mut given, mut error) = (0, None);
        while let Some(piece) = pieces.next().await {
            match piece {
                Ok(piece) => given += piece.len(),
                Err(failed) => error = Some(failed),
            }
        }
        let error = error.unwrap();
        assert!(matches!(error, BackupError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains("SHA-256") && error.to_string().contains("Nothing was restored"), "{error}");
        assert!(given < whole.len(), "{place}: all {given} bytes were given out");
    }
}

#[tokio::test]
async fn a_truncated_backup_is_not_the_newest_good_one() {
    let server = server().await;
    let bucket = server.bucket("docs").await;
    let good = upload(&bucket, name_of(1), &bytes(1000)).await.unwrap();
    let truncated = upload(&bucket, name_of(2), &bytes(1000)).await.unwrap();
    fs::write(server.folder.join("docs").join(&truncated.name), bytes(999)).unwrap();
    assert_eq!(bucket.find(None).await.unwrap(), good);
    let error = bucket.find(Some(&truncated.name)).await.unwrap_err();
    assert_eq!(error.kind(), "damaged");
    assert!(error.to_string().contains("999 of 1000 bytes"), "{error}");
    // It becomes shorter after it was found.
    fs::write(server.folder.join("docs").join(&good.name), bytes(10)).unwrap();
    let failed = crate::read(&bucket, &good).await.unwrap_err();
    assert_eq!(failed.kind(), "damaged", "{failed}");
}

#[tokio::test]
async fn a_damaged_manifest_is_no_backup() {
    let server = server().await;
    let bucket = server.bucket("docs").await;
    for (day, text) in [(1, "{\"format\": 1"), (2, "{}"), (3, "")] {
        let manifest = upload(&bucket, name_of(day), b"backup").await.unwrap();
        fs::write(server.folder.join(format!("docs/{}.json", manifest.name)), text).unwrap();
    }
    let error = bucket.find(None).await.unwrap_err().to_string();
    assert!(error.contains("is damaged") && error.contains(name_of(3).as_str()), "{error}");
}
