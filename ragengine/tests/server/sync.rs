//! `ragengine sync` with the real command and server. Only the embedder is scripted, and it counts the texts it gets.

mod broken_sources;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Output;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::embedder::{RemoteEmbedder, reply, words};
use crate::support::process::program;
use crate::support::{Server, settings};

/// A server, and a folder that serves as the source `files`.
struct Bench {
    embedder: RemoteEmbedder,
    server: Server,
    folder: TempDir,
    work: TempDir,
}

impl Bench {
    async fn new() -> Self {
        Self::with(RemoteEmbedder::with_width(64).await).await
    }

    async fn with(embedder: RemoteEmbedder) -> Self {
        let server = Server::start(&embedder.settings("m", "")).await;
        Self::of(embedder, server)
    }

    fn of(embedder: RemoteEmbedder, server: Server) -> Self {
        Self { embedder, server, folder: tempfile::tempdir().unwrap(), work: tempfile::tempdir().unwrap() }
    }

    fn write(&self, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    fn task(&self, owner: &str) -> Value {
        json!({
            "server": self.server.url, "index": "handbook", "owner": owner, "syncId": "1",
            "sources": [{"name": "files", "origin": {"folder": {"path": self.folder.path()}}}],
        })
    }

    /// Runs the command on a blocking thread, so that the server in this process can answer it.
    async fn run(&self, task: &Value) -> Output {
        let mut command = self.command(task);
        tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
    }

    fn command(&self, task: &Value) -> std::process::Command {
        let file = self.work.path().join("task.yaml");
        fs::write(&file, task.to_string()).unwrap();
        let mut command = program();
        command.arg("sync").arg("--task").arg(file).arg("--work-folder").arg(self.work.path());
        command
    }

    /// Runs the command, which must succeed, and returns its trimmed output.
    async fn sync(&self, task: &Value) -> String {
        let output = self.run(task).await;
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).trim().to_owned()
    }

    /// The ids of all documents of the index.
    async fn documents(&self) -> BTreeSet<String> {
        let list = self.server.get("/indexes/handbook/documents?limit=100").await.ok();
        list["documents"]
            .as_array()
            .unwrap()
            .iter()
            .map(|document| document["doc_id"].as_str().unwrap().to_owned())
            .collect()
    }

