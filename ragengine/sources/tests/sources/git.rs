//! Repositories on a real git server.

use std::os::unix::fs::symlink;
use std::time::Duration;

use ragengine_settings::sync::{Git, Origin};
use ragengine_sources::{Extent, Fetched};

use crate::support::git_server::{Repository, Rules, serve};
use crate::support::{Bench, expected, fetch, file, paths, texts, write};

struct Server {
    bench: Bench,
    repository: Repository,
    rules: Rules,
    url: String,
}

async fn server(authorization: Option<&'static str>) -> Server {
    let bench = Bench::new();
    let root = bench.folder.path().join("repositories");
    let repository = Repository::new(&root.join("docs"));
    let rules = Rules { authorization, ..Rules::default() };
    let url = format!("http://{}/docs/.git", serve(&root, rules.clone()).await);
    Server { bench, repository, rules, url }
}

impl Server {
    fn origin(&self, reference: Option<&str>) -> Origin {
        Origin::Git(Git { url: self.url.clone(), reference: reference.map(Into::into), ..Git::default() })
    }

    fn with_secret(&self, files: &[(&str, &str)]) -> Origin {
        Origin::Git(Git { url: self.url.clone(), credentials: Some(self.bench.secret(files)), ..Git::default() })
    }
}

#[tokio::test]
async fn a_repository_is_the_files_of_a_commit() {
    for allows_filter in [false, true] {
        let server = server(None).await;
        let folder = &server.repository.folder;
        if allows_filter {
            server.repository.allow_filter();
        }
        write(folder, &[("old.md", "old")]);
        server.repository.commit();
        std::fs::remove_file(folder.join("old.md")).unwrap();
        let long = "many lines\n".repeat(500);
        write(
            folder,
            &[
                ("a.md", "a"),
                ("docs/b.md", &long),
                ("docs/ü/c.md", "c"),
                ("x.txt", "x"),
                (".github/d.md", "d"),
                ("run.sh", "r"),
            ],
        );
        symlink("/etc/passwd", folder.join("link.md")).unwrap();
        symlink("docs", folder.join("linked")).unwrap();
        server.repository.git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            "160000,1111111111111111111111111111111111111111,module",
        ]);
        let commit = server.repository.commit();
        let opened = server.bench.open_with(server.origin(None), &[], &["*.txt"]).await.unwrap();
        assert_eq!(opened.revision(), Some(commit.as_str()));
        assert_eq!(
            texts(&opened).await,
            expected(&[("a.md", "a"), ("docs/b.md", &long), ("docs/ü/c.md", "c"), ("run.sh", "r")])
        );
        assert_eq!(opened.errors(), []);
        assert_eq!(
            opened.items()[0].revision.as_deref(),
            Some(server.repository.git(&["rev-parse", "HEAD:a.md"]).as_str())
        );
        drop(opened);
        assert_eq!(server.bench.left_files(), 0);
    }
}

#[tokio::test]
async fn a_reference_is_a_branch_a_tag_or_a_commit() {
    let server = server(None).await;
    let mut commits = Vec::new();
    for text in ["one", "two", "three"] {
        write(&server.repository.folder, &[("a.md", text)]);
        commits.push(server.repository.commit());
    }
    server.repository.git(&["branch", "release", &commits[0]]);
    server.repository.git(&["tag", "light", &commits[1]]);
    server.repository.git(&["tag", "--annotate", "--message", "x", "heavy", &commits[0]]);
    let cases = [
        (None, 2),
        (Some("main"), 2),
        (Some("release"), 0),
        (Some("refs/heads/release"), 0),
        (Some("light"), 1),
        (Some("heavy"), 0),
        (Some(commits[1].as_str()), 1),
    ];
    for (reference, number) in cases {
        let opened = server.bench.open(server.origin(reference)).await.unwrap();
        assert_eq!(opened.revision(), Some(commits[number].as_str()), "{reference:?}");
        assert_eq!(texts(&opened).await, expected(&[("a.md", ["one", "two", "three"][number])]));
    }
    let unknown = "1".repeat(40);
    for reference in ["none", "rel", unknown.as_str()] {
        let error = server.bench.open(server.origin(Some(reference))).await.unwrap_err();
        assert_eq!(error.kind(), "reference", "{reference}: {error}");
        assert!(error.to_string().contains(reference), "{error}");
    }
}

