use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ragengine_client::wire::Document;
use ragengine_client::{Client, ClientError};
use ragengine_index::archive::{ArchiveWriter, IndexHeader, Manifest, Row};
use ragengine_index::record::{DocumentRecord, IndexRecord};
use ragengine_settings::VectorIndexKind;
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::support::process::{Process, program};
use crate::support::{FACTS, Server, settings};

/// Runs the program on a blocking thread, so that the server in this process can answer it. Returns whether it
/// succeeded, its standard output and its standard error.
async fn ragengine(arguments: &[&str]) -> (bool, String, String) {
    let mut command = program();
    command.args(arguments);
    let Output { status, stdout, stderr } =
        tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.success(), text(stdout), text(stderr))
}

async fn back_up(url: &str, output: &Path, more: &[&str]) -> (bool, String, String) {
    let arguments = ["backup", "--server", url, "--output", output.to_str().unwrap()];
    ragengine(&[&arguments, more].concat()).await
}

async fn restore(url: &str, input: &Path, more: &[&str]) -> (bool, String, String) {
    let arguments = ["restore", "--server", url, "--input", input.to_str().unwrap()];
    ragengine(&[&arguments, more].concat()).await
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

async fn listed(url: &str, index: &str) -> Vec<Value> {
    let mut documents = Vec::new();
    for offset in (0..).step_by(100) {
        let page = reqwest::get(format!("{url}/indexes/{index}/documents?limit=100&offset={offset}")).await.unwrap();
        let page: Value = page.json().await.unwrap();
        let page = page["documents"].as_array().unwrap().clone();
        let is_last = page.len() < 100;
        documents.extend(page);
        if is_last {
            break;
        }
    }
    documents
}

/// A server with two indexes, and a complete backup of it.
async fn backed_up(yaml: &str) -> (Server, TempDir, PathBuf) {
    let server = Server::start(yaml).await;
    server.add("a", &FACTS).await;
    server.add("b", &FACTS[..2]).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.tar");
    let (succeeded, said, complained) = back_up(&server.url, &file, &[]).await;
    assert!(succeeded, "{complained}");
    assert!(said.starts_with(&format!("{}: 2 indexes, 7 documents, ", file.display())), "{said}");
    (server, folder, file)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_server_equals_the_original() {
    let (server, folder, file) = backed_up("{}").await;
    assert_eq!(files(folder.path()), ["backup.tar"]);
    let other = Server::start("{limits: {maxBodyBytes: 5000}}").await;
    assert!(std::fs::metadata(&file).unwrap().len() > 5000, "the backup does not exceed limits.maxBodyBytes");
    let (succeeded, said, complained) = restore(&other.url, &file, &[]).await;
    assert!(succeeded, "{complained}");
    assert!(said.ends_with("7 documents restored: a, b\n"), "{said}");
    for index in ["a", "b"] {
        assert_eq!(listed(&other.url, index).await, listed(&server.url, index).await);
        let question = "How long does bread bake?";
        assert_eq!(other.found(index, question, 5).await, server.found(index, question, 5).await);
    }
    // Without --overwrite an existing index stops the whole restore. Indexes outside the backup always stay.
    other.add("c", &FACTS[..1]).await;
    other.delete("/indexes/a").await.ok();
    other.add("b", &FACTS).await;
    let (succeeded, _, complained) = restore(&other.url, &file, &[]).await;
    assert!(!succeeded && complained.contains("'b' exists") && complained.contains("--overwrite"), "{complained}");
    assert_eq!(other.get("/indexes").await.ok(), json!(["b", "c"]));
    assert_eq!(listed(&other.url, "b").await.len(), 5);
    let (succeeded, _, complained) = restore(&other.url, &file, &["--overwrite"]).await;
    assert!(succeeded, "{complained}");
    assert_eq!(other.get("/indexes").await.ok(), json!(["a", "b", "c"]));
    assert_eq!(listed(&other.url, "b").await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_index_of_a_backup_is_restored() {
    let (server, _folder, file) = backed_up("{}").await;
    server.add("a", &[("later", "Added after the backup.")]).await;
    server.add("b", &[("later", "Added after the backup.")]).await;
    let (succeeded, said, complained) = restore(&server.url, &file, &["--overwrite", "--index", "b"]).await;
    assert!(succeeded && said.contains("restored index: b"), "{said}{complained}");
    assert_eq!([listed(&server.url, "a").await.len(), listed(&server.url, "b").await.len()], [FACTS.len() + 1, 2]);
    let (succeeded, _, complained) = restore(&server.url, &file, &["--overwrite", "--index", "c"]).await;
    assert!(!succeeded && complained.contains("there is no index 'c' in the backup"), "{complained}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_server_can_be_backed_up() {
    let server = Server::start("{}").await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("none.tar");
    let (succeeded, said, _) = back_up(&server.url, &file, &[]).await;
    assert!(succeeded && said.contains("0 indexes, 0 documents"), "{said}");
    assert!(restore(&server.url, &file, &[]).await.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_without_an_index_does_not_push_out_others() {
    let (server, folder, file) = backed_up("{}").await;
    let good = "ragengine-20250101T000000Z.tar";
    std::fs::rename(&file, folder.path().join(good)).unwrap();
    for index in ["a", "b"] {
        server.delete(&format!("/indexes/{index}")).await.ok();
    }
    let (succeeded, said, complained) = back_up(&server.url, folder.path(), &["--keep", "1"]).await;
    assert!(succeeded && said.contains("no older backup was deleted"), "{said}{complained}");
    assert_eq!((files(folder.path()).len(), &files(folder.path())[0]), (2, &good.to_owned()));
    // The newest one has no index.
    let (succeeded, said, complained) = restore(&server.url, folder.path(), &[]).await;
    assert!(succeeded && said.contains("7 documents restored: a, b"), "{said}{complained}");
    // A later one supersedes both only once enough have an index.
    for keep in ["2", "1"] {
        tokio::time::sleep(Duration::from_millis(1100)).await;
        assert!(files(folder.path()).contains(&good.to_owned()));
        assert!(back_up(&server.url, folder.path(), &["--keep", keep]).await.0);
    }
    assert_eq!(files(folder.path()).len(), 1);
    std::fs::remove_file(folder.path().join(&files(folder.path())[0])).unwrap();
    let none = Server::start("{}").await;
    assert!(back_up(&none.url, folder.path(), &[]).await.0);
    let (succeeded, _, complained) = restore(&server.url, folder.path(), &[]).await;
    assert!(!succeeded && complained.contains("which has no index"), "{complained}");
}

const WRITERS: usize = 3;

/// Number of documents that are acknowledged before the backup begins.
const BEFORE: usize = 12;

#[test]
fn a_backup_during_writes_is_one_consistent_state() {
    drop(rustls::crypto::ring::default_provider().install_default());
    let (data, empty, folder) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = folder.path().join("backup.tar");
    let server = Process::start(data.path());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (acknowledged, sent) = runtime.block_on(async {
        let acknowledged = watch::Sender::new(BTreeSet::new());
        let is_over = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (acknowledged, is_over) = (acknowledged.clone(), Arc::clone(&is_over));
                tokio::spawn(write(Client::new(&server.url).unwrap(), writer, acknowledged, is_over))
            })
            .collect();
        acknowledged.subscribe().wait_for(|documents: &BTreeSet<String>| documents.len() >= BEFORE).await.unwrap();
        let before = acknowledged.borrow().clone();
        let (succeeded, _, complained) = back_up(&server.url, &file, &[]).await;
        assert!(succeeded, "{complained}");
        is_over.store(true, Ordering::Release);
        let mut sent = Vec::new();
        for writer in writers {
            sent.push(writer.await.unwrap());
        }
        (before, sent)
    });
    drop(server);
    let server = Process::start(empty.path());
    let restored = runtime.block_on(async {
        let (succeeded, _, complained) = restore(&server.url, &file, &[]).await;
        assert!(succeeded, "{complained}");
        listed(&server.url, "busy").await
    });
    let ids: BTreeSet<String> =
        restored.iter().map(|document| document["doc_id"].as_str().unwrap().to_owned()).collect();
    let lost: Vec<_> = acknowledged.difference(&ids).collect();
    assert!(lost.is_empty(), "acknowledged before the backup and not in it: {lost:?}");
    // Each writer sends its documents one after the other, so a consistent state holds a prefix of them.
    for (writer, sent) in sent.iter().enumerate() {
        let there = ids.iter().filter(|id| id.starts_with(&format!("{writer}-"))).count();
        assert!(there <= *sent, "{there} of {sent}");
        assert!((0..there).all(|number| ids.contains(&id(writer, number))), "writer {writer}: {ids:?}");
    }
    for document in &restored {
        assert_eq!(document["text"], text(document["doc_id"].as_str().unwrap()));
    }
}

fn id(writer: usize, number: usize) -> String {
    format!("{writer}-{number:05}")
}

fn text(doc_id: &str) -> String {
    format!("Entry {doc_id} of the ship's log: nothing in sight.")
}

async fn write(
    client: Client,
    writer: usize,
    acknowledged: watch::Sender<BTreeSet<String>>,
    is_over: Arc<AtomicBool>,
) -> usize {
    for number in 0.. {
        if is_over.load(Ordering::Acquire) {
            return number;
        }
        let doc_id = id(writer, number);
        let document = Document { doc_id: Some(doc_id.clone()), text: text(&doc_id), ..Document::default() };
        client.add("busy", vec![document]).await.unwrap();
        acknowledged.send_modify(|documents| documents.extend([doc_id]));
    }
    unreachable!("the loop has no end")
}

/// The URL of a server that answers one request with `reply` and then closes the connection, or keeps it open.
async fn one_reply_server(reply: Vec<u8>, closes: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 1024];
        assert!(stream.read(&mut head).await.unwrap() > 0);
        stream.write_all(&reply).await.unwrap();
        if !closes {
            std::future::pending::<()>().await;
        }
    });
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn an_incomplete_or_damaged_download_never_replaces_a_backup() {
    let (_server, folder, file) = backed_up("{}").await;
    let whole = std::fs::read(&file).unwrap();
    let reply = |bytes: &[u8], length: usize| {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
        [head.as_bytes(), bytes].concat()
    };
    let part = &whole[..whole.len() / 2];
    let mut damaged = whole.clone();
    let place = damaged.windows(4).position(|bytes| bytes == b"purr").unwrap();
    damaged[place] = b'P';
    for (reply, closes, words) in [
        (reply(part, whole.len()), true, "no answer from"),
        (reply(part, part.len()), true, "it is incomplete"),
        (reply(&damaged, damaged.len()), true, "it is damaged"),
        (reply(b"<html>", 6), true, "neither a backup nor"),
        (reply(part, whole.len()), false, "no data arrived for 1 s"),
        (Vec::new(), false, "no data arrived for 1 s"),
    ] {
        let url = one_reply_server(reply, closes).await;
        let (succeeded, _, complained) = back_up(&url, &file, &["--timeout-seconds", "1"]).await;
        assert!(!succeeded && complained.contains(words), "{words}: {complained}");
        // The folder still holds the previous backup and nothing else.
        assert_eq!(
            (files(folder.path()), std::fs::read(&file).unwrap() == whole),
            (vec!["backup.tar".to_owned()], true)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_backup_leaves_no_file() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let url = one_reply_server(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\npart".to_vec(), false).await;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let ended = tokio::task::spawn_blocking(move || {
            let mut command = program();
            command.args(["backup", "--server", &url, "--output"]).arg(path.join("backup.tar")).stderr(Stdio::piped());
            let child = command.spawn().unwrap();
            let begun = || std::fs::read_dir(&path).unwrap().any(|file| file.unwrap().metadata().unwrap().len() > 0);
            while !begun() {
                std::thread::sleep(Duration::from_millis(5));
            }
            rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
            child.wait_with_output().unwrap()
        });
        let ended = ended.await.unwrap();
        let complained = String::from_utf8(ended.stderr).unwrap();
        assert!(!ended.status.success() && complained.contains("stopped by a signal"), "{complained}");
        assert_eq!(files(folder.path()), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_folder_keeps_the_newest_files() {
    let server = Server::start("{}").await;
    server.add("a", &FACTS[..1]).await;
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "ragengine-20250101T000000Z.tar",
        "ragengine-20250102T000000Z.tar",
        "mine.tar",
        ".ragengine-20250103T000000Z.tar.partial",
    ] {
        std::fs::write(folder.path().join(name), "x").unwrap();
    }
    let (succeeded, said, complained) = back_up(&server.url, folder.path(), &["--keep", "2"]).await;
    assert!(succeeded && said.contains("20250101T000000Z.tar: deleted"), "{said}{complained}");
    let left = files(folder.path());
    assert_eq!(
        (left.len(), &left[..2]),
        (3, &["mine.tar".to_owned(), "ragengine-20250102T000000Z.tar".to_owned()][..])
    );
    let (succeeded, said, _) = restore(&server.url, folder.path(), &["--overwrite"]).await;
    assert!(succeeded && said.contains(&left[2]), "{said}");
    // A backup that failed deletes nothing.
    let (succeeded, ..) = back_up("http://127.0.0.1:9", folder.path(), &["--keep", "1"]).await;
    assert!(!succeeded && files(folder.path()) == left);
    let (succeeded, _, complained) = back_up(&server.url, &folder.path().join("x.tar"), &["--keep", "1"]).await;
    assert!(!succeeded && complained.contains("--keep needs a folder"), "{complained}");
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_and_restore_require_the_token() {
    let token = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(token.path(), "right").unwrap();
    let yaml = format!("auth: {{writeToken: {{file: {}}}}}", token.path().display());
    let (_, folder, file) = backed_up("{}").await;
    let server = Server::start(&yaml).await;
    let with_token = ["--token-file", token.path().to_str().unwrap()];
    let new = folder.path().join("new.tar");
    for complained in [back_up(&server.url, &new, &[]).await.2, restore(&server.url, &file, &[]).await.2] {
        assert!(complained.contains("401") && complained.contains("--token-file"), "{complained}");
    }
    assert!(restore(&server.url, &file, &with_token).await.0);
    assert!(!new.exists() && back_up(&server.url, &new, &with_token).await.0);
    let (succeeded, _, complained) = restore("http://127.0.0.1:9", &file, &[]).await;
    assert!(!succeeded && complained.contains("ragengine serve"), "{complained}");
    std::fs::write(&new, "x").unwrap();
    let (succeeded, _, complained) = restore("http://127.0.0.1:9", &new, &[]).await;
    assert!(!succeeded && complained.contains("neither a backup nor"), "{complained}");
}

/// Waits until the server has counted so many copies of this operation and outcome.
async fn wait_until_counted(server: &Server, operation: &str, outcome: &str, times: u32) {
    let line = format!("ragengine_copies_total{{operation=\"{operation}\",outcome=\"{outcome}\"}} {times}\n");
    for _ in 0..3000 {
        if server.get("/metrics").await.text.contains(&line) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the metrics never contained {line}");
}

/// The number of index folders, including those that a restore is still writing.
fn folders(server: &Server) -> usize {
    server.app.settings.data_dir.join("indexes").read_dir().unwrap().count()
}

async fn upload(server: &Server, bytes: &[u8], length: usize) -> TcpStream {
    let mut stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).await.unwrap();
    let head = format!(
        "POST /restore HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-tar\r\n\
         content-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    stream
}

async fn status_of(mut stream: TcpStream) -> String {
    let mut reply = [0; 4096];
    let length = stream.read(&mut reply).await.unwrap();
    String::from_utf8_lossy(&reply[..length]).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_stalled_or_damaged_restore_changes_nothing() {
    let (server, _folder, file) = backed_up("{limits: {bodyTimeoutSeconds: 1}}").await;
    let whole = std::fs::read(&file).unwrap();
    for index in ["a", "b"] {
        server.delete(&format!("/indexes/{index}")).await.ok();
    }
    let part = &whole[..whole.len() / 2];
    drop(upload(&server, part, whole.len()).await);
    wait_until_counted(&server, "restore", "archive_read", 1).await;
    assert_eq!((server.get("/indexes").await.ok(), folders(&server)), (json!([]), 0));
    let silent = status_of(upload(&server, part, whole.len()).await).await;
    assert!(
        silent.starts_with("HTTP/1.1 408")
            && silent.contains("less than 64 KiB of the request body arrived within 1 s"),
        "{silent}"
    );
    let short = status_of(upload(&server, part, part.len()).await).await;
    assert!(short.starts_with("HTTP/1.1 400") && short.contains("it is incomplete"), "{short}");
    let mut damaged = whole.clone();
    let place = damaged.windows(4).position(|bytes| bytes == b"purr").unwrap();
    damaged[place] = b'P';
    server.post_bytes("/restore", damaged).await.error(400);
    let huge = status_of(upload(&server, b"", usize::MAX / 2).await).await;
    assert!(huge.starts_with("HTTP/1.1 507"), "{huge}");
    assert_eq!((server.get("/indexes").await.ok(), folders(&server)), (json!([]), 0));
    assert_eq!(server.post_bytes("/restore", whole.clone()).await.ok(), json!({"indexes": ["a", "b"]}));
    let exists = status_of(upload(&server, part, whole.len()).await).await;
    assert!(exists.starts_with("HTTP/1.1 409"), "the refusal came only after the whole body: {exists}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_client_that_stops_reading_is_cut_off_and_a_third_one_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_in(settings(&data, "{limits: {sendTimeoutSeconds: 1}}")).await;
    server.post_bytes("/restore", large_backup()).await.ok();
    let request = b"GET /backup HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut clients = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).await.unwrap();
        stream.write_all(request).await.unwrap();
        clients.push(stream);
    }
    for stream in &mut clients {
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        assert_eq!(&head, b"HTTP/1.1 200");
    }
    let busy = server.get("/backup").await;
    assert_eq!((busy.status, &busy.headers["retry-after"]), (429, &"5".parse().unwrap()));
    wait_until_counted(&server, "backup", "archive_write", 2).await;
    // The connection breaks, or the body has no final chunk: the client can see that the backup is incomplete.
    let mut rest = Vec::new();
    let read = clients.pop().unwrap().read_to_end(&mut rest).await;
    assert!(read.is_err() || !rest.ends_with(b"0\r\n\r\n"));
    let refused = Client::new(&server.url).unwrap().backup(None).await;
    assert!(!matches!(refused, Err(ClientError::Refused { status: 429, .. })));
}

/// A backup of 40 MiB, which is larger than the buffers between server and client.
pub fn large_backup() -> Vec<u8> {
    let text = "x".repeat(1 << 20);
    let record = IndexRecord {
        model: "m".to_owned(),
        embedding_fingerprint: "f".to_owned(),
        dimensions: 2,
        max_tokens: 100,
        overlap_tokens: 10,
        vector_index: VectorIndexKind::Flat,
    };
    let documents = 40;
    let header = IndexHeader { record, documents, chunks: 0, next_document: documents, next_row: 0, embedding: None };
    let manifest = Manifest::new("data", vec!["large".to_owned()]);
    let mut archive = ArchiveWriter::begin(Vec::new(), &manifest).unwrap();
    archive.index("large", &header).unwrap();
    for number in 0..documents {
        let record = DocumentRecord {
            doc_id: number.to_string(),
            metadata: "{}".to_owned(),
            source: None,
            content_hash: number.to_string(),
            first_row: 0,
            chunks: 0,
            text_bytes: text.len() as u64,
        };
        archive.row(&Row::Document { number, record, text: text.clone(), revision: None }).unwrap();
    }
    archive.end().unwrap()
}
