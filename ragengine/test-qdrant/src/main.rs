//! A Qdrant for tests: the protocol of the official client, over Qdrant's own storage engine.
//!
//! Qdrant has no server in a package registry, but its client has the service definitions, and its engine is a crate
//! (`qdrant-edge`). So conditions, distances, words, orders and counts are Qdrant's; what is ours is the way from a
//! request to them. There is one node, each collection has one shard, whatever a request asks for, and the data end
//! with the program. A request that the crate `ragengine-vector-database` does not send is refused as unimplemented.
//!
//! It is started as a Qdrant is: `QDRANT__SERVICE__GRPC_PORT` is the port on 127.0.0.1, and `QDRANT__SERVICE__API_KEY`
//! the key that requests must have.

mod collections;
mod convert;
mod points;

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use parking_lot::RwLock;
use qdrant_client::qdrant::collections_server::CollectionsServer;
use qdrant_client::qdrant::points_server::PointsServer;
use qdrant_client::qdrant::qdrant_server::{Qdrant, QdrantServer};
use qdrant_client::qdrant::{HealthCheckReply, HealthCheckRequest};
use qdrant_edge::EdgeShard;
use tempfile::TempDir;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

/// The longest request, in bytes.
const MAX_REQUEST_BYTES: usize = 256 << 20;

#[tokio::main]
async fn main() -> Result<()> {
    let setting = |name: &str| std::env::var(name).with_context(|| format!("{name} is not set"));
    let port: u16 = setting("QDRANT__SERVICE__GRPC_PORT")?.parse().context("QDRANT__SERVICE__GRPC_PORT is no port")?;
    let api_key = setting("QDRANT__SERVICE__API_KEY")?;
    // As with a real server, the check of the health needs no key.
    let check = move |request: Request<()>| {
        let key = request.metadata().get("api-key").and_then(|value| value.to_str().ok());
        if key == Some(&api_key) { Ok(request) } else { Err(Status::unauthenticated("Invalid API key")) }
    };
    let service = Service::default();
    let points = PointsServer::new(service.clone())
        .max_decoding_message_size(MAX_REQUEST_BYTES)
        .max_encoding_message_size(MAX_REQUEST_BYTES);
    Server::builder()
        .add_service(QdrantServer::new(service.clone()))
        .add_service(InterceptedService::new(CollectionsServer::new(service), check.clone()))
        .add_service(InterceptedService::new(points, check))
        .serve((Ipv4Addr::LOCALHOST, port).into())
        .await
        .context("the server ended")
}

/// A collection.
struct Collection {
    shard: EdgeShard,
    replicas: u32,
    shards: u32,
    // It is removed after the shard is closed.
    _folder: TempDir,
}

/// The collections, by name.
#[derive(Clone, Default)]
struct Service {
    collections: Arc<RwLock<HashMap<String, Arc<Collection>>>>,
}

impl Service {
    fn of_name(&self, name: &str) -> Result<Arc<Collection>, Status> {
        let missing = || Status::not_found(format!("Not found: Collection `{name}` doesn't exist!"));
        self.collections.read().get(name).cloned().ok_or_else(missing)
    }
}

#[tonic::async_trait]
impl Qdrant for Service {
    async fn health_check(&self, _: Request<HealthCheckRequest>) -> Result<Response<HealthCheckReply>, Status> {
        let (title, version) = ("qdrant for tests".to_owned(), "1.17.0".to_owned());
        Ok(Response::new(HealthCheckReply { title, version, commit: None }))
    }
}
