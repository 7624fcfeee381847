use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, InfoDict, RedisError, cmd};
use tokio::time::timeout;
use tracing::warn;

use super::failure;
use crate::remote::Failure;

/// The time for connecting and for trying whether the server works.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the key of the trial lives, in milliseconds.
const PROBE_MS: u64 = 1_000;

/// Connects, and writes a key: a server may accept connections, but no writes.
pub(super) async fn connect(client: &Client, probe: &str) -> Result<MultiplexedConnection, Failure> {
    // Operations have their own time limit.
    let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    let attempt = async {
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        cmd("SET").arg(probe).arg(1).arg("PX").arg(PROBE_MS).exec_async(&mut connection).await?;
        warn_of_eviction(&mut connection).await;
        Ok::<_, RedisError>(connection)
    };
    match timeout(CONNECT_TIMEOUT, attempt).await {
        Ok(connected) => connected.map_err(|error| match failure::of(&error) {
            // Without a connection, no value can be damaged.
            Failure::Damaged(words) | Failure::Other(words) => Failure::Unreachable(words),
            failure => failure,
        }),
        Err(_) => Err(Failure::no_answer(CONNECT_TIMEOUT)),
    }
}

/// Says in the log if the server removes keys when its memory is full. Such a session looks as if it had expired.
async fn warn_of_eviction(connection: &mut MultiplexedConnection) {
    // The user may lack the right for this command.
    let Ok(memory) = cmd("INFO").arg("memory").query_async::<InfoDict>(connection).await else { return };
    if let Some(policy) = eviction(&memory) {
        warn!(policy, "the server of redis.url removes keys when its memory is full: sessions may end early");
    }
}

/// The policy by which the server removes keys, if it does so.
fn eviction(memory: &InfoDict) -> Option<String> {
    let is_limited = memory.get::<u64>("maxmemory").is_some_and(|bytes| bytes > 0);
    memory.get::<String>("maxmemory_policy").filter(|policy| is_limited && policy != "noeviction")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_with_a_limit_and_a_policy_removes_keys() {
        for (memory, expected) in [
            ("maxmemory:1000\r\nmaxmemory_policy:allkeys-lru\r\n", Some("allkeys-lru")),
            ("maxmemory:1000\r\nmaxmemory_policy:noeviction\r\n", None),
            ("maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n", None),
            ("# Memory\r\n", None),
        ] {
            assert_eq!(eviction(&InfoDict::new(memory)).as_deref(), expected, "{memory}");
        }
    }
}
