//! A server of each database.

use ragengine_vector_database::Database;

use crate::nodes::Nodes;
use crate::qdrant::{self, Qdrant};

/// A server that ends when this is dropped.
enum Server {
    Weaviate(#[expect(dead_code, reason = "it is dropped")] Nodes),
    Qdrant(#[expect(dead_code, reason = "it is dropped")] Qdrant),
    /// The one that `QDRANT_URL` names. It goes on.
    Named,
}

/// A database with a server.
pub struct Running {
    pub database: Database,
    _server: Server,
}

impl Running {
    /// A node of Weaviate.
    pub async fn weaviate() -> Self {
        let nodes = Nodes::start(1).await;
        Self { database: nodes.client(0), _server: Server::Weaviate(nodes) }
    }

    /// The Qdrant that `QDRANT_URL` names, with the key in `QDRANT_API_KEY`, or else one for tests.
    pub async fn qdrant() -> Self {
        if let Ok(url) = std::env::var("QDRANT_URL") {
            let database = qdrant::database(url, std::env::var("QDRANT_API_KEY").ok());
            return Self { database, _server: Server::Named };
        }
        let server = Qdrant::start().await;
        Self { database: server.database(), _server: Server::Qdrant(server) }
    }
}

/// Makes tests of functions that take a [`Running`], with each database.
macro_rules! with_each_database {
    ($($test:ident),* $(,)?) => {
        mod weaviate {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                super::$test($crate::servers::Running::weaviate().await).await;
            })*
        }

        mod qdrant {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                super::$test($crate::servers::Running::qdrant().await).await;
            })*
        }
    };
}

pub(crate) use with_each_database;
