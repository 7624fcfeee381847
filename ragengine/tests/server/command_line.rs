use std::fs;
use std::path::Path;
use std::process::Output;

use crate::support::Server;
use crate::support::process::program;

fn run(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        fs::write(folder.join(path), text).unwrap();
    }
}

async fn ingest(server: &Server, folder: &Path, more: &[&str]) -> (bool, String, String) {
    ingest_with(server, folder, more, &[]).await
}

/// Runs the program on a blocking thread, so that the server in this process can answer it. Returns whether it
/// succeeded, its standard output and its standard error.
async fn ingest_with(
    server: &Server,
    folder: &Path,
    more: &[&str],
    environment: &[(&str, &str)],
) -> (bool, String, String) {
    let mut command = program();
    command.arg("ingest").arg(folder).args(["--index", "files", "--source", "book", "--server", &server.url]);
    command.args(more).envs(environment.iter().copied());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn help_names_every_command() {
    let output = run(&["--help"]);
    for command in ["serve", "ingest", "backup", "restore", "check-config", "openapi"] {
        assert!(text(&output.stdout).contains(command), "{command}");
    }
    assert!(text(&run(&["ingest", "--help"]).stdout).contains("--delete-missing"));
    assert!(text(&run(&["--version"]).stdout).contains("ragengine 0.1.0"));
}

#[test]
fn settings_are_checked_without_starting_anything() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.yaml");
    let check = |yaml: &str| {
        fs::write(&file, yaml).unwrap();
        run(&["check-config", "--config", file.to_str().unwrap()])
    };
    let fine = check("listen: 127.0.0.1:5055\ndataDir: /tmp/x\n");
    assert!(fine.status.success() && text(&fine.stdout).contains("127.0.0.1:5055"));
    for (yaml, words) in [
        ("lisen: 127.0.0.1:1", "lisen"),
        ("log: {level: 'info,=,='}", "log.level"),
        ("retrieval: {contextTokenRatio: 0.9}", "between 0.2 and 0.8"),
        ("inferenceService: {url: 'http://127.0.0.1:9', apiKey: {env: UNSET_VARIABLE}}", "UNSET_VARIABLE"),
        ("inferenceService: {url: 'http://127.0.0.1:9', tokenizer: /nowhere}", "/nowhere"),
        ("embedding: {remote: {url: 'http://e', model: m, apiKey: {file: /nowhere/key}}}", "/nowhere/key"),
        (
            "auth: {writeToken: {file: /nowhere/token}}",
            "auth.writeToken: the secret file /nowhere/token cannot be read",
        ),
        ("auth: {writeToken: {env: UNSET_VARIABLE}}", "UNSET_VARIABLE"),
        ("auth: {writeToken: {file: /dev/null}}", "the secret file /dev/null is empty"),
        ("embedding: {local: {modelID: a/b}, remote: {url: 'http://e', model: m}}", "keep one"),
    ] {
        let refused = check(yaml);
        assert!(
            !refused.status.success() && text(&refused.stderr).contains(words),
            "{yaml}: {}",
            text(&refused.stderr)
        );
    }
    let missing = run(&["check-config", "--config", "/nowhere.yaml"]);
    assert!(!missing.status.success() && text(&missing.stderr).contains("/nowhere.yaml"));
}

