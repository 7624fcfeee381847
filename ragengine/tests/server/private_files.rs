//! Only the owner can read the files of the server, because a data folder holds every document.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::embedder::RemoteEmbedder;
use crate::support::{Server, settings};

/// Path, whether it is a folder, and mode of everything below a folder.
fn modes_below(folder: &Path) -> Vec<(PathBuf, bool, u32)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            found.push((entry.path(), metadata.is_dir(), metadata.mode() & 0o777));
            folders.extend(metadata.is_dir().then(|| entry.path()));
        }
    }
    found
}

async fn wait_for_snapshot(server: &Server) {
    for _ in 0..1000 {
        if server.get("/metrics").await.text.contains("ragengine_index_snapshot_writes_total{result=\"written\"} 1") {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("no snapshot was written in time");
}

#[tokio::test]
async fn files_in_the_data_folder_are_private_and_a_mount_keeps_its_mode() {
    let data = tempfile::tempdir().unwrap();
    std::fs::set_permissions(data.path(), Permissions::from_mode(0o2775)).unwrap();
    // Earlier versions created these folders with a wider mode.
    for folder in ["indexes", "persisted"] {
        std::fs::create_dir(data.path().join(folder)).unwrap();
        std::fs::set_permissions(data.path().join(folder), Permissions::from_mode(0o755)).unwrap();
    }
    let embedder = RemoteEmbedder::with_width(16).await;
    let yaml = embedder.settings("m", "vectorIndex: HNSW16\nsearch: {exactBelowRows: 50}");
    let server = Server::start_in(settings(&data, &yaml)).await;
    let documents: Vec<Value> = (0..80).map(|number| json!({"text": format!("entry {number}")})).collect();
    server.post("/index", &json!({"index_name": "i", "documents": documents})).await.ok();
    server.post_bytes("/persist/i", "").await.ok();
    server.get("/readyz").await.ok();
    wait_for_snapshot(&server).await;
    let found = modes_below(data.path());
    for (path, is_folder, mode) in &found {
        assert_eq!(*mode, if *is_folder { 0o700 } else { 0o600 }, "{}: {mode:o}", path.display());
    }
    let names: Vec<&str> = found.iter().filter_map(|(path, ..)| path.file_name()?.to_str()).collect();
    for name in ["catalog.redb", "server.lock", "store.redb", "vectors.faiss", "manifest", "i.tar"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    assert_eq!(data.path().metadata().unwrap().mode() & 0o7777, 0o2775);
}

#[tokio::test]
async fn a_missing_data_folder_is_created_private() {
    let outer = tempfile::tempdir().unwrap();
    let mut settings = settings(&outer, &RemoteEmbedder::with_width(8).await.settings("m", ""));
    settings.data_dir = outer.path().join("new/data");
    drop(Server::start_in(settings).await);
    for folder in ["new", "new/data"] {
        assert_eq!(outer.path().join(folder).metadata().unwrap().mode() & 0o777, 0o700, "{folder}");
    }
}
