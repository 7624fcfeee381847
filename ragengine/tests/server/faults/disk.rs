use std::fs;
use std::path::Path;

use serde_json::json;

use super::requests::{add, entries, get, replied, retrieve, run, send};
use crate::backup::large_backup;
use crate::support::process::Process;

#[test]
fn a_server_recovers_from_a_full_disk_without_a_restart() {
    let data = tempfile::tempdir().unwrap();
    let mut server = Process::start(data.path());
    for doc_id in ["first", "second"] {
        assert_eq!(add(&server, "docs", doc_id).0, 200);
    }
    // The files of the indexes are larger than this limit already. The file that probes for a full volume still fits.
    server.limit_files_to(Some(16 << 10));
    let (status, body) = add(&server, "docs", "refused");
    assert_eq!(status, 507, "{body}");
    assert!(body["detail"].as_str().unwrap().contains("the disk is full"), "{body}");
    let (status, body) = add(&server, "another", "refused");
    assert_eq!(status, 507, "{body}");
    server.limit_files_to(None);
    for (index, doc_id) in [("docs", "third"), ("another", "only")] {
        server.wait_until("is writable again", |server| (add(server, index, doc_id).0 == 200).then_some(()));
    }
    server.wait_until("has no problem any more", |server| {
        let (status, ready) = get(server, "/readyz");
        (status == 200 && ready["checks"]["indexes"]["ready"] == true).then_some(())
    });
    assert_eq!(get(&server, "/indexes/docs").1["documents"], 3);
    assert_eq!(retrieve(&server, "docs").1["count"], 3);
    server.kill();
    let server = Process::start(data.path());
    assert_eq!(get(&server, "/indexes/docs").1["documents"], 3);
    assert_eq!(get(&server, "/indexes/another").1["documents"], 1);
}

#[test]
fn a_disk_that_fills_during_a_copy_changes_nothing() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(data.path());
    for doc_id in ["first", "second"] {
        assert_eq!(add(&server, "docs", doc_id).0, 200);
    }
    let backup = run(async {
        let reply = reqwest::get(format!("{}/backup", server.url)).await.unwrap();
        reply.bytes().await.unwrap().to_vec()
    });
    // Enough for the existing files and the beginning of the restore. The volume itself has room.
    server.limit_files_to(Some(8 << 20));
    let (status, body) = send(&server, "/restore?overwrite=true", large_backup());
    assert_eq!((status, body["detail"].as_str().unwrap().contains("the disk is full")), (507, true), "{body}");
    assert_eq!(entries(&data.path().join("indexes")), 1, "the failed restore leaves no folder");
    assert_eq!(add(&server, "docs", "third").0, 200);
    server.limit_files_to(Some(2 << 10));
    let (status, body) = send(&server, "/persist/docs", Vec::new());
    assert_eq!(status, 507, "{body}");
    assert_eq!((entries(&data.path().join("persisted")), retrieve(&server, "docs").1["count"].as_u64()), (0, Some(3)));
    server.limit_files_to(None);
    assert_eq!(send(&server, "/persist/docs", Vec::new()).0, 200);
    assert_eq!(send(&server, "/restore?overwrite=true", backup).0, 200);
    assert_eq!(get(&server, "/indexes/docs").1["documents"], 2);
    assert_eq!(send(&server, "/load/docs?overwrite=true", Vec::new()).0, 200);
    assert_eq!(get(&server, "/indexes/docs").1["documents"], 3);
}

fn zero(file: &Path) {
    fs::write(file, vec![0; fs::metadata(file).unwrap().len() as usize]).unwrap();
}

fn cut(file: &Path) {
    let half = fs::metadata(file).unwrap().len() / 2;
    fs::File::options().write(true).open(file).unwrap().set_len(half).unwrap();
}

/// Inverts every byte of the tables and keeps the header valid.
fn flip(file: &Path) {
    let bytes = fs::read(file).unwrap();
    let flipped: Vec<u8> =
        bytes.iter().enumerate().map(|(place, byte)| if place < 4096 { *byte } else { !byte }).collect();
    fs::write(file, flipped).unwrap();
}

#[test]
fn a_damaged_index_leaves_the_others_available() {
    for damage in [zero, cut, flip] {
        let data = tempfile::tempdir().unwrap();
        let server = Process::start(data.path());
        for index in ["damaged", "whole"] {
            assert_eq!(add(&server, index, "first").0, 200);
        }
        server.kill();
        let file = data.path().join("indexes/00000001/store.redb");
        damage(&file);
        let server = Process::start(data.path());
        let (status, ready) = get(&server, "/readyz");
        let check = &ready["checks"]["indexes"];
        assert_eq!((status, &ready["ready"], &check["ready"]), (200, &json!(true), &json!(false)), "{ready}");
        assert!(check["detail"].as_str().unwrap().contains("index 'damaged'"), "{ready}");
        assert_eq!(get(&server, "/status").1["problems"][0]["kind"], "index_unavailable");
        assert_eq!(get(&server, "/indexes").1, json!(["damaged", "whole"]));
        assert_eq!((retrieve(&server, "whole").0, add(&server, "whole", "second").0), (200, 200));
        for (status, body) in [retrieve(&server, "damaged"), add(&server, "damaged", "second")] {
            assert_eq!(status, 503, "{body}");
            assert!(body["detail"].as_str().unwrap().contains("backup"), "{body}");
        }
        assert!(file.exists(), "the damaged file is kept for a repair");
        assert_eq!(replied(|http| http.delete(format!("{}/indexes/damaged", server.url))).0, 200);
        assert_eq!(get(&server, "/readyz").1["checks"]["indexes"]["ready"], true);
        assert_eq!(add(&server, "damaged", "new").0, 200);
    }
}

#[test]
fn a_damaged_catalog_is_reported_and_not_changed() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(data.path());
    assert_eq!(add(&server, "docs", "first").0, 200);
    server.kill();
    let file = data.path().join("catalog.redb");
    let good = fs::read(&file).unwrap();
    zero(&file);
    let zeroed = fs::read(&file).unwrap();
    let mut server = Process::start_unready(data.path());
    server.wait_until("says what is wrong", |server| {
        let (status, ready) = get(server, "/readyz");
        let detail = ready["checks"]["indexes"]["detail"].as_str().unwrap().to_owned();
        (status == 503 && detail.contains("catalog.redb) is damaged")).then_some(())
    });
    assert_eq!(get(&server, "/livez").0, 200);
    assert_eq!(retrieve(&server, "docs").0, 503);
    assert_eq!(fs::read(&file).unwrap(), zeroed);
    // The server continues without a restart once the file is repaired.
    fs::write(&file, good).unwrap();
    server.wait_until("is ready", |server| (get(server, "/readyz").0 == 200).then_some(()));
    assert_eq!(get(&server, "/indexes/docs").1["documents"], 1);
}
