//! The lines around the passages of a prompt.

use ragengine_pipeline::prompt::Boundary;

use crate::error::ApiError;

/// Creates a boundary that documents cannot predict.
///
/// # Errors
///
/// [`ApiError::Internal`] if the system has no random numbers.
pub fn new_boundary() -> Result<Boundary, ApiError> {
    let random = getrandom::u64();
    let random = random.map_err(|error| ApiError::Internal(format!("the system has no random numbers: {error}")))?;
    Ok(Boundary::of(random))
}
