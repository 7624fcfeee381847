use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Counts work on stores that goes on after a reply, so that the end of the process can wait for it.
#[derive(Debug, Clone, Default)]
pub struct Background(Arc<AtomicUsize>);

impl Background {
    /// Does some work in a task. Must be called in a tokio runtime.
    pub fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        // Made before the task, so that the end of the process waits for one that has not begun.
        let counted = Counted::new(self);
        tokio::spawn(async move {
            let done = work.await;
            drop(counted);
            done
        })
    }

    /// Waits until no work is left, but not longer than this. Returns whether none is.
    pub async fn has_ended(&self, limit: Duration) -> bool {
        let ended = async {
            while self.0.load(Ordering::Acquire) > 0 {
                sleep(POLL_INTERVAL).await;
            }
        };
        timeout(limit, ended).await.is_ok()
    }
}

/// Work that has not ended.
struct Counted(Background);

impl Counted {
    fn new(background: &Background) -> Self {
        background.0.fetch_add(1, Ordering::AcqRel);
        Self(background.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_is_waited_for_but_not_for_long() {
        let (background, limit) = (Background::default(), Duration::from_secs(2));
        assert!(background.has_ended(limit).await);
        let (go_on, gate) = oneshot::channel::<u8>();
        let work = background.spawn(gate);
        assert!(!background.has_ended(limit).await);
        go_on.send(7).unwrap();
        assert!(background.has_ended(limit).await);
        assert_eq!(work.await.unwrap(), Ok(7));
        // A task that is ended from outside counts no longer.
        let endless = background.spawn(std::future::pending::<()>());
        endless.abort();
        assert!(background.has_ended(limit).await);
    }
}
