//! The background task that sends events.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::select;
use tokio::time::{Instant, sleep, sleep_until};

use crate::backoff::Backoff;
use crate::failure::Failure;
use crate::link::{Link, Verdict};
use crate::options::Target;
use crate::state::State;

/// How many events may be on their way without a confirmation.
const MOST_UNCONFIRMED: usize = 100;

/// A connection that held so long was a good one.
const GOOD: Duration = Duration::from_secs(10);

/// Connects, and sends events until the connection is lost, again and again. Never returns.
pub(crate) async fn run(state: Arc<State>, target: Target) {
    let mut backoff = Backoff::new();
    loop {
        let failure = match Link::open(&target).await {
            Ok(link) => {
                state.is_connected();
                let began = Instant::now();
                let failure = serve(&state, link, &mut backoff).await;
                if began.elapsed() >= GOOD {
                    backoff.reset();
                }
                failure
            }
            Err(failure) => failure,
        };
        state.is_down(failure);
        sleep(backoff.next(fastrand::f64())).await;
    }
}

/// Sends events until the connection is lost. Returns why.
async fn serve(state: &State, mut link: Link, backoff: &mut Backoff) -> Failure {
    let mut unconfirmed = FuturesUnordered::new();
    let mut pause = Instant::now();
    loop {
        while unconfirmed.len() < MOST_UNCONFIRMED && pause <= Instant::now() {
            let Some((number, message)) = state.send_next() else { break };
            match link.send(&message).await {
                Ok(verdict) => unconfirmed.push(async move { (number, verdict.await) }),
                Err(failure) => return link.explained(failure).await,
            }
        }
        select! {
            Some((number, verdict)) = unconfirmed.next() => match verdict {
                Ok(verdict) => {
                    state.judged(number, verdict);
                    if verdict == Verdict::Refused {
                        pause = Instant::now() + backoff.next(fastrand::f64());
                    } else {
                        backoff.reset();
                    }
                }
                Err(failure) => return link.explained(failure).await,
            },
            failure = link.lost() => return failure,
            () = state.arrived.notified() => {}
            () = sleep_until(pause), if pause > Instant::now() => {}
        }
    }
}
