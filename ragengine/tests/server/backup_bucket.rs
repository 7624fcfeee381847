//! Backups in a bucket of a real S3 server: the commands with a task, and an engine that begins with a backup.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use ragengine::app::start;
use ragengine_backups::Name;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::support::process::program;
use crate::support::{FACTS, Server, copy_folder, settings};

#[path = "../../sources/tests/sources/support/s3_server.rs"]
#[expect(dead_code, reason = "the tests of sources also use unsigned requests")]
mod s3_server;

/// A bucket `backups`, and a folder for tasks.
struct Bucket {
    folder: TempDir,
    endpoint: String,
}

impl Bucket {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["s3/backups", "keys"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let keys =
            [("AWS_ACCESS_KEY_ID", s3_server::ACCESS_KEY_ID), ("AWS_SECRET_ACCESS_KEY", s3_server::SECRET_ACCESS_KEY)];
        for (name, value) in keys {
            std::fs::write(folder.path().join("keys").join(name), value).unwrap();
        }
        let endpoint = format!("http://{}", s3_server::serve(&folder.path().join("s3")).await);
        Self { folder, endpoint }
    }

    fn place(&self) -> Value {
        let keys = self.folder.path().join("keys");
        json!({"s3": {"bucket": "backups", "prefix": "docs", "endpoint": self.endpoint, "credentials": keys}})
    }

