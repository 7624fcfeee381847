use std::sync::Arc;

use tokio::sync::watch;

/// Waits for all caches to be filled. Unlike the stores' own method, it supports several waiters.
#[derive(Clone)]
pub struct Filled {
    missing: Arc<watch::Sender<usize>>,
}

/// A cache that is not filled yet.
pub struct Filling {
    missing: Option<Arc<watch::Sender<usize>>>,
}

impl Default for Filled {
    fn default() -> Self {
        Self { missing: Arc::new(watch::Sender::new(0)) }
    }
}

impl Filled {
    /// Registers another cache.
    pub(super) fn another(&self) -> Filling {
        self.missing.send_modify(|missing| *missing += 1);
        Filling { missing: Some(Arc::clone(&self.missing)) }
    }

    /// Waits until all registered caches are filled.
    pub async fn wait(&self) {
        // This cannot fail, because `self` holds the sender.
        drop(self.missing.subscribe().wait_for(|missing| *missing == 0).await);
    }
}

impl Filling {
    /// Marks the cache as filled. May be called again, because a restarted watch fills its cache again.
    pub fn done(&mut self) {
        if let Some(missing) = self.missing.take() {
            missing.send_modify(|missing| *missing -= 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_waiters_wait_for_the_last_cache() {
        let filled = Filled::default();
        let (mut one, mut other) = (filled.another(), filled.another());
        let waiters: Vec<_> = (0..3)
            .map(|_| {
                let filled = filled.clone();
                tokio::spawn(async move { filled.wait().await })
            })
            .collect();
        one.done();
        one.done();
        tokio::task::yield_now().await;
        assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
        other.done();
        for waiter in waiters {
            waiter.await.unwrap();
        }
        filled.wait().await;
    }
}
