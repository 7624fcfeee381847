//! An S3 server for a folder, whose bucket can become full.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::TryStreamExt as _;
use hyper::body::Incoming;
use hyper::header::CONTENT_LENGTH;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use ragengine_backups::{BackupError, Bucket, Contents, Manifest, Name, Upload};
use ragengine_settings::sync::S3;
use ragengine_sources::{Access, AddressPolicy, Limits, Proxies};
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use tempfile::TempDir;
use tokio::net::TcpListener;

pub const WRITER: &str = "0a3c-uid-of-an-engine";
const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "test-key-id"), ("AWS_SECRET_ACCESS_KEY", "test-secret-key")];

/// A server with the bucket `backups`.
pub struct Server {
    /// The objects of the bucket.
    pub folder: PathBuf,
    address: SocketAddr,
    /// The number of bytes that still fit in.
    room: Arc<AtomicU64>,
    refused: Refused,
    root: TempDir,
}

/// The next requests that are refused: their methods, and parts of their paths.
type Refused = Arc<Mutex<Vec<(Method, String)>>>;

pub async fn server() -> Server {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("s3/backups");
    std::fs::create_dir_all(&folder).unwrap();
    let secret = root.path().join("secret");
    std::fs::create_dir(&secret).unwrap();
    for (key, value) in KEYS {
        std::fs::write(secret.join(key), value).unwrap();
    }
    let room = Arc::new(AtomicU64::new(u64::MAX));
    let refused = Refused::default();
    let address = serve(&root.path().join("s3"), Arc::clone(&room), Arc::clone(&refused)).await;
    Server { folder, address, room, refused, root }
}

impl Server {
    pub async fn bucket(&self, prefix: &str) -> Bucket {
        let addresses = AddressPolicy::new(vec!["127.0.0.0/8".parse().unwrap()], Vec::new());
        let work_folder = self.root.path().to_owned();
        let (proxies, limits) = (Proxies::default(), Limits::default());
        let access = Access { addresses, proxies, work_folder, mounts: None, limits };
        let settings = S3 {
            bucket: "backups".to_owned(),
            endpoint: Some(format!("http://{}", self.address)),
            prefix: Some(prefix.to_owned()),
            credentials: Some(self.root.path().join("secret")),
            ..S3::default()
        };
        Bucket::connect(&settings, &access).await.unwrap()
    }

    /// Refuses requests that bring more than this number of bytes.
    pub fn has_room_for(&self, bytes: u64) {
        self.room.store(bytes, Ordering::Relaxed);
    }

    /// Refuses the next request with this method for an object whose key contains this text, as one without the right.
    /// Deletions name their keys in the body of a POST.
    pub fn refuses_once(&self, method: Method, key: &str) {
        self.refused.lock().unwrap().push((method, key.to_owned()));
    }

    pub fn with_wrong_key(self) -> Self {
        std::fs::write(self.root.path().join("secret/AWS_SECRET_ACCESS_KEY"), "wrong-secret").unwrap();
        self
    }

    /// The names of the objects below a prefix.
    pub fn objects(&self, prefix: &str) -> Vec<String> {
        let Ok(entries) = self.folder.join(prefix).read_dir() else { return Vec::new() };
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        // The server's own files for metadata and parts begin with a dot.
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        names
    }
}

async fn serve(folder: &Path, room: Arc<AtomicU64>, refused: Refused) -> SocketAddr {
    let mut builder = S3ServiceBuilder::new(s3s_fs::FileSystem::new(folder).unwrap());
    builder.set_auth(SimpleAuth::from_single(KEYS[0].1, KEYS[1].1));
    let service = builder.build();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (service, room, refused) = (service.clone(), Arc::clone(&room), Arc::clone(&refused));
            let answer = service_fn(move |request: Request<Incoming>| {
                let matches = |(method, key): &(Method, String)| {
                    request.method() == *method && request.uri().path().contains(key.as_str())
                };
                let mut refused = refused.lock().unwrap();
                let found = refused.iter().position(matches);
                let is_refused = found.map(|found| refused.remove(found)).is_some();
                let (service, room) = (service.clone(), Arc::clone(&room));
                async move { if is_refused { Ok(no_right()) } else { answer(service, room, request).await } }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), answer));
        }
    });
    address
}

async fn answer(
    service: S3Service,
    room: Arc<AtomicU64>,
    request: Request<Incoming>,
) -> Result<Response<s3s::Body>, s3s::HttpError> {
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let bytes = if request.method() == Method::PUT { length.unwrap_or(0) } else { 0 };
    let taken = room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(bytes));
    if taken.is_err() {
        let error = "<Error><Code>StorageFull</Code><Message>The bucket has no room.</Message></Error>";
        let refused = Response::builder().status(507).body(s3s::Body::from(error.to_owned()));
        return Ok(refused.unwrap());
    }
    service.call(request.map(s3s::Body::from)).await
}

fn no_right() -> Response<s3s::Body> {
    let error = "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>";
    Response::builder().status(403).body(s3s::Body::from(error.to_owned())).unwrap()
}

pub fn bytes(size: usize) -> Vec<u8> {
    (0..size).map(|at| u8::try_from(at * 7 % 251).unwrap()).collect()
}

pub fn name_of(day: u32) -> Name {
    Name::at(format!("2026-11-{day:02}T02:30:00Z").parse().unwrap(), WRITER)
}

pub async fn upload(bucket: &Bucket, name: Name, sent: &[u8]) -> Result<Manifest, BackupError> {
    upload_of(bucket, name, sent, Contents { indexes: 2, documents: 3 }).await
}

pub async fn upload_of(bucket: &Bucket, name: Name, sent: &[u8], contents: Contents) -> Result<Manifest, BackupError> {
    let mut upload = bucket.begin(name).await?;
    match write(&mut upload, sent).await {
        Ok(()) => upload.finish(contents).await,
        Err(error) => {
            upload.abort().await;
            Err(error)
        }
    }
}

pub async fn write(upload: &mut Upload, sent: &[u8]) -> Result<(), BackupError> {
    for chunk in sent.chunks(300_000) {
        upload.write(chunk).await?;
    }
    Ok(())
}

pub async fn read(bucket: &Bucket, manifest: &Manifest) -> Result<Vec<u8>, BackupError> {
    bucket.read(manifest).try_fold(Vec::new(), |all, piece| async move { Ok([all, piece.to_vec()].concat()) }).await
}
