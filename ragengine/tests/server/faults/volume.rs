use std::fs;

use super::requests::{add, entries, get, retrieve, send};
use crate::backup::large_backup;
use crate::support::process::Process;
use crate::support::volume::{Access, Volume};

/// Large enough for a few documents, but not for the large backup.
const VOLUME_BYTES: u64 = 32 << 20;

/// The status of `/readyz` and its detail about the volume.
fn volume_check(server: &Process) -> (u16, String) {
    let (status, ready) = get(server, "/readyz");
    (status, ready["checks"]["volume"]["detail"].as_str().unwrap().to_owned())
}

#[test]
fn a_read_only_volume_is_reported_and_loses_nothing() {
    let Some(volume) = Volume::new("a_read_only_volume_is_reported_and_loses_nothing", VOLUME_BYTES) else {
        return;
    };
    let mut server = Process::start(&volume.data());
    for doc_id in ["first", "second"] {
        assert_eq!(add(&server, "docs", doc_id).0, 200);
    }
    volume.fail();
    for index in ["docs", "another"] {
        let (status, body) = add(&server, index, "refused");
        assert_eq!(status, 500, "{body}");
        assert!(body["detail"].as_str().unwrap().contains("Read-only file system"), "{body}");
    }
    assert_eq!(retrieve(&server, "docs").1["count"], 2, "searches work from memory");
    server.wait_until("is not ready", |server| {
        let (status, detail) = volume_check(server);
        (status == 503 && detail.contains("Read-only file system")).then_some(())
    });
    assert_eq!(get(&server, "/status").1["problems"][0]["kind"], "volume_failed");
    assert_eq!(get(&server, "/livez").0, 200);
    server.kill();

    volume.mount_again(Access::Read);
    let mut server = Process::start_unready(&volume.data());
    server.wait_until("says why it is not ready", |server| {
        let (status, detail) = volume_check(server);
        (status == 503 && detail.contains("Read-only file system")).then_some(())
    });
    volume.allow_writing();
    server.wait_until("is ready", |server| (get(server, "/readyz").0 == 200).then_some(()));
    assert_eq!(retrieve(&server, "docs").1["count"], 2);
    assert_eq!(get(&server, "/indexes").1, serde_json::json!(["docs"]));
    assert_eq!(add(&server, "docs", "third").0, 200);
}

#[test]
fn a_full_volume_refuses_writes_until_there_is_room() {
    let Some(volume) = Volume::new("a_full_volume_refuses_writes_until_there_is_room", VOLUME_BYTES) else {
        return;
    };
    let data = volume.data();
    let mut server = Process::start(&data);
    for doc_id in ["first", "second"] {
        assert_eq!(add(&server, "docs", doc_id).0, 200);
    }
    let (status, body) = send(&server, "/restore", large_backup());
    assert_eq!((status, body["detail"].as_str().unwrap().contains("the disk is full")), (507, true), "{body}");
    assert_eq!(entries(&data.join("indexes")), 1, "the failed restore leaves no folder");
    assert_eq!(add(&server, "docs", "third").0, 200, "the failed restore frees its space");
    let filler = volume.fill();
    let (status, body) = add(&server, "another", "refused");
    assert_eq!((status, body["detail"].as_str().unwrap().contains("the disk is full")), (507, true), "{body}");
    server.wait_until("reports a full disk", |server| {
        let (status, detail) = volume_check(server);
        (status == 200 && detail.contains("the disk is full")).then_some(())
    });
    assert_eq!(get(&server, "/status").1["problems"][0]["kind"], "volume_full");
    assert_eq!(retrieve(&server, "docs").1["count"], 3, "searches work on a full volume");
    fs::remove_file(filler).unwrap();
    server.wait_until("has room", |server| (!volume_check(server).1.contains("full")).then_some(()));
    server.wait_until("is writable again", |server| (add(server, "docs", "fourth").0 == 200).then_some(()));
    assert_eq!(get(&server, "/indexes/docs").1["documents"], 4);
    server.kill();
    let server = Process::start(&data);
    assert_eq!(retrieve(&server, "docs").1["count"], 4);
}