    fn objects(&self) -> Vec<PathBuf> {
        let Ok(entries) = self.folder.path().join("s3/backups/docs").read_dir() else { return Vec::new() };
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "tar"));
        paths.sort();
        paths
    }

    /// Runs a command with this task. Returns whether it succeeded, its standard output and its standard error.
    async fn run(&self, command: &str, task: &Value) -> (bool, String, String) {
        let path = self.folder.path().join("task.yaml");
        std::fs::write(&path, serde_saphyr::to_string(task).unwrap()).unwrap();
        let mut program = program();
        program.args([command, "--task"]).arg(path);
        let output = tokio::task::spawn_blocking(move || program.output().unwrap()).await.unwrap();
        let Output { status, stdout, stderr } = output;
        (status.success(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    }

    async fn back_up(&self, server: &Server, keep: u32) -> (bool, String, String) {
        let result = self.folder.path().join("result.json");
        let task = json!({
            "server": server.url, "writer": "uid", "place": self.place(), "keep": keep,
            "allowedRanges": ["127.0.0.0/8"], "resultFile": result,
        });
        self.run("backup", &task).await
    }

    fn restore_from(&self, name: Option<&str>) -> Value {
        json!({"place": self.place(), "name": name, "allowedRanges": ["127.0.0.0/8"]})
    }

    async fn restore(&self, server: &Server, name: Option<&str>) -> (bool, String, String) {
        self.run("restore", &json!({"server": server.url, "from": self.restore_from(name)})).await
    }

    /// The settings of a server that begins with the newest backup.
    fn bootstrap(&self) -> String {
        json!({"bootstrap": {"restore": self.restore_from(None)}}).to_string()
    }
}

fn flip(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_in_a_bucket_is_restored_into_another_server() {
    let bucket = Bucket::start().await;
    let server = Server::start("{}").await;
    server.add("a", &FACTS).await;
    let (succeeded, said, complained) = bucket.back_up(&server, 2).await;
    assert!(succeeded && said.contains("1 indexes, 5 documents"), "{said}{complained}");
    let result = std::fs::read_to_string(bucket.folder.path().join("result.json")).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    let [file] = bucket.objects().try_into().unwrap();
    assert_eq!(result["name"], file.file_name().unwrap().to_str().unwrap());
    assert_eq!(result["bytes"], std::fs::metadata(&file).unwrap().len());

    let other = Server::start("{}").await;
    let (succeeded, said, complained) = bucket.restore(&other, None).await;
    assert!(succeeded && said.contains("5 documents restored: a"), "{said}{complained}");
    let question = "How long does bread bake?";
    assert_eq!(other.found("a", question, 5).await, server.found("a", question, 5).await);
    let (succeeded, _, complained) = bucket.restore(&other, None).await;
    assert!(!succeeded && complained.contains("'a' exists"), "{complained}");

    for _ in 0..2 {
        // Names have seconds.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        assert!(bucket.back_up(&server, 2).await.0);
    }
    let left = bucket.objects();
    assert!(left.len() == 2 && !left.contains(&file), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_backup_is_refused_and_changes_nothing() {
    let bucket = Bucket::start().await;
    let server = Server::start("{}").await;
    server.add("a", &FACTS).await;
    assert!(bucket.back_up(&server, 2).await.0);
    flip(&bucket.objects()[0]);
    let other = Server::start("{}").await;
    let (succeeded, _, complained) = bucket.restore(&other, None).await;
    assert!(!succeeded && complained.contains("is damaged") && complained.contains("SHA-256"), "{complained}");
    assert_eq!(other.get("/indexes").await.ok(), json!([]));
    let (succeeded, _, complained) = bucket.restore(&other, Some("ragengine-20200101T000000Z-00000000.tar")).await;
    assert!(!succeeded && complained.contains("no complete backup"), "{complained}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_server_begins_with_a_backup_once() {
    let bucket = Bucket::start().await;
    let server = Server::start("{}").await;
    server.add("a", &FACTS).await;
    assert!(bucket.back_up(&server, 2).await.0);

    let data = tempfile::tempdir().unwrap();
    let first = Server::start_in(settings(&data, &bucket.bootstrap())).await;
    assert_eq!(first.get("/indexes").await.ok(), json!(["a"]));
    assert_eq!(first.found("a", "How long does bread bake?", 1).await, ["bread"]);
    // Deleted indexes do not come back.
    first.delete("/indexes/a").await.ok();
    let copy = tempfile::tempdir().unwrap();
    copy_folder(data.path(), copy.path());
    let second = Server::start_in(settings(&copy, &bucket.bootstrap())).await;
    assert_eq!(second.get("/indexes").await.ok(), json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_never_restored_over_existing_data() {
    let bucket = Bucket::start().await;
    let server = Server::start("{}").await;
    server.add("a", &FACTS).await;
    assert!(bucket.back_up(&server, 2).await.0);

    let data = tempfile::tempdir().unwrap();
    let before = Server::start_in(settings(&data, "{}")).await;
    before.add("mine", &FACTS[..1]).await;
    let copy = tempfile::tempdir().unwrap();
    copy_folder(data.path(), copy.path());
    let after = Server::start_in(settings(&copy, &bucket.bootstrap())).await;
    assert_eq!(after.get("/indexes").await.ok(), json!(["mine"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_not_ready_until_its_first_backup_is_restored() {
    let bucket = Bucket::start().await;
    let server = Server::start("{}").await;
    server.add("a", &FACTS).await;
    assert!(bucket.back_up(&server, 2).await.0);
    flip(&bucket.objects()[0]);

    let data = tempfile::tempdir().unwrap();
    let waiting = Server::start_unloaded(settings(&data, &bucket.bootstrap())).await;
    let app = std::sync::Arc::clone(&waiting.app);
    let starting = tokio::spawn(async move { start(&app).await });
    let status = async || waiting.get("/status").await.json();
    let mut shown = Value::Null;
    for _ in 0..100 {
        shown = status().await;
        if shown.to_string().contains("is damaged") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(shown["ready"] == false && shown.to_string().contains("bootstrap.restore"), "{shown}");
    assert!(shown.to_string().contains("is damaged"), "{shown}");
    // The next attempt finds the backup repaired.
    flip(&bucket.objects()[0]);
    tokio::time::timeout(Duration::from_secs(60), starting).await.unwrap().unwrap().unwrap();
    assert_eq!(waiting.get("/indexes").await.ok(), json!(["a"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_may_name_a_folder() {
    let bucket = Bucket::start().await;
    let server = Server::start("{}").await;
    server.add("a", &FACTS[..2]).await;
    let folder = bucket.folder.path().join("volume/docs");
    std::fs::create_dir_all(&folder).unwrap();
    let names = || {
        let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        entries.collect::<BTreeSet<String>>()
    };
    let of = |writer| Name::at("2025-01-02T00:00:00Z".parse().unwrap(), writer).to_string();
    // The second was written by another engine of this name, the third by an earlier version.
    let before = [of("uid"), of("uid-of-another"), "ragengine-20250101T000000Z.tar".to_owned()];
    for name in &before {
        std::fs::write(folder.join(name), "x").unwrap();
    }
    let place = json!({"folder": folder});
    let task = json!({"server": server.url, "writer": "uid", "place": place, "keep": 1});
    let (succeeded, said, complained) = bucket.run("backup", &task).await;
    assert!(succeeded && said.contains("1 indexes, 2 documents"), "{said}{complained}");
    let left = names();
    assert!(left.len() == 3 && !left.contains(&before[0]) && left.is_superset(&before[1..].iter().cloned().collect()));
    assert!(left.last().is_some_and(|newest| Name::parse(newest).is_some_and(|name| name.is_of("uid"))), "{left:?}");

    let yaml = json!({"bootstrap": {"restore": {"place": place}}}).to_string();
    let other = Server::start(&yaml).await;
    assert_eq!(other.get("/indexes").await.ok(), json!(["a"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_lost_its_indexes_deletes_no_backup() {
    let bucket = Bucket::start().await;
    let (server, lost) = (Server::start("{}").await, Server::start("{}").await);
    server.add("a", &FACTS).await;
    assert!(bucket.back_up(&server, 1).await.0);
    let result = bucket.folder.path().join("result.json");
    let volume = bucket.folder.path().join("volume");
    for place in [bucket.place(), json!({"folder": volume})] {
        let task = |server: &Server| {
            json!({
                "server": server.url, "writer": "uid", "place": place, "keep": 1, "resultFile": result,
                "allowedRanges": ["127.0.0.0/8"],
            })
        };
        assert!(bucket.run("backup", &task(&server)).await.0);
        let before = (bucket.objects(), std::fs::read_dir(&volume).map_or(0, Iterator::count));
        // Names have seconds.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        let (succeeded, said, complained) = bucket.run("backup", &task(&lost)).await;
        assert!(succeeded && said.contains("there is no index yet: no backup was stored"), "{said}{complained}");
        assert_eq!(std::fs::read_to_string(&result).unwrap(), r#"{"reason":"there is no index yet"}"#);
        assert_eq!((bucket.objects(), std::fs::read_dir(&volume).map_or(0, Iterator::count)), before);
        let from = json!({"place": place, "allowedRanges": ["127.0.0.0/8"]});
        let yaml = json!({"bootstrap": {"restore": from}}).to_string();
        assert_eq!(Server::start(&yaml).await.get("/indexes").await.ok(), json!(["a"]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_succeeds_although_older_ones_cannot_be_deleted() {
    let bucket = Bucket::start().await;
    let server = Server::start("{}").await;
    server.add("a", &FACTS).await;
    let folder = bucket.folder.path().join("volume");
    let result = bucket.folder.path().join("result.json");
    // A folder cannot be deleted like a file.
    let superseded = Name::at("2025-01-01T00:00:00Z".parse().unwrap(), "uid");
    std::fs::create_dir_all(folder.join(superseded.as_str())).unwrap();
    let task = json!({
        "server": server.url, "writer": "uid", "place": {"folder": folder}, "keep": 1, "resultFile": result,
    });
    let (succeeded, said, complained) = bucket.run("backup", &task).await;
    assert!(succeeded && complained.contains("is complete, but not all that it supersedes"), "{said}{complained}");
    let result: Value = serde_json::from_str(&std::fs::read_to_string(&result).unwrap()).unwrap();
    assert!(folder.join(result["name"].as_str().unwrap()).is_file(), "{result}");
}

/// After a while, answers at this address: at first that the server starts, then what the server answers.
async fn start_late(address: SocketAddr, server: String) {
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let listener = TcpListener::bind(address).await.unwrap();
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut request = [0; 4096];
    assert!(socket.read(&mut request).await.unwrap() > 0);
    let reply = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    socket.write_all(reply).await.unwrap();
    drop(socket);
    loop {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut real = TcpStream::connect(server.strip_prefix("http://").unwrap()).await.unwrap();
        tokio::spawn(async move { tokio::io::copy_bidirectional(&mut socket, &mut real).await });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_waits_for_a_server_that_starts() {
    let bucket = Bucket::start().await;
    let server = Server::start("{}").await;
    server.add("a", &FACTS).await;
    for place in [bucket.place(), json!({"folder": bucket.folder.path().join("volume")})] {
        let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let starting = tokio::spawn(start_late(address, server.url.clone()));
        let task = json!({
            "server": format!("http://{address}"), "writer": "uid", "place": place, "keep": 1,
            "allowedRanges": ["127.0.0.0/8"],
        });
        let (succeeded, said, complained) = bucket.run("backup", &task).await;
        assert!(succeeded && said.contains("1 indexes, 5 documents"), "{said}{complained}");
        assert_eq!(complained.lines().count(), 2, "{complained}");
        assert!(
            complained.contains("Waiting for the server") && complained.contains("was ready after"),
            "{complained}"
        );
        starting.abort();
    }
}

/// A server that sends the first half of a backup, and then nothing more.
async fn half_of(server: &Server) -> String {
    let whole = reqwest::get(format!("{}/backup", server.url)).await.unwrap().bytes().await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = [0; 4096];
            assert!(socket.read(&mut request).await.unwrap() > 0);
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", whole.len());
            socket.write_all(head.as_bytes()).await.unwrap();
            socket.write_all(&whole[..whole.len() / 2]).await.unwrap();
            held.push(socket);
        }
    });
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_that_is_stopped_or_killed_leaves_no_backup() {
    let bucket = Bucket::start().await;
    let server = Server::start("{}").await;
    server.add("a", &FACTS).await;
    let stalled = half_of(&server).await;
    let path = bucket.folder.path().join("stalled.yaml");
    let task = json!({
        "server": stalled, "writer": "uid", "place": bucket.place(), "keep": 1, "allowedRanges": ["127.0.0.0/8"],
    });
    std::fs::write(&path, serde_saphyr::to_string(&task).unwrap()).unwrap();
    for signal in [Signal::TERM, Signal::KILL] {
        let mut child = program().args(["backup", "--task"]).arg(&path).spawn().unwrap();
        // Long enough for the upload to begin.
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(child.try_wait().unwrap().is_none(), "the server has stalled");
        kill_process(Pid::from_child(&child), signal).unwrap();
        let status = tokio::task::spawn_blocking(move || child.wait().unwrap()).await.unwrap();
        assert!(!status.success());
        assert_eq!(bucket.objects(), Vec::<PathBuf>::new());
        let (succeeded, _, complained) = bucket.restore(&server, None).await;
        assert!(!succeeded && complained.contains("no complete backup"), "{complained}");
    }
    assert!(bucket.back_up(&server, 1).await.0);
    assert_eq!(bucket.objects().len(), 1);
}
