//! Shared by the tests: a temporary folder with limits, and servers in this process.

pub mod git_server;
pub mod proxy;
pub mod s3_server;
pub mod tls_front;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use axum::Router;
use ragengine_settings::sync::{Origin, Source};
use ragengine_sources::{
    Access, AddressPolicy, FetchError, Fetched, FetchedFile, Limits, Opened, Proxies, ProxyVariables, SourceError, open,
};
use tempfile::TempDir;
use tokio::net::TcpListener;

/// A temporary folder, and the access for sources.
pub struct Bench {
    pub access: Access,
    pub folder: TempDir,
}

impl Bench {
    /// Allows requests to servers in this process.
    pub fn new() -> Self {
        Self::allowing(&["127.0.0.0/8"])
    }

    /// Allows requests to these ranges, in addition to those that are always permitted.
    pub fn allowing(ranges: &[&str]) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let work_folder = folder.path().join("work");
        std::fs::create_dir(&work_folder).unwrap();
        let addresses = AddressPolicy::new(ranges.iter().map(|range| range.parse().unwrap()).collect(), Vec::new());
        let limits = Limits { max_files: 100, max_file_bytes: 10_000, ..Limits::default() };
        let access = Access { addresses, proxies: Proxies::default(), work_folder, mounts: None, limits };
        Self { access, folder }
    }

    /// Sets the timeout of requests.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.access.limits.request_timeout = timeout;
        self
    }

    /// Sends all requests through a proxy.
    pub fn through(mut self, proxy: &str) -> Self {
        let variables = ProxyVariables { http: Some(proxy.to_owned()), https: Some(proxy.to_owned()), no_proxy: None };
        self.access.proxies = Proxies::new(&variables).unwrap();
        self
    }

    /// Creates a folder with the files of a Secret.
    pub fn secret(&self, files: &[(&str, &str)]) -> std::path::PathBuf {
        let folder = tempfile::Builder::new().tempdir_in(self.folder.path()).unwrap().keep();
        for (key, value) in files {
            std::fs::write(folder.join(key), value).unwrap();
        }
        folder
    }

    /// Opens a source without patterns.
    pub async fn open(&self, origin: Origin) -> Result<Opened, SourceError> {
        self.open_with(origin, &[], &[]).await
    }

    /// Opens a source with patterns.
    pub async fn open_with(&self, origin: Origin, include: &[&str], exclude: &[&str]) -> Result<Opened, SourceError> {
        let owned = |patterns: &[&str]| patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        let source = Source {
            name: "docs".into(),
            include: owned(include),
            exclude: owned(exclude),
            metadata: serde_json::Map::new(),
            origin,
        };
        open(&source, &self.access).await
    }

    /// The number of files in the work folder.
    pub fn left_files(&self) -> usize {
        std::fs::read_dir(&self.access.work_folder).unwrap().count()
    }
}

/// The paths of the listed files.
pub fn paths(opened: &Opened) -> Vec<&str> {
    opened.items().iter().map(|item| item.path.as_str()).collect()
}

/// Fetches the file with a path.
pub async fn fetch(opened: &Opened, path: &str, known: Option<&str>) -> Result<Fetched, FetchError> {
    let item = opened
        .items()
        .iter()
        .find(|item| item.path == path)
        .unwrap_or_else(|| panic!("{path} is not in {:?}", paths(opened)));
    opened.fetch(item, known).await
}

/// Fetches a file that must exist.
pub async fn file(opened: &Opened, path: &str) -> FetchedFile {
    match fetch(opened, path, None).await.unwrap() {
        Fetched::File(file) => file,
        other => panic!("{path} is {other:?}"),
    }
}

/// The content of a file that must exist.
pub async fn text(opened: &Opened, path: &str) -> String {
    std::fs::read_to_string(&file(opened, path).await.path_on_disk).unwrap()
}

/// The contents of all listed files, by path.
pub async fn texts(opened: &Opened) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for path in paths(opened) {
        found.insert(path.to_owned(), text(opened, path).await);
    }
    found
}

/// The expected result of [`texts`].
pub fn expected(texts: &[(&str, &str)]) -> BTreeMap<String, String> {
    texts.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// Writes files, and creates their folders.
pub fn write(folder: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// Serves a router at a free port until the test ends.
pub async fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}
