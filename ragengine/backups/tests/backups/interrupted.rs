//! Uploads that end early.

use crate::server::{WRITER, bytes, name_of, read, server, upload, write};

#[tokio::test]
async fn an_upload_that_is_killed_is_no_backup_and_hides_none() {
    let server = server().await;
    let bucket = server.bucket("docs").await;
    let good = upload(&bucket, name_of(1), &bytes(20 << 20)).await.unwrap();
    // The process ends after a part was sent: nothing cleans up.
    let mut killed = bucket.begin(name_of(2)).await.unwrap();
    write(&mut killed, &bytes(17 << 20)).await.unwrap();
    drop(killed);
    assert_eq!(bucket.find(None).await.unwrap(), good);
    assert_eq!(server.objects("docs").len(), 2, "the file and the manifest of the first");
    // The next one works, and keeps the good one before it.
    let next = upload(&bucket, name_of(3), b"next").await.unwrap();
    assert_eq!(bucket.prune(WRITER, 2, &name_of(3)).await.unwrap(), []);
    assert_eq!(bucket.find(None).await.unwrap(), next);
    assert_eq!(read(&bucket, &good).await.unwrap().len(), 20 << 20);
}

#[tokio::test]
async fn a_process_that_is_killed_before_the_manifest_leaves_no_backup() {
    let server = server().await;
    let bucket = server.bucket("docs").await;
    let good = upload(&bucket, name_of(1), b"good").await.unwrap();
    upload(&bucket, name_of(2), b"no manifest").await.unwrap();
    std::fs::remove_file(server.folder.join(format!("docs/{}.json", name_of(2)))).unwrap();
    assert_eq!(bucket.find(None).await.unwrap(), good);
    let missing = bucket.find(Some(name_of(2).as_str())).await.unwrap_err();
    assert_eq!(missing.kind(), "missing", "{missing}");
    // It counts as nothing that supersedes others, and goes once it is older than all that are kept.
    upload(&bucket, name_of(3), b"new").await.unwrap();
    assert_eq!(bucket.prune(WRITER, 2, &name_of(3)).await.unwrap(), []);
    assert_eq!(bucket.prune(WRITER, 1, &name_of(3)).await.unwrap(), [name_of(1), name_of(2)]);
    assert_eq!(server.objects("docs"), [name_of(3).to_string(), format!("{}.json", name_of(3))]);
}

#[tokio::test]
async fn a_full_bucket_keeps_its_backups_and_gets_no_part_of_another() {
    let server = server().await;
    let bucket = server.bucket("docs").await;
    let good = upload(&bucket, name_of(1), &bytes(20 << 20)).await.unwrap();
    let before = server.objects("docs");
    // No room for the second part, for the last one, and for the manifest.
    for room in [20 << 20, 36 << 20, 40 << 20] {
        server.has_room_for(room);
        let error = upload(&bucket, name_of(2), &bytes(40 << 20)).await.unwrap_err();
        assert_eq!(error.kind(), "request", "{error}");
        assert!(error.to_string().contains("507"), "{room}: {error}");
        assert_eq!(server.objects("docs"), before, "{room}");
        assert_eq!(bucket.find(None).await.unwrap(), good, "{room}");
    }
    server.has_room_for(u64::MAX);
    upload(&bucket, name_of(3), &bytes(40 << 20)).await.unwrap();
    assert_eq!(server.objects("docs").len(), 4);
}
