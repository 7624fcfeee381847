//! An S3 server for a folder.

use std::net::SocketAddr;
use std::path::Path;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use tokio::net::TcpListener;

pub const ACCESS_KEY_ID: &str = "test-key-id";
pub const SECRET_ACCESS_KEY: &str = "test-secret-key";

/// Serves each subfolder as a bucket until the test ends. Requests must be signed.
pub async fn serve(folder: &Path) -> SocketAddr {
    let mut builder = S3ServiceBuilder::new(s3s_fs::FileSystem::new(folder).unwrap());
    builder.set_auth(SimpleAuth::from_single(ACCESS_KEY_ID, SECRET_ACCESS_KEY));
    run(builder).await
}

/// Like [`serve`], but also accepts unsigned requests.
pub async fn serve_to_anyone(folder: &Path) -> SocketAddr {
    run(S3ServiceBuilder::new(s3s_fs::FileSystem::new(folder).unwrap())).await
}

async fn run(builder: S3ServiceBuilder) -> SocketAddr {
    let service = builder.build();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), service.clone());
            tokio::spawn(connection);
        }
    });
    address
}
