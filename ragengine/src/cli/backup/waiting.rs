//! Waiting for a server that starts or is busy.

use std::io::Write;
use std::time::Duration;

use anyhow::Context as _;
use ragengine_client::ClientError;
use tokio::time::{Instant, sleep};

use crate::cli::connect::with_advice;

/// How long a task waits for its server. Pulling an image and loading a model takes minutes.
const LONGEST_WAIT: Duration = Duration::from_secs(30 * 60);

/// How long a task waits for an index that cannot be used. The server opens it again at least every minute if that may
/// help; else a person must act.
const LONGEST_WAIT_FOR_INDEX: Duration = Duration::from_secs(3 * 60);

/// The pause before the second attempt. It doubles for each further attempt.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Repeats a request until the server takes it, fails for another reason than that it starts or is busy, or 30 minutes
/// have passed, 3 if only an index cannot be used. The log gets a line when the wait begins, and one when it was worth
/// it. `jitter` returns numbers in 0..1, which spread the attempts of several tasks.
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
    let (begin, mut longest_pause) = (Instant::now(), FIRST_PAUSE);
    // How long the task waits for what it waits for now, and since when.
    let mut waiting: Option<(Duration, Instant)> = None;
    loop {
        let error = match request().await {
            Ok(taken) => {
                if waiting.is_some() {
                    writeln!(log, "ragengine: the server was ready after {} s", begin.elapsed().as_secs())?;
                }
                return Ok(taken);
            }
            Err(error) => error,
        };
        let Some(longest) = longest_wait(&error) else { return Err(error) };
        let is_first = waiting.is_none();
        let since = waiting.filter(|(known, _)| *known == longest).map_or_else(Instant::now, |(_, since)| since);
        waiting = Some((longest, since));
        let left = longest.saturating_sub(since.elapsed()).min(LONGEST_WAIT.saturating_sub(begin.elapsed()));
        if left.is_zero() {
            let seconds = begin.elapsed().as_secs();
            return Err(with_advice(error).context(format!("the server was not ready within {seconds} s")));
        }
        if is_first {
            let minutes = longest.as_secs() / 60;
            writeln!(log, "ragengine: {error:#}. Waiting for the server for up to {minutes} minutes")
                .context("cannot write to the log")?;
        }
        sleep(longest_pause.mul_f64(0.5 + jitter() / 2.0).min(left)).await;
        longest_pause = (2 * longest_pause).min(LONGEST_PAUSE);
    }
}

/// How long a task waits after an error: it may be one of a server that starts or is busy. None if waiting does not
/// help.
fn longest_wait(error: &anyhow::Error) -> Option<Duration> {
    match error.downcast_ref::<ClientError>()? {
        error if error.is_unavailable_index() => Some(LONGEST_WAIT_FOR_INDEX),
        // While a pod starts, connections are refused, or time out, or are closed before an answer.
        ClientError::Unreachable { .. } | ClientError::Transport { .. } => Some(LONGEST_WAIT),
        ClientError::Refused { status: 429 | 503, .. } => Some(LONGEST_WAIT),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use ragengine_index::IndexError;

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
    async fn an_index_that_cannot_be_used_is_waited_for_3_minutes_after_the_server_has_started() {
        let unavailable = || {
            let (index, reason) = ("docs".to_owned(), "restore its backup".to_owned());
            let message = IndexError::Unavailable { index, reason }.to_string();
            ClientError::Refused { status: 503, message }
        };
        for starts in [0, 11] {
            let answers = |attempt: usize| if attempt <= starts { Err(refused(503)) } else { Err(unavailable()) };
            let (outcome, times, log) = attempt(answers, 1.0).await;
            let error = format!("{:#}", outcome.unwrap_err());
            assert!(error.contains("index 'docs' cannot be used now: restore its backup"), "{error}");
            assert_eq!((times.last(), log.lines().count()), (Some(&(times[starts] + 180)), 1), "{times:?}");
            assert!(log.contains(if starts == 0 { "for up to 3 minutes" } else { "for up to 30 minutes" }), "{log}");
        }
        // What changes again and again is not waited for without end.
        let answers = |attempt: usize| if attempt.is_multiple_of(2) { Err(refused(503)) } else { Err(unavailable()) };
        assert_eq!(attempt(answers, 1.0).await.1.last(), Some(&1800));
    }

    #[tokio::test(start_paused = true)]
    async fn other_errors_are_not_waited_for() {
        for status in [400, 401, 404, 500, 507] {
            let (outcome, times, log) = attempt(|_| Err(refused(status)), 0.5).await;
            assert!(outcome.is_err() && times == [0] && log.is_empty(), "{status}: {times:?} {log}");
        }
        let untrusted =
            || ClientError::Untrusted { url: "https://docs".to_owned(), reason: "unknown issuer".to_owned() };
        let (outcome, times, log) = attempt(|_| Err(untrusted()), 0.5).await;
        assert!(outcome.is_err() && times == [0] && log.is_empty(), "{times:?} {log}");
        let (outcome, times, _) = attempt(|_| Ok(1), 0.5).await;
        assert_eq!((outcome.unwrap(), times), (1, vec![0]));
    }
}
