//! Inline documents, folders and ConfigMaps.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use ragengine_settings::sync::{Folder, Inline, InlineDocument, Origin};
use ragengine_sources::Fetched;

use crate::support::{Bench, expected, fetch, file, paths, text, texts, write};

fn inline(documents: &[(&str, &str)]) -> Origin {
    let documents =
        documents.iter().map(|(path, text)| InlineDocument { path: (*path).into(), text: (*text).into() }).collect();
    Origin::Inline(Inline { documents })
}

fn folder(bench: &Bench) -> std::path::PathBuf {
    let folder = bench.folder.path().join("claim");
    std::fs::create_dir(&folder).unwrap();
    folder
}

#[tokio::test]
async fn inline_documents_are_files() {
    let bench = Bench::new();
    let opened =
        bench.open(inline(&[("b.md", "two"), ("a/x.md", "one"), ("../c.md", "no"), ("b.md", "again")])).await.unwrap();
    assert_eq!(texts(&opened).await, expected(&[("a/x.md", "one"), ("b.md", "two")]));
    let errors: Vec<_> = opened.errors().iter().map(|error| error.path.as_str()).collect();
    assert_eq!(errors, ["../c.md", "b.md"]);
    assert!(opened.revision().is_some());
    let revision = opened.items()[0].revision.clone();
    assert!(matches!(fetch(&opened, "a/x.md", revision.as_deref()).await.unwrap(), Fetched::Unchanged));
    assert_eq!(bench.left_files(), 0);
}

#[tokio::test]
async fn a_folder_is_what_is_in_it() {
    let bench = Bench::new();
    let root = folder(&bench);
    write(
        &root,
        &[
            ("a.md", "a"),
            ("sub/b.md", "b"),
            ("sub/deep/c.txt", "c"),
            (".hidden.md", "h"),
            (".git/d.md", "d"),
            ("e ü.md", "e"),
            ("lost+found/f.md", "f"),
            ("sub/lost+found/g.md", "g"),
        ],
    );
    let opened = bench.open_with(Origin::Folder(Folder { path: root.clone() }), &[], &["**/*.txt"]).await.unwrap();
    assert_eq!(
        texts(&opened).await,
        expected(&[("a.md", "a"), ("e ü.md", "e"), ("sub/b.md", "b"), ("sub/lost+found/g.md", "g")])
    );
    assert_eq!(opened.errors(), []);
    assert_eq!(opened.revision(), None);
    assert_eq!(bench.left_files(), 0);
}

#[tokio::test]
async fn links_pipes_and_sockets_are_skipped_without_being_opened() {
    let bench = Bench::new();
    let root = folder(&bench);
    write(&root, &[("a.md", "a"), ("sub/b.md", "b")]);
    write(bench.folder.path(), &[("secret.md", "secret"), ("outside/o.md", "o")]);
    symlink("../secret.md", root.join("link.md")).unwrap();
    symlink("../outside", root.join("folder-link")).unwrap();
    symlink("a.md", root.join("inner-link.md")).unwrap();
    symlink("..", root.join("sub/up")).unwrap();
    let _socket = UnixListener::bind(root.join("socket.md")).unwrap();
    let status = std::process::Command::new("mkfifo").arg(root.join("pipe.md")).status().unwrap();
    assert!(status.success());
    let opened = bench.open(Origin::Folder(Folder { path: root })).await.unwrap();
    assert_eq!(paths(&opened), ["a.md", "sub/b.md"]);
    assert_eq!(opened.errors(), []);
}

#[tokio::test]
async fn a_file_that_is_replaced_by_a_link_or_a_pipe_is_refused() {
    let bench = Bench::new();
    let root = folder(&bench);
    write(&root, &[("a.md", "a"), ("sub/b.md", "b"), ("pipe.md", "p"), ("gone.md", "g")]);
    write(bench.folder.path(), &[("outside/b.md", "secret")]);
    let opened = bench.open(Origin::Folder(Folder { path: root.clone() })).await.unwrap();
    std::fs::remove_file(root.join("a.md")).unwrap();
    symlink("../outside/b.md", root.join("a.md")).unwrap();
    std::fs::remove_dir_all(root.join("sub")).unwrap();
    symlink("../outside", root.join("sub")).unwrap();
    std::fs::remove_file(root.join("pipe.md")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(root.join("pipe.md")).status().unwrap().success());
    std::fs::remove_file(root.join("gone.md")).unwrap();
    for path in ["a.md", "sub/b.md", "pipe.md"] {
        assert_eq!(fetch(&opened, path, None).await.unwrap_err().kind(), "not_a_file", "{path}");
    }
    assert!(matches!(fetch(&opened, "gone.md", None).await.unwrap(), Fetched::Gone));
}

#[tokio::test]
async fn a_file_is_copied_only_when_its_content_changed() {
    let bench = Bench::new();
    let root = folder(&bench);
    write(&root, &[("a.md", "one")]);
    let opened = bench.open(Origin::Folder(Folder { path: root.clone() })).await.unwrap();
    let first = file(&opened, "a.md").await;
    // printf one | sha256sum
    assert_eq!(first.revision, "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed");
    assert!(
        first.modified.as_deref().is_some_and(|time| time.ends_with('Z') && !time.contains('.')),
        "{:?}",
        first.modified
    );
    assert!(matches!(fetch(&opened, "a.md", Some(&first.revision)).await.unwrap(), Fetched::Unchanged));
    write(&root, &[("a.md", "two")]);
    let Fetched::File(second) = fetch(&opened, "a.md", Some(&first.revision)).await.unwrap() else { panic!() };
    assert_ne!(second.revision, first.revision);
    assert_eq!(std::fs::read_to_string(&second.path_on_disk).unwrap(), "two");
}

