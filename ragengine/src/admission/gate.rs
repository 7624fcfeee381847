use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::telemetry::metrics::{AdmissionMetrics, Counted};

/// A bounded FIFO queue in front of a bounded number of running requests.
pub struct Gate {
    work: &'static str,
    max_waiting: u32,
    /// Bounds the running and waiting requests together.
    admitted: Arc<Semaphore>,
    running: Arc<Semaphore>,
    metrics: AdmissionMetrics,
}

/// A place in the queue.
pub struct Place {
    _admitted: OwnedSemaphorePermit,
}

/// The right to run, until it is dropped.
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
    /// Creates a gate. `work` is the label of its metrics.
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

    /// The limit of waiting requests.
    pub fn max_waiting(&self) -> u32 {
        self.max_waiting
    }

    /// Returns a place in the queue, unless it is full.
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
