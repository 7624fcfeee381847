//! Superseded backups.

use std::fs;

use hyper::Method;
use ragengine_backups::{Contents, Name};

use crate::server::{WRITER, name_of, server, upload, upload_of};

#[tokio::test]
async fn the_newest_good_backups_of_each_writer_stay() {
    let server = server().await;
    let bucket = server.bucket("docs").await;
    let other = Name::at("2026-11-01T00:00:00Z".parse().unwrap(), "another engine");
    upload(&bucket, other.clone(), b"other").await.unwrap();
    fs::write(server.folder.join("docs/notes.txt"), "mine").unwrap();
    for day in 1..=5 {
        upload(&bucket, name_of(day), b"backup").await.unwrap();
    }
    // The fourth is damaged, so that it does not count.
    fs::write(server.folder.join(format!("docs/{}", name_of(4))), "short").unwrap();
    assert_eq!(bucket.prune(WRITER, 2, &name_of(5)).await.unwrap(), [name_of(1), name_of(2)]);
    let left = server.objects("docs");
    assert!(left.contains(&other.to_string()) && left.contains(&"notes.txt".to_owned()), "{left:?}");
    assert!(left.contains(&name_of(3).to_string()) && !left.contains(&format!("{}.json", name_of(2))), "{left:?}");
    assert_eq!(bucket.prune(WRITER, 1, &name_of(5)).await.unwrap(), [name_of(3), name_of(4)]);
}

#[tokio::test]
async fn a_new_backup_stays_although_others_have_later_names() {
    let server = server().await;
    let bucket = server.bucket("docs").await;
    for day in [1, 2, 20, 21] {
        upload(&bucket, name_of(day), b"backup").await.unwrap();
    }
    // The clock was ahead on the days 20 and 21.
    assert_eq!(bucket.prune(WRITER, 2, &name_of(2)).await.unwrap(), [name_of(1)]);
    assert_eq!(bucket.prune(WRITER, 1, &name_of(2)).await.unwrap(), []);
    assert_eq!(bucket.find(Some(name_of(2).as_str())).await.unwrap().name, name_of(2).to_string());
}

#[tokio::test]
async fn a_backup_without_an_index_supersedes_none_and_is_not_the_newest() {
    let server = server().await;
    let bucket = server.bucket("docs").await;
    for day in [3, 4] {
        upload_of(&bucket, name_of(day), b"none", Contents::default()).await.unwrap();
    }
    let missing = bucket.find(None).await.unwrap_err().to_string();
    assert!(missing.ends_with(&format!(", but {}, which has no index", name_of(4))), "{missing}");
    for day in [1, 2] {
        upload(&bucket, name_of(day), b"backup").await.unwrap();
    }
    assert_eq!(bucket.find(None).await.unwrap().name, name_of(2).to_string());
    assert_eq!(bucket.find(Some(name_of(4).as_str())).await.unwrap().contents.indexes, 0);
    upload(&bucket, name_of(5), b"backup").await.unwrap();
    assert_eq!(bucket.prune(WRITER, 3, &name_of(5)).await.unwrap(), []);
    assert_eq!(bucket.prune(WRITER, 2, &name_of(5)).await.unwrap(), [name_of(1)]);
}

#[tokio::test]
async fn nothing_is_deleted_if_the_listing_fails_or_lacks_the_new_backup() {
    let server = server().await;
    let bucket = server.bucket("docs").await;
    for day in 1..=3 {
        upload(&bucket, name_of(day), b"backup").await.unwrap();
    }
    let before = server.objects("docs");
    let error = bucket.prune(WRITER, 1, &name_of(4)).await.unwrap_err().to_string();
    assert!(error.contains("lacks the new backup"), "{error}");
    let server = server.with_wrong_key();
    let refused = server.bucket("docs").await;
    let error = refused.prune(WRITER, 1, &name_of(3)).await.unwrap_err().to_string();
    assert!(error.starts_with("cannot list the backups"), "{error}");
    assert_eq!(server.objects("docs"), before);
}

#[tokio::test]
async fn a_manifest_that_cannot_be_read_is_not_deleted_and_does_not_count() {
    let server = server().await;
    let bucket = server.bucket("docs").await;
    for day in 1..=5 {
        upload(&bucket, name_of(day), b"backup").await.unwrap();
    }
    for _ in 0..2 {
        server.refuses_once(Method::GET, &format!("{}.json", name_of(4)));
    }
    assert_eq!(bucket.prune(WRITER, 4, &name_of(5)).await.unwrap(), []);
    assert_eq!(bucket.prune(WRITER, 2, &name_of(5)).await.unwrap(), [name_of(1), name_of(2)]);
    assert!(server.objects("docs").contains(&name_of(4).to_string()));
}

#[tokio::test]
async fn a_backup_that_cannot_be_deleted_does_not_keep_others() {
    let server = server().await;
    let bucket = server.bucket("docs").await;
    for day in 1..=3 {
        upload(&bucket, name_of(day), b"backup").await.unwrap();
    }
    // The deletion of the first one's manifest.
    server.refuses_once(Method::POST, "");
    let error = bucket.prune(WRITER, 1, &name_of(3)).await.unwrap_err().to_string();
    assert!(error.starts_with("cannot delete a superseded backup: "), "{error}");
    let left = [1, 3].map(|day| [name_of(day).to_string(), format!("{}.json", name_of(day))]);
    assert_eq!(server.objects("docs"), left.concat());
}

#[tokio::test]
async fn more_backups_than_a_page_are_listed() {
    let server = server().await;
    let bucket = server.bucket("docs").await;
    upload(&bucket, name_of(28), b"backup").await.unwrap();
    // Older leftovers, more than one page of a listing has.
    for minute in 0..1200 {
        let time = format!("2026-10-{:02}T{:02}:{:02}:00Z", 1 + minute / 1440, minute / 60, minute % 60);
        let name = Name::at(time.parse().unwrap(), WRITER);
        fs::write(server.folder.join(format!("docs/{name}")), "").unwrap();
    }
    assert_eq!(bucket.find(None).await.unwrap().name, name_of(28).to_string());
    assert_eq!(bucket.prune(WRITER, 1, &name_of(28)).await.unwrap().len(), 1200);
    assert_eq!(server.objects("docs").len(), 2);
}
