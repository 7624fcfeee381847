//! Waiting for a server that starts or is busy.

use std::io::Write;
use std::time::Duration;

use anyhow::Context as _;
use ragengine_client::ClientError;
use tokio::time::{Instant, sleep};

use crate::cli::connect::with_advice;

/// How long a task waits for its server. Pulling an image and loading a model takes minutes.
const LONGEST_WAIT: Duration = Duration::from_secs(30 * 60);

/// The pause before the second attempt. It doubles for each further attempt.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Repeats a request until the server takes it, fails for another reason than that it starts or is busy, or 30 minutes
/// have passed. The log gets a line when the wait begins, and one when it was worth it. `jitter` returns numbers in 0..1,
/// which spread the attempts of several tasks.
///
/// # Errors
///
/// The error of the last attempt.
pub async fn until_taken<T, F>(
    mut request: impl FnMut() -> F,
    log: &mut impl Write,
    mut jitter: impl FnMut() -> f64,
) -> anyhow::Result<T>
where
    F: Future<Output = anyhow::Result<T>>,
{
    let (begin, mut longest_pause, mut is_waiting) = (Instant::now(), FIRST_PAUSE, false);
    loop {
        let error = match request().await {
            Ok(taken) => {
                if is_waiting {
                    writeln!(log, "ragengine: the server was ready after {} s", begin.elapsed().as_secs())?;
                }
                return Ok(taken);
            }
            Err(error) if passes(&error) => error,
            Err(error) => return Err(error),
        };
        let left = LONGEST_WAIT.saturating_sub(begin.elapsed());
        if left.is_zero() {
            return Err(
                with_advice(error).context(format!("the server was not ready within {} s", LONGEST_WAIT.as_secs()))
            );
        }
        if !is_waiting {
            is_waiting = true;
            let minutes = LONGEST_WAIT.as_secs() / 60;
            writeln!(log, "ragengine: {error:#}. Waiting for the server for up to {minutes} minutes")
                .context("cannot write to the log")?;
        }
        sleep(longest_pause.mul_f64(0.5 + jitter() / 2.0).min(left)).await;
        longest_pause = (2 * longest_pause).min(LONGEST_PAUSE);
    }
}

/// Whether an error is one of a server that starts or is busy.
fn passes(error: &anyhow::Error) -> bool {
    match error.downcast_ref::<ClientError>() {
        // While a pod starts, connections are refused, or time out, or are closed before an answer.
        Some(ClientError::Unreachable { .. } | ClientError::Transport { .. }) => true,
        Some(ClientError::Refused { status, .. }) => matches!(status, 429 | 503),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn refused(status: u16) -> ClientError {
        ClientError::Refused { status, message: "no".to_owned() }
    }

    fn unreachable() -> ClientError {
        ClientError::Unreachable { url: "http://docs".to_owned(), reason: "refused".to_owned() }
    }

    /// Makes attempts with these outcomes, and then successful ones. Returns the outcome, when the attempts were, in
    /// seconds, and the log.
    async fn attempt(
        mut outcome: impl FnMut(usize) -> Result<u8, ClientError>,
        jitter: f64,
    ) -> (anyhow::Result<u8>, Vec<u64>, String) {
        let (begin, times, mut log) = (Instant::now(), RefCell::new(Vec::new()), Vec::new());
        let request = || {
            times.borrow_mut().push(begin.elapsed().as_secs());
            std::future::ready(outcome(times.borrow().len()).map_err(Into::into))
        };
        let outcome = until_taken(request, &mut log, || jitter).await;
        (outcome, times.into_inner(), String::from_utf8(log).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_starts_is_waited_for() {
        let answers = |attempt| match attempt {
            1..=4 => Err(unreachable()),
            5..=7 => Err(refused(503)),
            8 => Err(refused(429)),
            _ => Ok(7),
        };
        let (outcome, times, log) = attempt(answers, 1.0).await;
        assert_eq!(outcome.unwrap(), 7);
        assert_eq!(times, [0, 1, 3, 7, 15, 31, 61, 91, 121]);
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines[1], "ragengine: the server was ready after 121 s");
        assert!(lines.len() == 2 && lines[0].contains("refused. Waiting for the server for up to 30 min"), "{log}");
        assert_eq!(attempt(answers, 0.0).await.1[8], 60);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_never_answers_is_an_error_after_half_an_hour() {
        for jitter in [0.0, 0.99] {
            let (outcome, times, log) = attempt(|_| Err(unreachable()), jitter).await;
            let error = format!("{:#}", outcome.unwrap_err());
            assert!(error.starts_with("the server was not ready within 1800 s: no connection"), "{error}");
            assert_eq!((times.last(), log.lines().count()), (Some(&1800), 1));
            assert!((60..200).contains(&times.len()), "{times:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn other_errors_are_not_waited_for() {
        for status in [400, 401, 404, 500, 507] {
            let (outcome, times, log) = attempt(|_| Err(refused(status)), 0.5).await;
            assert!(outcome.is_err() && times == [0] && log.is_empty(), "{status}: {times:?} {log}");
        }
        let (outcome, times, _) = attempt(|_| Ok(1), 0.5).await;
        assert_eq!((outcome.unwrap(), times), (1, vec![0]));
    }
}
