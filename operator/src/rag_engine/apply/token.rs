//! The Secret with the write token, which is made once and never applied.

use k8s_openapi::api::core::v1::Secret;
use kube::api::PartialObjectMeta;

use crate::apply::{ApplyError, Freshness, Writer};
use crate::rag_engine::build::{WriteToken, secret};

/// Random bytes of a write token.
const TOKEN_BYTES: usize = 32;

/// Makes the token once. A Secret that is there, ours or a user's, is left as it is; one that is not wanted any more goes with the engine: nobody
/// may delete Secrets for that.
pub(super) async fn write_token(
    writer: &Writer<'_>,
    desired: Option<WriteToken>,
    live: Option<&PartialObjectMeta<Secret>>,
) -> Result<Freshness, ApplyError> {
    let (Some(desired), None) = (desired, live) else { return Ok(Freshness::Current) };
    let name = desired.metadata.name.clone().unwrap_or_default();
    writer.make_once(&name, || Ok(secret(desired, random_token()?))).await
}

/// 256 bits, in hexadecimal.
fn random_token() -> Result<String, ApplyError> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(ApplyError::Randomness)?;
    Ok(hex::encode(bytes))
}
