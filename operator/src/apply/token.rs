//! The Secret with the write token: the only object that is made once and never applied.

use k8s_openapi::api::core::v1::Secret;
use kube::api::{PartialObjectMeta, PostParams};
use tracing::info;

use super::memory::Decision;
use super::{ApplyError, Freshness, Writer, classify, described};
use crate::names::FIELD_MANAGER;
use crate::rag_engine::build::{WriteToken, secret};
use crate::requests::within_limit;

/// Random bytes of a write token.
const TOKEN_BYTES: usize = 32;

impl Writer<'_> {
    /// Makes the token once. A Secret that is there, ours or a user's, is left as it is; one that is not wanted any more goes with the engine: nobody
    /// may delete Secrets for that.
    pub(super) async fn write_token(
        &self,
        desired: Option<WriteToken>,
        live: Option<&PartialObjectMeta<Secret>>,
    ) -> Result<Freshness, ApplyError> {
        match (desired, live) {
            (Some(desired), None) => self.make_token(desired).await,
            (Some(_), Some(_)) | (None, _) => Ok(Freshness::Current),
        }
    }

    async fn make_token(&self, desired: WriteToken) -> Result<Freshness, ApplyError> {
        let name = desired.metadata.name.clone().unwrap_or_default();
        let key = self.key::<Secret>(&name);
        if self.memory.decide(&key, "made", None) != Decision::Compare {
            return Ok(Freshness::Lagging);
        }
        let object = described::<Secret>(&name);
        let secret = secret(desired, random_token()?);
        let parameters = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        match within_limit(self.api::<Secret>().create(&parameters, &secret)).await {
            Ok(made) => {
                self.memory.sent(key, "made", made.metadata.resource_version.as_deref());
                let engine = format!("{}/{}", self.identity.namespace, self.identity.name);
                info!(engine, object, "made");
                Ok(Freshness::Lagging)
            }
            // Somebody was faster: that one counts.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Freshness::Lagging),
            Err(error) => Err(classify(object, error)),
        }
    }
}

/// 256 bits, in hexadecimal.
fn random_token() -> Result<String, ApplyError> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(ApplyError::Randomness)?;
    Ok(hex::encode(bytes))
}
