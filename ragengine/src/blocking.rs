//! Work that computes or waits for the disk, apart from the threads that serve requests.

use crate::index::IndexError;

/// Runs such work. A panic in it goes on in the caller, as if the caller had done the work itself.
///
/// # Errors
///
/// What the work says, or [`IndexError::ShuttingDown`] when it was not begun.
pub async fn run<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, IndexError> + Send + 'static,
) -> Result<T, IndexError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(IndexError::ShuttingDown),
        },
    }
}