#[tokio::test]
async fn an_empty_repository_is_an_error() {
    let server = server(None).await;
    assert_eq!(server.bench.open(server.origin(None)).await.unwrap_err().kind(), "reference");
    server.repository.commit();
    assert_eq!(paths(&server.bench.open(server.origin(None)).await.unwrap()), Vec::<&str>::new());
}

#[tokio::test]
async fn known_files_are_not_received_from_a_server_with_partial_clones() {
    let server = server(None).await;
    server.repository.allow_filter();
    write(&server.repository.folder, &[("a.md", "a"), ("b.md", "b")]);
    server.repository.commit();
    let opened = server.bench.open(server.origin(None)).await.unwrap();
    let count = || server.rules.requests.lock().unwrap().len();
    let before = count();
    for item in opened.items() {
        assert!(matches!(opened.fetch(item, item.revision.as_deref()).await.unwrap(), Fetched::Unchanged));
    }
    assert_eq!(count(), before);
    assert_eq!(file(&opened, "a.md").await.revision, opened.items()[0].revision.clone().unwrap());
    let after = count();
    assert!(after > before);
    file(&opened, "b.md").await;
    assert_eq!(count(), after);
}

#[tokio::test]
async fn a_server_without_partial_clones_is_asked_once() {
    let server = server(None).await;
    write(&server.repository.folder, &[("a.md", "a")]);
    server.repository.commit();
    let opened = server.bench.open(server.origin(None)).await.unwrap();
    let count = || server.rules.requests.lock().unwrap().len();
    let before = count();
    file(&opened, "a.md").await;
    assert_eq!(count(), before);
}

#[tokio::test]
async fn credentials_come_from_the_secret() {
    // printf 'git:abc' | base64, printf 'me:secret' | base64
    let cases = [
        ("Basic Z2l0OmFiYw==", &[("token", "abc")][..]),
        ("Basic bWU6c2VjcmV0", &[("username", "me"), ("password", "secret")]),
    ];
    for (wanted, files) in cases {
        let server = server(Some(wanted)).await;
        write(&server.repository.folder, &[("a.md", "a")]);
        server.repository.commit();
        let opened = server.bench.open(server.with_secret(files)).await.unwrap();
        assert_eq!(texts(&opened).await, expected(&[("a.md", "a")]));
        for origin in [server.origin(None), server.with_secret(&[("token", "wrong")])] {
            let error = server.bench.open(origin).await.unwrap_err();
            assert_eq!(error.kind(), "unauthorized", "{error}");
            let words = error.to_string();
            assert!(words.contains("token, or username and password") && !words.contains("wrong"), "{words}");
        }
    }
}

#[tokio::test]
async fn credentials_go_to_the_hosts_of_the_secret_only() {
    let server = server(Some("Basic Z2l0OmFiYw==")).await;
    write(&server.repository.folder, &[("a.md", "a")]);
    server.repository.commit();
    let with = |host: &str| {
        let Origin::Git(git) = server.with_secret(&[("token", "abc")]) else { panic!() };
        Origin::Git(Git { credential_hosts: vec![host.to_owned()], ..git })
    };
    let error = server.bench.open(with("git.example.com")).await.unwrap_err();
    assert!(error.to_string().contains("may only be sent to git.example.com, not to 127.0.0.1"), "{error}");
    assert!(server.rules.requests.lock().unwrap().is_empty());
    assert!(server.bench.open(with("127.0.0.1")).await.is_ok());
}

