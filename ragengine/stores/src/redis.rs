//! A Redis server, shared by stores and servers.
//!
//! All operations share one connection, on which they do not wait for each other. Each is one script, which Redis runs
//! as a whole, in one round trip.

mod connect;
mod failure;
mod options;

use std::sync::Arc;

use ::redis::aio::MultiplexedConnection;
use ::redis::{Cmd, FromRedisValue};

pub use self::options::RedisOptions;
use crate::StoreError;
use crate::remote::Remote;

/// A Redis server, which may be out of reach.
pub struct Redis {
    remote: Remote<MultiplexedConnection>,
    prefix: String,
}

impl Redis {
    /// Connects to the server. If it is out of reach, that is done in the background, and operations fail until then.
    /// Must be called in a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`StoreError::Url`].
    pub async fn open(options: &RedisOptions) -> Result<Arc<Self>, StoreError> {
        let client = options.client()?;
        let prefix = format!("ragengine:{}", options.engine);
        let probe = format!("{prefix}:probe");
        let remote = Remote::open("redis.url", move || {
            let (client, probe) = (client.clone(), probe.clone());
            async move { connect::connect(&client, &probe).await }
        });
        Ok(Arc::new(Self { remote: remote.await, prefix }))
    }

    /// What is wrong now, in words for people and without secrets. None if the last operation succeeded.
    pub fn problem(&self) -> Option<String> {
        self.remote.problem()
    }

    /// What the keys of this engine begin with.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Runs a command, again if its connection is lost.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`], [`StoreError::Timeout`], or [`StoreError::Damaged`] if the reply or a value is not
    /// as expected.
    pub(crate) async fn run<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, StoreError> {
        let ask = |mut connection| async move { Ok(command.query_async(&mut connection).await?) };
        self.remote.run_again(ask).await
    }
}
