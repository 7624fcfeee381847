//! The Secret with the write token, which is created once and never updated.

use k8s_openapi::api::core::v1::Secret;
use kube::api::PartialObjectMeta;

use crate::apply::{ApplyError, Freshness, Writer};
use crate::rag_engine::build::{WriteToken, secret};

/// The length of a write token in bytes, before it is encoded.
const TOKEN_BYTES: usize = 32;

/// Creates the token if there is none. An existing Secret is left unchanged, also one that a user created. A Secret
/// that is no longer needed stays until the engine is deleted, because the operator has no permission to delete
/// Secrets.
pub(super) async fn write_token(
    writer: &Writer<'_>,
    desired: Option<WriteToken>,
    live: Option<&PartialObjectMeta<Secret>>,
) -> Result<Freshness, ApplyError> {
    let (Some(desired), None) = (desired, live) else { return Ok(Freshness::Current) };
    let name = desired.metadata.name.clone().unwrap_or_default();
    writer.make_once(&name, || Ok(secret(desired, random_token()?))).await
}

/// A random token in hexadecimal.
fn random_token() -> Result<String, ApplyError> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(ApplyError::Randomness)?;
    Ok(hex::encode(bytes))
}
