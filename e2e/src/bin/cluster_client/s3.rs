//! An S3 server with one bucket.

use std::path::PathBuf;

use hyper_util::rt::TokioIo;
use ragengine_e2e::source::BUCKET;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use serde_json::json;
use tokio::net::TcpListener;

use crate::{control, folder};

/// Serves a bucket until SIGTERM. Requests must be signed with these keys.
pub async fn serve(work: PathBuf, access_key: String, secret_key: String) -> anyhow::Result<()> {
    let bucket = work.join(BUCKET);
    std::fs::create_dir_all(&bucket)?;
    let store = FileSystem::new(&work).map_err(|error| anyhow::anyhow!("{}: {error:?}", work.display()))?;
    let mut service = S3ServiceBuilder::new(store);
    service.set_auth(SimpleAuth::from_single(access_key, secret_key));
    let listener = control::listen().await?;
    let changes = control::changes(move |changes| folder::apply(&bucket, changes).map(|()| json!({})));
    control::until_sigterm(accept(listener, service.build()), changes).await
}

async fn accept(listener: TcpListener, service: S3Service) -> std::io::Result<()> {
    loop {
        let (connection, _) = listener.accept().await?;
        let serving =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(connection), service.clone());
        // A broken connection does not affect other clients.
        tokio::spawn(serving);
    }
}
