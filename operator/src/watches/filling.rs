use std::sync::Arc;

use tokio::sync::watch;

/// Whether all caches have been filled. The caches' own way of waiting is for one waiter only.
#[derive(Clone)]
pub struct Filled {
    missing: Arc<watch::Sender<usize>>,
}

/// A cache that is to be filled.
pub struct Filling {
    missing: Option<Arc<watch::Sender<usize>>>,
}

impl Default for Filled {
    fn default() -> Self {
        Self { missing: Arc::new(watch::Sender::new(0)) }
    }
}

impl Filled {
    /// One more cache is to be filled.
    pub(super) fn another(&self) -> Filling {
        self.missing.send_modify(|missing| *missing += 1);
        Filling { missing: Some(Arc::clone(&self.missing)) }
    }

    /// Waits until no cache is left to be filled.
    pub async fn wait(&self) {
        // It ends with the sender, which is here.
        drop(self.missing.subscribe().wait_for(|missing| *missing == 0).await);
    }
}

impl Filling {
    /// It is filled. It may be said again: a watch that is begun anew fills its cache once more.
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
    async fn everybody_waits_for_the_last_cache() {
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
