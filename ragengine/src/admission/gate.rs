use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::telemetry::metrics::{AdmissionMetrics, Counted};

/// A bounded queue before a bounded number of places to work at. First come, first served.
pub struct Gate {
    work: &'static str,
    max_waiting: u32,
    /// Those who run or wait.
    admitted: Arc<Semaphore>,
    running: Arc<Semaphore>,
    metrics: AdmissionMetrics,
}

/// A place in the queue.
pub struct Place {
    _admitted: OwnedSemaphorePermit,
}

/// The right to work, until it is dropped.
#[derive(Clone)]
pub struct Permit {
    _held: Arc<PermitHeld>,
}

struct PermitHeld {
    _running: OwnedSemaphorePermit,
    _place: Place,
    _counted: Counted,
}

impl Gate {
    /// A gate whose metrics have this label.
    pub fn new(work: &'static str, max_running: u32, max_waiting: u32, metrics: &AdmissionMetrics) -> Self {
        let (running, waiting) = (max_running as usize, max_waiting as usize);
        Self {
            work,
            max_waiting,
            admitted: Arc::new(Semaphore::new(running + waiting)),
            running: Arc::new(Semaphore::new(running)),
            metrics: metrics.clone(),
        }
    }

    /// How many may wait.
    pub fn max_waiting(&self) -> u32 {
        self.max_waiting
    }

    /// A place, when there is one.
    pub fn queue(&self) -> Option<Place> {
        Arc::clone(&self.admitted).try_acquire_owned().ok().map(|admitted| Place { _admitted: admitted })
    }

    /// Waits in the queue.
    pub async fn turn(&self, place: Place) -> Permit {
        let waiting = self.metrics.waits(self.work);
        let Ok(running) = Arc::clone(&self.running).acquire_owned().await else {
            // The semaphore is never closed.
            return std::future::pending().await;
        };
        drop(waiting);
        let counted = self.metrics.runs(self.work);
        Permit { _held: Arc::new(PermitHeld { _running: running, _place: place, _counted: counted }) }
    }
}