#[test]
fn a_missing_secret_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.yaml");
    for (settings, words) in [
        ("inferenceService: {url: 'http://127.0.0.1:9', apiKey: {file: /nowhere/key}}", "/nowhere/key"),
        ("auth: {writeToken: {file: /nowhere/token}}", "/nowhere/token"),
    ] {
        fs::write(&file, settings).unwrap();
        let output = program()
            .args(["serve", "--config", file.to_str().unwrap()])
            .env("DATA_DIR", folder.path())
            .env("LISTEN", "127.0.0.1:0")
            .output();
        let output = output.unwrap();
        assert!(!output.status.success() && text(&output.stderr).contains(words), "{}", text(&output.stderr));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_ingest_sends_only_what_changed() {
    let server = Server::start("{}").await;
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        &[("a.md", "# Alpha\n\nThe first letter."), ("b.txt", "The second letter."), ("c.rs", "fn gamma() {}")],
    );
    assert_eq!(ingest(&server, folder.path(), &[]).await.1, "files: 3 sent, 0 unchanged, 0 deleted\n");
    assert_eq!(ingest(&server, folder.path(), &[]).await.1, "files: 0 sent, 3 unchanged, 0 deleted\n");
    write(folder.path(), &[("b.txt", "The second letter is beta.")]);
    fs::remove_file(folder.path().join("c.rs")).unwrap();
    let (_, said, _) = ingest(&server, folder.path(), &[]).await;
    assert!(
        said.starts_with("files: 1 sent, 1 unchanged, 0 deleted\n")
            && said.contains("1 documents of this source no longer have a file"),
        "{said}"
    );
    assert_eq!(server.get("/indexes/files").await.ok()["documents"], 3);
    assert_eq!(
        ingest(&server, folder.path(), &["--delete-missing"]).await.1,
        "files: 0 sent, 2 unchanged, 1 deleted\n"
    );
    let listed = server.get("/indexes/files/documents").await.ok();
    assert_eq!(listed["total_items"], 2);
    assert_eq!(
        (&listed["documents"][0]["doc_id"], &listed["documents"][0]["metadata"]["title"]),
        (&"book/a.md".into(), &"Alpha".into())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_file_does_not_stop_the_others_and_is_named() {
    let server = Server::start("{}").await;
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("good.txt", "Good."), ("empty.txt", " ")]);
    fs::write(folder.path().join("binary.txt"), [0xff, 0xfe]).unwrap();
    let (succeeded, said, complained) = ingest(&server, folder.path(), &[]).await;
    assert!(!succeeded && said.contains("1 sent"), "{said}");
    assert!(
        complained.contains("binary.txt: the file is not UTF-8 text")
            && complained.contains("empty.txt: the file is empty"),
        "{complained}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ingest_sends_the_token() {
    let secrets = tempfile::tempdir().unwrap();
    write(secrets.path(), &[("token", "right\n"), ("wrong", "wrong")]);
    let [right, wrong] = ["token", "wrong"].map(|name| secrets.path().join(name).display().to_string());
    let server = Server::start(&format!("auth: {{writeToken: {{file: {right}}}, writeTokenSource: the safe}}")).await;
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("a.txt", "x")]);
    for (more, environment) in [
        (vec![], vec![]),
        (vec!["--token-file", wrong.as_str()], vec![("RAGENGINE_WRITE_TOKEN", "right")]),
        (vec![], vec![("RAGENGINE_WRITE_TOKEN", "wrong")]),
    ] {
        let (succeeded, _, complained) = ingest_with(&server, folder.path(), &more, &environment).await;
        assert!(
            !succeeded && complained.contains("401") && complained.contains("The token is in the safe"),
            "{complained}"
        );
        assert!(complained.contains("--token-file") && complained.contains("RAGENGINE_WRITE_TOKEN"), "{complained}");
    }
    let (_, _, complained) = ingest(&server, folder.path(), &["--token-file", "/nowhere"]).await;
    assert!(complained.contains("/nowhere"), "{complained}");
    let (_, said, _) = ingest_with(&server, folder.path(), &[], &[("RAGENGINE_WRITE_TOKEN", "right")]).await;
    assert_eq!(said, "files: 1 sent, 0 unchanged, 0 deleted\n");
    fs::remove_file(folder.path().join("a.txt")).unwrap();
    write(folder.path(), &[("b.txt", "y")]);
    let (_, said, _) = ingest(&server, folder.path(), &["--token-file", &right, "--delete-missing"]).await;
    assert_eq!(said, "files: 1 sent, 0 unchanged, 1 deleted\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_ingest_without_the_token_reports_the_401() {
    let token = tempfile::NamedTempFile::new().unwrap();
    fs::write(token.path(), "right").unwrap();
    let server = Server::start(&format!("auth: {{writeToken: {{file: {}}}}}", token.path().display())).await;
    let folder = tempfile::tempdir().unwrap();
    let text = "All work and no play makes a dull document. ".repeat(40_000);
    write(folder.path(), &[("large.txt", &text)]);
    for _ in 0..20 {
        let (_, _, complained) = ingest(&server, folder.path(), &[]).await;
        assert!(complained.contains("401"), "{complained}");
    }
}

#[test]
fn an_ingest_without_a_server_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("a.txt", "x")]);
    let output = run(&["ingest", folder.path().to_str().unwrap(), "--index", "i", "--server", "http://127.0.0.1:9"]);
    assert!(!output.status.success() && text(&output.stderr).contains("ragengine serve"), "{}", text(&output.stderr));
    let output = run(&["ingest", "/nowhere", "--index", "i"]);
    assert!(text(&output.stderr).contains("/nowhere"));
}
