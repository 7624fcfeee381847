use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use tracing::{info, warn};

use super::failure::Failure;
use super::state::State;

/// The wait after the first failed attempt. It doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Connects: at once, again after each failed attempt, and after an operation failed. Never returns.
pub(super) async fn watch<C: Clone, F>(state: Arc<State<C>>, setting: &'static str, connect: impl Fn() -> F)
where
    F: Future<Output = Result<C, Failure>>,
{
    let mut wait = FIRST_WAIT;
    let mut was_down = false;
    loop {
        let began = Instant::now();
        match connect().await {
            Ok(connection) => {
                state.is_ready(began, connection);
                if was_down {
                    info!("the database of {setting} is in use again");
                }
                (wait, was_down) = (FIRST_WAIT, false);
                state.suspicion.notified().await;
            }
            Err(failure) => {
                let problem = failure.words();
                if state.is_down(failure) {
                    warn!(problem, "the database of {setting} cannot be used: it is tried again");
                }
                was_down = true;
                sleep(wait).await;
                wait = (2 * wait).min(LONGEST_WAIT);
            }
        }
    }
}