#[tokio::test]
async fn each_error_of_a_repository_has_its_kind() {
    let server = server(None).await;
    write(&server.repository.folder, &[("a.md", "a")]);
    server.repository.commit();
    let at = |url: &str| Origin::Git(Git { url: url.into(), ..Git::default() });
    let elsewhere = crate::support::serve(axum::Router::new().fallback(|| async { "hello" })).await;
    let target = server.url.clone();
    let redirecting = move |request: axum::extract::Request| async move {
        let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
        axum::response::Redirect::temporary(&format!("{}{}", target.trim_end_matches("/docs/.git"), path))
    };
    let redirecting = crate::support::serve(axum::Router::new().fallback(redirecting)).await;
    let named = server.url.replace("127.0.0.1", "localhost");
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    let cases = [
        (at(&server.url.replace("docs", "none")), "status"),
        (at(&format!("http://{elsewhere}/x")), "answer"),
        (at(&format!("http://{redirecting}/docs/.git")), "answer"),
        (at(&format!("http://{free}/x")), "unreachable"),
        (at("http://169.254.169.254/x"), "refused_address"),
        (at("ssh://git@example.com/x"), "address"),
        (at("https://me:secret@example.com/x"), "address"),
    ];
    for (origin, kind) in cases {
        let error = server.bench.open(origin).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    let error = Bench::allowing(&[]).open(at(&named)).await.unwrap_err();
    assert_eq!(error.kind(), "refused_address", "{error}");
}

#[tokio::test]
async fn a_server_with_partial_clones_leaves_out_large_files() {
    let server = server(None).await;
    // Random bytes cannot be compressed below the limit.
    let mut long = vec![0; 10_001];
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom").unwrap(), &mut long).unwrap();
    write(&server.repository.folder, &[("a.md", "a"), ("just.md", &"x".repeat(10_000))]);
    std::fs::write(server.repository.folder.join("long.md"), long).unwrap();
    server.repository.commit();
    let error = server.bench.open(server.origin(None)).await.unwrap_err();
    assert!(error.to_string().contains("uploadpack.allowFilter"), "{error}");

    server.repository.allow_filter();
    let opened = server.bench.open(server.origin(None)).await.unwrap();
    assert_eq!(paths(&opened), ["a.md", "just.md", "long.md"]);
    assert_eq!(fetch(&opened, "long.md", None).await.unwrap_err().kind(), "too_large");
    file(&opened, "a.md").await;
    file(&opened, "just.md").await;
}

#[tokio::test]
async fn a_repository_larger_than_the_limit_is_an_error() {
    let mut server = server(None).await;
    server.bench.access.limits.max_repository_bytes = 5000;
    let mut long = vec![0; 6000];
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom").unwrap(), &mut long).unwrap();
    std::fs::write(server.repository.folder.join("long.md"), long).unwrap();
    server.repository.commit();
    let error = server.bench.open(server.origin(None)).await.unwrap_err();
    assert_eq!(error.kind(), "too_large", "{error}");
    assert_eq!(server.bench.left_files(), 0);
}

#[tokio::test]
async fn names_that_lead_out_of_the_tree_are_errors() {
    let server = server(None).await;
    write(&server.repository.folder, &[("a.md", "a")]);
    server.repository.commit();
    let blob = server.repository.git(&["rev-parse", "HEAD:a.md"]);
    let id: Vec<u8> = (0..20).map(|at| u8::from_str_radix(&blob[2 * at..2 * at + 2], 16).unwrap()).collect();
    let names: [&[u8]; 6] = [b"..", b".git", b"/etc", b"a/../../b.md", b"good.md", b"\xff.md"];
    let tree: Vec<u8> = names.iter().flat_map(|name| [b"100644 ", *name, b"\0", &id].concat()).collect();
    std::fs::write(server.repository.folder.join("tree"), tree).unwrap();
    let tree = server.repository.git(&["hash-object", "-t", "tree", "-w", "--literally", "tree"]);
    let commit = server.repository.git(&["commit-tree", "-m", "odd", &tree]);
    server.repository.git(&["update-ref", "refs/heads/main", &commit]);
    let opened = server.bench.open(server.origin(None)).await.unwrap();
    assert_eq!(texts(&opened).await, expected(&[("good.md", "a")]));
    let errors: Vec<_> = opened.errors().iter().map(|error| error.path.as_str()).collect();
    assert_eq!(errors, ["/etc", "a/../../b.md", "\u{fffd}.md"]);
    assert!(opened.errors().iter().all(|error| error.extent == Extent::Itself), "{:?}", opened.errors());
}

#[tokio::test]
async fn a_silent_server_is_a_timeout() {
    let mut bench = Bench::new().with_timeout(Duration::from_secs(1));
    bench.access.limits.listing_timeout = Duration::from_millis(200);
    let silent = crate::support::serve(axum::Router::new().fallback(std::future::pending::<String>)).await;
    let origin = Origin::Git(Git { url: format!("http://{silent}/x"), ..Git::default() });
    assert_eq!(bench.open(origin.clone()).await.unwrap_err().kind(), "timeout");
    let bench = Bench::new().with_timeout(Duration::from_millis(200));
    assert_eq!(bench.open(origin).await.unwrap_err().kind(), "timeout");
}
