use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ragengine_guardrails::PolicyFile;

const FIRST: &str = "blockMessage: first\nscanners: [{type: secrets}]\n";
const SECOND: &str = "blockMessage: second\nscanners: [{type: secrets}, {type: sensitive}]\n";

fn message(file: &PolicyFile) -> Result<String, String> {
    file.current().map(|policy| policy.block_message().to_owned()).map_err(|problem| problem.kind().to_owned())
}

/// A file in its own folder.
fn file(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("guardrails.yaml");
    fs::write(&path, text).unwrap();
    (folder, path)
}

#[test]
fn the_policy_is_read_at_the_start() {
    let (_folder, path) = file(FIRST);
    let file = PolicyFile::open(&path);
    assert_eq!(message(&file), Ok("first".to_owned()));
    assert!(!file.refresh());
}

#[test]
fn a_change_is_taken_over() {
    let (_folder, path) = file(FIRST);
    let file = PolicyFile::open(&path);
    let before = file.current().unwrap();
    fs::write(&path, SECOND).unwrap();
    assert!(file.refresh());
    assert_eq!(message(&file), Ok("second".to_owned()));
    assert_eq!(file.current().unwrap().scanners().len(), 2);
    // Answers that have begun keep their policy.
    assert_eq!(before.block_message(), "first");
    assert_ne!(before.id(), file.current().unwrap().id());
}

#[test]
fn the_same_contents_change_nothing() {
    let (_folder, path) = file(FIRST);
    let file = PolicyFile::open(&path);
    let before = file.current().unwrap();
    fs::write(&path, FIRST).unwrap();
    assert!(!file.refresh());
    assert!(Arc::ptr_eq(&before, &file.current().unwrap()));
}

#[test]
fn without_a_valid_policy_there_is_none() {
    let (_folder, path) = file(FIRST);
    let file = PolicyFile::open(&path);
    fs::write(&path, "scanners: [unclosed\n").unwrap();
    assert!(file.refresh());
    assert_eq!(message(&file), Err("yaml".to_owned()));
    // A problem that stays is no change, and is not logged again.
    assert!(!file.refresh());
    fs::write(&path, "scanners: [{type: toxicity}]").unwrap();
    assert!(file.refresh());
    assert_eq!(message(&file), Err("scanner".to_owned()));
    assert!(file.current().unwrap_err().to_string().contains("guardrails.yaml is invalid: scanners[0] (toxicity)"));
    fs::remove_file(&path).unwrap();
    assert!(file.refresh());
    assert!(!file.refresh());
    assert_eq!(message(&file), Err("missing".to_owned()));
    fs::write(&path, SECOND).unwrap();
    assert!(file.refresh());
    assert_eq!(message(&file), Ok("second".to_owned()));
}

#[test]
fn a_missing_or_unreadable_file() {
    let file = PolicyFile::open("/nonexistent/guardrails.yaml");
    assert_eq!(message(&file), Err("missing".to_owned()));
    assert!(file.current().unwrap_err().to_string().contains("create it, or disable guardrails"));
    assert_eq!(message(&PolicyFile::open("")), Err("missing".to_owned()));
    assert_eq!(message(&PolicyFile::open("/")), Err("unreadable".to_owned()));
    let (_folder, path) = self::file("");
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert_eq!(message(&PolicyFile::open(&path)), Err("unreadable".to_owned()));
    fs::write(&path, "#".repeat(1_000_000)).unwrap();
    assert_eq!(message(&PolicyFile::open(&path)), Err("too_large".to_owned()));
}

/// Mounts a version of the policy as Kubernetes does.
fn mount(folder: &Path, version: &str, text: &str) {
    fs::create_dir(folder.join(version)).unwrap();
    fs::write(folder.join(version).join("guardrails.yaml"), text).unwrap();
    symlink(version, folder.join("..data_tmp")).unwrap();
    fs::rename(folder.join("..data_tmp"), folder.join("..data")).unwrap();
}

#[test]
fn a_mounted_config_map_is_swapped() {
    let folder = tempfile::tempdir().unwrap();
    mount(folder.path(), "..1", FIRST);
    symlink("..data/guardrails.yaml", folder.path().join("guardrails.yaml")).unwrap();
    let file = PolicyFile::open(folder.path().join("guardrails.yaml"));
    assert_eq!(message(&file), Ok("first".to_owned()));
    mount(folder.path(), "..2", SECOND);
    assert!(file.refresh());
    assert_eq!(message(&file), Ok("second".to_owned()));
}

#[tokio::test]
async fn the_file_is_watched() {
    let (_folder, path) = file(FIRST);
    let file = Arc::new(PolicyFile::open(&path));
    let watch = tokio::spawn(file.clone().watch());
    fs::write(&path, SECOND).unwrap();
    let changed = async {
        while message(&file) != Ok("second".to_owned()) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), changed).await.unwrap();
    watch.abort();
}
