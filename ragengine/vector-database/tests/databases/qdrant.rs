//! A Qdrant for tests: the program that `config/local/qdrant.sh` builds, on a free port.
//!
//! Functions panic when something is not as a test needs it.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ragengine_vector_database::{ApiKey, ClientOptions, Database, qdrant};
use sha2::{Digest as _, Sha256};

use super::nodes::{cache, free_pair};

/// It starts within this time.
const LIMIT: Duration = Duration::from_secs(30);

/// The key that it wants.
pub const API_KEY: &str = "k-9c1e";

/// What the program is made of, as `config/local/paths.sh` reads it.
const PARTS: [&str; 6] = [
    include_str!("../../../test-qdrant/Cargo.lock"),
    include_str!("../../../test-qdrant/Cargo.toml"),
    include_str!("../../../test-qdrant/src/collections.rs"),
    include_str!("../../../test-qdrant/src/convert.rs"),
    include_str!("../../../test-qdrant/src/main.rs"),
    include_str!("../../../test-qdrant/src/points.rs"),
];

/// A running Qdrant. It ends when this is dropped, and its data with it.
pub struct Qdrant {
    process: Child,
    port: u16,
}

impl Drop for Qdrant {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl Qdrant {
    /// Starts it, and waits until it is ready.
    pub async fn start() -> Self {
        let port = free_pair();
        let mut command = Command::new(program());
        command.env_clear().env("QDRANT__SERVICE__API_KEY", API_KEY);
        command.env("QDRANT__SERVICE__GRPC_PORT", port.to_string());
        let qdrant = Self { process: command.stdin(Stdio::null()).spawn().unwrap(), port };
        let (database, until) = (qdrant.database(), Instant::now() + LIMIT);
        while let Err(error) = database.ready().await {
            assert!(Instant::now() < until, "the Qdrant of the tests did not start: {error}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        qdrant
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A client.
    pub fn database(&self) -> Database {
        database(self.url(), Some(API_KEY.to_owned()))
    }
}

/// A client of a Qdrant.
pub fn database(url: String, api_key: Option<String>) -> Database {
    drop(rustls::crypto::ring::default_provider().install_default());
    let options = ClientOptions { api_key: api_key.map(ApiKey::new), ..ClientOptions::new(url) };
    Database::Qdrant(qdrant::Client::new(options).unwrap())
}

/// The program in the cache, under its hash.
fn program() -> PathBuf {
    let hash = hex::encode(Sha256::digest(PARTS.concat()));
    let program = cache().join(format!("tools/qdrant-{}/qdrant", &hash[..12]));
    assert!(program.exists(), "{} is missing: run config/local/qdrant.sh", program.display());
    program
}