#[tokio::test]
async fn a_file_that_is_too_large_does_not_affect_others() {
    let bench = Bench::new();
    let root = folder(&bench);
    let long = "x".repeat(10_001);
    write(&root, &[("long.md", &long), ("just.md", &long[1..]), ("grows.md", "x")]);
    let opened = bench.open(Origin::Folder(Folder { path: root.clone() })).await.unwrap();
    write(&root, &[("grows.md", &long)]);
    for path in ["long.md", "grows.md"] {
        assert_eq!(fetch(&opened, path, Some("sha256:00")).await.unwrap_err().kind(), "too_large");
    }
    assert_eq!(text(&opened, "just.md").await.len(), 10_000);
}

#[tokio::test]
async fn a_missing_folder_is_an_error() {
    let bench = Bench::new();
    let error = bench.open(Origin::Folder(Folder { path: bench.folder.path().join("none") })).await.unwrap_err();
    assert_eq!(error.kind(), "folder");
    assert!(error.to_string().contains("/none cannot be read"), "{error}");
}

/// Whoever writes into a volume may not choose which files of the machine are read.
#[tokio::test]
async fn the_path_of_a_folder_follows_no_links_out_of_its_volume() {
    let mut bench = Bench::new();
    let root = bench.folder.path().to_owned();
    write(&root, &[("mounts/claim/docs/deep/a.md", "a"), ("outside/deep/b.md", "secret")]);
    symlink("../../outside", root.join("mounts/claim/link")).unwrap();
    symlink("docs", root.join("mounts/claim/inner")).unwrap();
    symlink("mounts", root.join("configured")).unwrap();
    let cases = [
        ("mounts/claim", "mounts", Some("docs/deep/a.md")),
        ("mounts/claim/docs/deep", "mounts", Some("a.md")),
        ("configured/claim/docs", "configured", Some("deep/a.md")),
        ("mounts/claim/link", "elsewhere", Some("deep/b.md")),
        ("mounts/claim/link", "mounts", None),
        ("mounts/claim/link/deep", "mounts", None),
        ("mounts/claim/inner", "mounts", Some("deep/a.md")),
        ("mounts/claim/../../outside", "mounts", None),
    ];
    for (path, mounts, expected) in cases {
        bench.access.mounts = Some(root.join(mounts));
        let opened = bench.open(Origin::Folder(Folder { path: root.join(path) })).await;
        match (opened, expected) {
            (Ok(opened), Some(expected)) => assert_eq!(paths(&opened), [expected], "{path}"),
            (Err(error), None) => assert!(error.kind() == "folder" && error.to_string().contains(path), "{error}"),
            (opened, _) => panic!("{path} in {mounts}: {opened:?}"),
        }
    }
}

#[tokio::test]
async fn too_many_files_are_an_error() {
    let bench = Bench::new();
    let root = folder(&bench);
    for number in 0..101 {
        write(&root, &[(format!("{number}.md").as_str(), "x")]);
    }
    let error = bench.open(Origin::Folder(Folder { path: root.clone() })).await.unwrap_err();
    assert_eq!(error.kind(), "too_many_files");
    assert_eq!(
        bench.open_with(Origin::Folder(Folder { path: root }), &["1*.md"], &[]).await.unwrap().items().len(),
        12
    );
}

/// Mounts a ConfigMap like the kubelet: each key is a link through `..data` to the current folder.
fn mount(root: &std::path::Path, version: &str, files: &[(&str, &str)]) {
    let data = format!("..{version}");
    write(&root.join(&data), files);
    for (path, _) in files {
        let key = path.split('/').next().unwrap();
        let _ = symlink(format!("..data/{key}"), root.join(key));
    }
    symlink(&data, root.join("..data_tmp")).unwrap();
    std::fs::rename(root.join("..data_tmp"), root.join("..data")).unwrap();
}

#[tokio::test]
async fn a_mounted_config_map_is_its_keys() {
    let bench = Bench::new();
    let root = folder(&bench);
    mount(&root, "2024_1", &[("faq.md", "faq"), ("sub/terms.md", "terms")]);
    let origin = Origin::ConfigMap(Folder { path: root.clone() });
    let opened = bench.open(origin.clone()).await.unwrap();
    assert_eq!(texts(&opened).await, expected(&[("faq.md", "faq"), ("sub/terms.md", "terms")]));
    assert_eq!(file(&opened, "faq.md").await.modified, None);

    mount(&root, "2024_2", &[("faq.md", "faq 2"), ("sub/terms.md", "terms")]);
    std::fs::remove_dir_all(root.join("..2024_1")).unwrap();
    assert_eq!(fetch(&opened, "faq.md", None).await.unwrap_err().kind(), "changed");
    let opened = bench.open(origin).await.unwrap();
    assert_eq!(texts(&opened).await, expected(&[("faq.md", "faq 2"), ("sub/terms.md", "terms")]));
}

#[tokio::test]
async fn a_config_map_may_be_a_folder_of_plain_files() {
    let bench = Bench::new();
    let root = folder(&bench);
    write(&root, &[("faq.md", "faq")]);
    let opened = bench.open(Origin::ConfigMap(Folder { path: root })).await.unwrap();
    assert_eq!(texts(&opened).await, expected(&[("faq.md", "faq")]));
}
