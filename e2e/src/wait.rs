//! Waits for conditions, with a time limit. No test sleeps for a fixed time.

use std::fmt::Debug;
use std::time::Duration;

use kube::Api;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout_at};

use crate::Error;

/// The time limit of most waits. The longest is for a server that loads its model, on a busy machine with two cores.
pub const TIMEOUT: Duration = Duration::from_secs(180);

/// The delay between checks.
const INTERVAL: Duration = Duration::from_millis(200);

/// Calls `look` until it returns a value. Its errors may be temporary, for example when the API server does not answer
/// for a moment. The error of this function has the last one.
///
/// # Errors
///
/// [`Error::Deadline`] after [`TIMEOUT`].
pub async fn until<T>(wanted: &str, look: impl AsyncFnMut() -> Result<T, String>) -> Result<T, Error> {
    until_within(TIMEOUT, wanted, look).await
}

async fn until_within<T>(
    timeout: Duration,
    wanted: &str,
    mut look: impl AsyncFnMut() -> Result<T, String>,
) -> Result<T, Error> {
    let deadline = Instant::now() + timeout;
    let mut seen = "unknown: the first check took too long".to_owned();
    loop {
        match timeout_at(deadline, look()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(instead)) => seen = instead,
            Err(_) => {}
        }
        if Instant::now() + INTERVAL >= deadline {
            return Err(Error::Deadline { wanted: wanted.to_owned(), timeout_s: timeout.as_secs(), seen });
        }
        sleep(INTERVAL).await;
    }
}

/// Calls `judge` with an object until it returns a value. Otherwise `judge` returns a description of the object.
///
/// # Errors
///
/// [`Error::Deadline`] after [`TIMEOUT`].
pub async fn until_object<K, T>(
    api: &Api<K>,
    name: &str,
    wanted: &str,
    mut judge: impl FnMut(&K) -> Result<T, String>,
) -> Result<T, Error>
where
    K: Clone + DeserializeOwned + Debug,
{
    until(wanted, async || match api.get_opt(name).await {
        Ok(Some(object)) => judge(&object),
        Ok(None) => Err(format!("{name} does not exist")),
        Err(error) => Err(error.to_string()),
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_value_ends_the_wait() {
        let mut looks = 0;
        let seen = until("three looks", async || {
            looks += 1;
            if looks == 3 { Ok(looks) } else { Err(format!("{looks} looks")) }
        });
        assert_eq!(seen.await.unwrap(), 3);
    }

    #[tokio::test]
    async fn the_error_says_what_was_wanted_and_what_was_seen() {
        let one_second = Duration::from_secs(1);
        let waiting = until_within::<()>(one_second, "a blue moon", async || Err("a white one".to_owned()));
        let error = waiting.await.unwrap_err();
        assert_eq!(error.to_string(), "not met within 1 s: a blue moon; last state: a white one");
    }

    #[tokio::test]
    async fn a_look_that_hangs_ends_with_the_wait() {
        let mut looks = 0;
        let hanging = until_within::<()>(Duration::from_secs(1), "an answer", async || {
            looks += 1;
            if looks == 2 {
                std::future::pending::<()>().await;
            }
            Err("no answer".to_owned())
        });
        assert!(hanging.await.unwrap_err().to_string().ends_with("last state: no answer"));
    }
}