    async fn record(&self, source: &str) -> Value {
        self.server.get(&format!("/indexes/handbook/sources/{source}")).await.ok()["sync"].clone()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn set(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

#[tokio::test]
async fn an_index_is_an_exact_copy_after_every_change() {
    let bench = Bench::new().await;
    let task = bench.task("o");
    bench.write(&[
        ("a.md", "# Ships\n\nA ship left."),
        ("b/c.txt", "Trains run."),
        ("d.txt", "Planes fly."),
        ("e.exe", "x"),
    ]);
    assert_eq!(bench.sync(&task).await, "files: 3 sent, 0 deleted, 0 files with errors");
    assert_eq!(bench.documents().await, set(&["o.files/a.md", "o.files/b/c.txt", "o.files/d.txt"]));
    let first = bench.record("o.files").await;
    assert_eq!((&first["phase"], &first["done"], &first["total"]), (&json!("complete"), &json!(3), &json!(3)));
    let embedded = bench.embedder.embedded();

    assert_eq!(bench.sync(&task).await, "files: 0 sent, 0 deleted, 0 files with errors", "nothing has changed");
    assert_eq!(bench.record("o.files").await["revision"], first["revision"]);

    fs::create_dir(bench.folder.path().join("moved")).unwrap();
    fs::rename(bench.folder.path().join("b/c.txt"), bench.folder.path().join("moved/c.txt")).unwrap();
    assert_eq!(bench.sync(&task).await, "files: 1 sent, 1 deleted, 0 files with errors");
    assert_eq!(bench.documents().await, set(&["o.files/a.md", "o.files/moved/c.txt", "o.files/d.txt"]));
    assert_eq!(bench.embedder.embedded(), embedded, "a rename embeds nothing");
    assert_ne!(bench.record("o.files").await["revision"], first["revision"]);

    bench.write(&[("d.txt", "Balloons rise."), ("f.txt", "Bicycles roll.")]);
    fs::remove_file(bench.folder.path().join("a.md")).unwrap();
    assert_eq!(bench.sync(&task).await, "files: 2 sent, 1 deleted, 0 files with errors");
    assert_eq!(bench.documents().await, set(&["o.files/moved/c.txt", "o.files/d.txt", "o.files/f.txt"]));
    assert_eq!(bench.embedder.embedded(), embedded + 2);
    assert_eq!(bench.server.found("handbook", "Balloons rise", 1).await, ["o.files/d.txt"]);
}

#[tokio::test]
async fn rows_are_documents_and_leave_one_by_one() {
    let bench = Bench::new().await;
    let task = bench.task("o");
    bench.write(&[
        ("faq.csv", "id,question,answer\nopen,When open?,At nine.\nshut,When shut?,At five.\n"),
        ("log.jsonl", "{\"id\": \"x\", \"text\": \"One.\"}\n{\"text\": \"Two.\", \"title\": \"Second\"}\n"),
    ]);
    assert_eq!(bench.sync(&task).await, "files: 4 sent, 0 deleted, 0 files with errors");
    let expected = set(&["o.files/faq.csv#open", "o.files/faq.csv#shut", "o.files/log.jsonl#x", "o.files/log.jsonl#2"]);
    assert_eq!(bench.documents().await, expected);
    assert_eq!(bench.sync(&task).await, "files: 0 sent, 0 deleted, 0 files with errors");
    bench.write(&[("faq.csv", "id,question,answer\nshut,When shut?,At five.\n")]);
    let embedded = bench.embedder.embedded();
    assert!(bench.sync(&task).await.contains("1 deleted"));
    assert_eq!(bench.documents().await, set(&["o.files/faq.csv#shut", "o.files/log.jsonl#x", "o.files/log.jsonl#2"]));
    assert_eq!(bench.embedder.embedded(), embedded);
    bench.write(&[("log.jsonl", "{\"id\": \"x\", \"text\": \"One.\"}\nnot json\n")]);
    assert!(bench.sync(&task).await.contains("1 files with errors"));
    let errors = bench.record("o.files").await["errors"].clone();
    assert_eq!(errors[0]["path"], "log.jsonl");
    assert!(errors[0]["message"].as_str().unwrap().contains("line 2"), "{errors}");
    assert!(bench.sync(&task).await.contains("1 files with errors"), "the error is reported again");
}

#[tokio::test]
async fn a_bad_file_does_not_stop_the_others() {
    let bench = Bench::new().await;
    bench.write(&[
        ("good.md", "# Good\n\nIt is good."),
        ("empty.md", ""),
        ("broken.pdf", "%PDF-1.7\nnothing"),
        ("latin.txt", "x"),
    ]);
    fs::write(bench.folder.path().join("latin.txt"), b"caf\xe9 and more").unwrap();
    fs::write(bench.folder.path().join("long.txt"), "word ".repeat(600_000)).unwrap();
    fs::File::create(bench.folder.path().join("huge.txt")).unwrap().set_len(200 << 20).unwrap();
    symlink("/etc/passwd", bench.folder.path().join("passwd.txt")).unwrap();
    symlink("/etc", bench.folder.path().join("etc")).unwrap();
    let task = bench.task("o");
    assert_eq!(bench.sync(&task).await, "files: 1 sent, 0 deleted, 4 files with errors");
    assert_eq!(bench.documents().await, set(&["o.files/good.md"]));
    let record = bench.record("o.files").await;
    let errors: Vec<&str> =
        record["errors"].as_array().unwrap().iter().map(|error| error["path"].as_str().unwrap()).collect();
    assert_eq!(errors, ["broken.pdf", "huge.txt", "latin.txt", "long.txt"]);
    assert!(record["revision"].is_string(), "unreadable files are part of the revision: {record}");
}

#[tokio::test]
async fn the_deletion_of_most_of_a_source_is_held_back() {
    let bench = Bench::new().await;
    let mut task = bench.task("o");
    bench.write(&[("a.txt", "one"), ("b.txt", "two"), ("c.txt", "three")]);
    bench.sync(&task).await;
    let revision = bench.record("o.files").await["revision"].clone();
    for name in ["a.txt", "b.txt"] {
        fs::remove_file(bench.folder.path().join(name)).unwrap();
    }
    bench.write(&[("new.txt", "four")]);
    assert!(bench.sync(&task).await.contains("1 sent, 0 deleted, 0 files with errors, 2 held back"));
    assert_eq!(bench.documents().await.len(), 4);
    let record = bench.record("o.files").await;
    assert_eq!((&record["held_back"], &record["revision"]), (&json!(2), &revision));
    // Two of four files is not more than half, but it is still the same accident.
    bench.write(&[("new.txt", "four and a half")]);
    assert!(bench.sync(&task).await.contains("1 sent, 0 deleted, 0 files with errors, 2 held back"));
    let confirmation = &bench.record("o.files").await["confirmation"];
    assert_eq!(confirmation, &record["confirmation"], "the same deletion has the same confirmation");
    // A confirmation is only valid for the deletion it was issued for. Here another file is deleted before it is used.
    task["confirmations"] = json!([record["confirmation"]]);
    fs::remove_file(bench.folder.path().join("c.txt")).unwrap();
    assert!(bench.sync(&task).await.contains("0 sent, 0 deleted, 0 files with errors, 3 held back"));
    task["confirmations"] = json!([bench.record("o.files").await["confirmation"]]);
    assert!(bench.sync(&task).await.contains("3 deleted"));
    assert_eq!(bench.documents().await, set(&["o.files/new.txt"]));
}

#[tokio::test]
async fn a_truncated_file_keeps_its_documents_until_the_deletion_is_confirmed() {
    let bench = Bench::new().await;
    let mut task = bench.task("o");
    let rows =
        |count: usize| (1..=count).map(|row| format!("{row},Question {row}?,Answer {row}.\n")).collect::<String>();
    let lines = |count: usize| {
        (1..=count).map(|row| format!("{{\"id\": \"{row}\", \"text\": \"Line {row}.\"}}\n")).collect::<String>()
    };
    let whole = [
        ("a.md", "# A\n\nIt is here.".to_owned()),
        ("b.txt", "It is here, too.".to_owned()),
        ("c.txt", "And so is this.".to_owned()),
        ("faq.csv", format!("id,question,answer\n{}", rows(4))),
        ("log.jsonl", lines(4)),
    ];
    let write = |files: &[(&str, String)]| files.iter().for_each(|(path, text)| bench.write(&[(path, text)]));
    write(&whole);
    assert_eq!(bench.sync(&task).await, "files: 11 sent, 0 deleted, 0 files with errors");
    let all = bench.documents().await;
    let cut = lines(4);
    write(&[
        ("a.md", String::new()),
        ("faq.csv", "id,question,answer\n".to_owned()),
        ("log.jsonl", cut[..cut.len() - 10].to_owned()),
    ]);
    let said = bench.sync(&task).await;
    // The three whole lines are sent again, because the revision of their file has changed.
    assert!(said.starts_with("files: 3 sent, 0 deleted, 3 files with errors, 6 held back"), "{said}");
    assert_eq!(bench.documents().await, all, "documents of truncated files are kept");
    let record = bench.record("o.files").await;
    let paths: Vec<_> =
        record["errors"].as_array().unwrap().iter().map(|error| error["path"].as_str().unwrap()).collect();
    assert_eq!(paths.iter().copied().collect::<BTreeSet<_>>(), BTreeSet::from(["a.md", "faq.csv", "log.jsonl"]));
    assert!(record["errors"].to_string().contains("may be truncated"), "{record}");
    assert_eq!(bench.sync(&task).await, said.replace("3 sent", "0 sent"), "the next run reports the same");

    write(&whole);
    assert!(bench.sync(&task).await.ends_with("0 deleted, 0 files with errors"));
    assert_eq!(bench.documents().await, all, "nothing was lost");
    write(&[("faq.csv", "id,question,answer\n".to_owned())]);
    bench.sync(&task).await;
    task["confirmations"] = json!([bench.record("o.files").await["confirmation"]]);
    assert_eq!(bench.sync(&task).await, "files: 0 sent, 4 deleted, 0 files with errors");
    assert_eq!(bench.documents().await.len(), 7);
}

#[tokio::test]
async fn a_renamed_source_is_deleted_once_its_successor_was_read() {
    let bench = Bench::new().await;
    let mut task = bench.task("o");
    bench.write(&[("a.txt", "one"), ("b.txt", "two")]);
    bench.sync(&task).await;
    let old = set(&["o.files/a.txt", "o.files/b.txt"]);

    task["sources"][0] = json!({"name": "new", "origin": {"folder": {"path": "/no/such/folder"}}});
    assert!(!bench.run(&task).await.status.success());
    assert_eq!(bench.documents().await, old, "its successor could not be read, so it stays");
    let record = bench.record("o.files").await;
    assert_eq!(record["held_back"], 2, "{record}");
    assert!(record["message"].as_str().unwrap().contains("once every other source was read"), "{record}");

    let other = tempfile::tempdir().unwrap();
    task["sources"][0]["origin"]["folder"]["path"] = json!(other.path());
    let said = bench.sync(&task).await;
    assert!(said.contains("2 documents held back (confirmations: [files@"), "{said}");
    assert_eq!(bench.documents().await, old, "its successor is empty, so it stays");

    task["confirmations"] = json!(["new@000000000000"]);
    bench.sync(&task).await;
    assert_eq!(bench.documents().await, old, "an unknown confirmation confirms nothing");
    task["confirmations"] = json!([bench.record("o.files").await["confirmation"]]);
    assert!(bench.sync(&task).await.contains("removed sources: 2 documents deleted"));
    assert_eq!(bench.documents().await, set(&[]));
}

#[tokio::test]
async fn a_page_that_does_not_exist_is_an_error() {
    let bench = Bench::new().await;
    let mut task = bench.task("o");
    task["allowedRanges"] = json!(["127.0.0.1"]);
    let url = format!("{}/no-such-page", bench.server.url);
    task["sources"] = json!([{"name": "web", "origin": {"http": {"urls": [url]}}}]);
    assert_eq!(bench.sync(&task).await, "web: 0 sent, 0 deleted, 1 files with errors");
    let record = bench.record("o.web").await;
    assert!(record["errors"][0]["message"].as_str().unwrap().contains("does not exist"), "{record}");
    assert_eq!(record["revision"], Value::Null, "{record}");
}

#[tokio::test]
async fn an_owner_changes_only_its_own_documents() {
    let bench = Bench::new().await;
    bench.write(&[("a.txt", "one"), ("b.txt", "two")]);
    bench.server.add("handbook", &[("by-hand", "put in by hand")]).await;
    bench.sync(&bench.task("o")).await;
    bench.sync(&bench.task("o-2")).await;
    let all = set(&["by-hand", "o.files/a.txt", "o.files/b.txt", "o-2.files/a.txt", "o-2.files/b.txt"]);
    assert_eq!(bench.documents().await, all);
    let mut renamed = bench.task("o");
    renamed["sources"][0]["name"] = json!("other");
    bench.sync(&renamed).await;
    let now = set(&["by-hand", "o.other/a.txt", "o.other/b.txt", "o-2.files/a.txt", "o-2.files/b.txt"]);
    assert_eq!(bench.documents().await, now, "a source that is not named any more is deleted");
    let mut nothing = bench.task("o");
    nothing["sources"] = json!([]);
    assert_eq!(bench.sync(&nothing).await, "removed sources: 2 documents deleted");
    assert_eq!(bench.documents().await, set(&["by-hand", "o-2.files/a.txt", "o-2.files/b.txt"]));
    nothing["index"] = json!("no-such-index");
    assert_eq!(bench.sync(&nothing).await, "", "nothing is deleted, and no index is created");
    assert_eq!(bench.server.get("/indexes").await.ok(), json!(["handbook"]));
}

#[tokio::test]
async fn a_killed_synchronisation_is_finished_by_the_next() {
    // Embedding is slow enough that the first run is killed in the middle of it.
    let embedder = RemoteEmbedder::scripted(|inputs| {
        std::thread::sleep(Duration::from_millis(2 * inputs.len() as u64));
        reply(&inputs, |text| words(text, 64))
    })
    .await;
    let bench = Bench::with(embedder).await;
    for number in 0..400 {
        bench.write(&[(&format!("{number:03}.txt"), &format!("This is file {number}."))]);
    }
    let task = bench.task("o");
    let mut child =
        bench.command(&task).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    while bench.embedder.embedded() < 100 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // The next run has the same sync id, like a retried Job, so it holds the lease already.
    let output = bench.sync(&task).await;
    assert!(!output.starts_with("files: 400 sent") && output.contains("0 files with errors"), "{output}");
    let record = bench.record("o.files").await;
    assert_eq!((&record["phase"], &record["done"]), (&json!("complete"), &json!(400)));
    assert_eq!(bench.server.get("/indexes/handbook").await.ok()["documents"], 400);
    assert_eq!(bench.sync(&task).await, "files: 0 sent, 0 deleted, 0 files with errors");
}

#[tokio::test]
async fn a_source_that_cannot_be_reached_fails_and_the_others_do_not() {
    let bench = Bench::new().await;
    bench.write(&[("a.txt", "one")]);
    let mut task = bench.task("o");
    let missing = json!({"name": "missing", "origin": {"folder": {"path": "/no/such/folder"}}});
    task["sources"].as_array_mut().unwrap().insert(0, missing);
    let output = bench.run(&task).await;
    assert!(!output.status.success());
    assert!(text(&output.stdout).contains("missing: not synchronised"), "{}", text(&output.stdout));
    assert_eq!(bench.documents().await, set(&["o.files/a.txt"]));
    let record = bench.record("o.missing").await;
    assert_eq!(record["phase"], "failed");
    assert!(record["message"].as_str().unwrap().contains("folder"), "{record}");
}

#[tokio::test]
async fn an_invalid_task_is_refused_with_its_reason() {
    let bench = Bench::new().await;
    let cases: [(Value, &str); 4] = [
        (json!({"sources": []}), "server"),
        (
            {
                let mut task = bench.task("o");
                task["indx"] = json!("x");
                task
            },
            "indx",
        ),
        (
            {
                let mut task = bench.task("o");
                task["sources"][0]["include"] = json!(["[z-a"]);
                task
            },
            "[z-a",
        ),
        (
            {
                let mut task = bench.task("o");
                task["settings"] = json!({"maxTokens": 3});
                task
            },
            "maxTokens",
        ),
    ];
    for (task, words) in cases {
        let output = bench.run(&task).await;
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(!output.status.success() && said.contains(words), "{words}: {said}");
    }
}

#[tokio::test]
async fn inline_texts_become_documents_and_loopback_pages_are_refused() {
    let bench = Bench::new().await;
    let mut task = bench.task("o");
    task["sources"] = json!([
        {"name": "here", "metadata": {"team": "platform"},
         "origin": {"inline": {"documents": [{"path": "a.md", "text": "---\ntitle: Holidays\n---\n\nThirty days."}]}}},
        {"name": "web", "origin": {"http": {"urls": [format!("{}/docs.html", bench.server.url)]}}},
    ]);
    let output = bench.run(&task).await;
    let said = text(&output.stdout);
    assert!(said.contains("here: 1 sent"), "{said}");
    // The server listens on the loopback interface, which is not an allowed range.
    let record = bench.record("o.web").await;
    assert!(record.to_string().contains("allowedRanges"), "{record}");
    let list = bench.server.get("/indexes/handbook/documents").await.ok();
    let metadata = &list["documents"][0]["metadata"];
    let expected = json!({"title": "Holidays", "path": "a.md", "team": "platform", "split_type": "markdown"});
    assert_eq!(
        metadata.as_object().unwrap().iter().collect::<std::collections::BTreeMap<_, _>>(),
        expected.as_object().unwrap().iter().collect::<std::collections::BTreeMap<_, _>>()
    );
}

#[tokio::test]
async fn a_document_that_takes_too_long_to_split_is_named_by_its_path() {
    let (embedder, data) = (RemoteEmbedder::with_width(64).await, tempfile::tempdir().unwrap());
    let mut settings = settings(&data, &embedder.settings("m", ""));
    // With a limit of 0, which a settings file could not set, every document takes too long.
    settings.limits.cut_timeout_seconds = 0;
    let bench = Bench::of(embedder, Server::start_in(settings).await);
    bench.write(&[("a.md", "# Ships\n\nA ship left."), ("b.txt", "Trains run.")]);
    let (task, embedded) = (bench.task("o"), bench.embedder.embedded());
    for _ in 0..2 {
        assert_eq!(bench.sync(&task).await, "files: 0 sent, 0 deleted, 2 files with errors");
        let record = bench.record("o.files").await;
        let errors = record["errors"].as_array().unwrap();
        assert_eq!((&errors[0]["path"], &errors[1]["path"]), (&json!("a.md"), &json!("b.txt")));
        assert!(errors[0]["message"].as_str().unwrap().contains("limits.cutTimeoutSeconds"), "{record}");
        assert_eq!(record["revision"], Value::Null, "the index does not hold what the server refused");
    }
    assert_eq!(bench.embedder.embedded(), embedded);
}

#[tokio::test]
async fn a_task_of_another_synchronisation_is_refused() {
    let bench = Bench::new().await;
    bench.write(&[("a.md", "one")]);
    let mut command = bench.command(&bench.task("team"));
    command.env("RAGENGINE_SYNC_ID", "2");
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("has the id '1', expected '2'"), "{}", text(&output.stderr));
    assert_eq!(bench.server.get("/indexes").await.ok(), json!([]));
}

#[tokio::test]
async fn sources_use_the_proxy_of_the_environment() {
    let bench = Bench::new().await;
    let mut task = bench.task("team");
    task["sources"] = json!([{"name": "pages", "origin": {"http": {"urls": ["http://docs.invalid/a.md"]}}}]);
    let run = |proxy: &'static str| {
        let mut command = bench.command(&task);
        command.env("HTTP_PROXY", proxy);
        tokio::task::spawn_blocking(move || command.output().unwrap())
    };
    let output = run("socks5://127.0.0.1:1").await.unwrap();
    let words = "HTTP_PROXY is invalid: it must be http:// or https:// with a host";
    assert!(!output.status.success() && text(&output.stderr).contains(words), "{}", text(&output.stderr));
    // A proxy must not be at an address that sources may not use.
    run("127.0.0.1:1").await.unwrap();
    let record = bench.record("team.pages").await;
    let error = record["errors"][0]["message"].as_str().unwrap_or_default();
    assert!(error.contains("127.0.0.1 are not allowed because it is a loopback address"), "{record}");
}

/// Documents that are held back belong to their owner like all others, so its current policy applies to them.
#[tokio::test]
async fn the_policy_of_a_held_back_source_can_change() {
    let bench = Bench::new().await;
    let sources = |names: &[&str]| -> Value {
        let source = |name: &&str| {
            let documents: Vec<_> =
                (0..4).map(|n| json!({"path": format!("{n}.md"), "text": format!("{name} {n}")})).collect();
            json!({"name": name, "origin": {"inline": {"documents": documents}}})
        };
        names.iter().map(source).collect()
    };
    let run = |names: &[&str], uid: &'static str, when_gone: &'static str| {
        let mut task = bench.task("team");
        task["sources"] = sources(names);
        let mut command = bench.command(&task);
        command.args(["--owner-uid", uid, "--owner-scope", "volume", "--when-owner-is-gone", when_gone]);
        tokio::task::spawn_blocking(move || command.output().unwrap())
    };
    let documents = async || bench.documents().await.len();
    run(&["a", "b", "c"], "first", "delete").await.unwrap();
    assert_eq!(documents().await, 12);
    let output = run(&["a"], "first", "retain").await.unwrap();
    assert_eq!(documents().await, 12, "the deletion of most documents is held back: {}", text(&output.stdout));
    assert_eq!(
        bench.server.get("/status").await.ok()["owners"],
        Value::Null,
        "no owner's documents are deleted with it"
    );
    // A run with the outdated policy deletes nothing either.
    run(&[], "first", "delete").await.unwrap();
    assert_eq!(documents().await, 12);
    // Another owner of the same name takes over the sources.
    run(&["a", "b", "c"], "first", "delete").await.unwrap();
    run(&["a", "b", "c"], "second", "retain").await.unwrap();
    run(&["a", "b", "c", "d"], "first", "delete").await.unwrap();
    run(&["a", "b", "c"], "second", "delete").await.unwrap();
    run(&[], "first", "delete").await.unwrap();
    assert_eq!(documents().await, 12, "documents of the second owner stay");
    run(&[], "second", "delete").await.unwrap();
    assert_eq!(documents().await, 0);
}

/// The operator finds the owners in the status of the server and deletes the documents of those that are gone.
#[tokio::test]
async fn the_status_lists_owners_whose_documents_are_deleted_with_them() {
    let bench = Bench::new().await;
    bench.write(&[("a.md", "one")]);
    let owned = |uid: &'static str, when_gone: &'static str| {
        let mut command = bench.command(&bench.task("team"));
        command.args(["--owner-uid", uid, "--owner-scope", "volume", "--when-owner-is-gone", when_gone]);
        tokio::task::spawn_blocking(move || assert!(command.output().unwrap().status.success()))
    };
    let owners = async || bench.server.get("/status").await.ok().get("owners").cloned().unwrap_or_default();
    bench.sync(&bench.task("team")).await;
    assert_eq!(owners().await, Value::Null);
    owned("first", "delete").await.unwrap();
    let expected = |uid: &str| json!([{"index": "handbook", "name": "team", "uid": uid, "scope": "volume"}]);
    assert_eq!(owners().await, expected("first"));
    // A run without an owner changes nothing.
    bench.sync(&bench.task("team")).await;
    owned("second", "delete").await.unwrap();
    assert_eq!(owners().await, expected("second"));
    owned("second", "retain").await.unwrap();
    assert_eq!(owners().await, Value::Null);
    owned("second", "delete").await.unwrap();
    let mut everything = bench.task("team");
    everything["sources"] = json!([]);
    bench.run(&everything).await;
    assert_eq!(owners().await, Value::Null, "an owner without documents is not listed");
}
