use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::ObjectMeta;
use ragengine_operator_api::{WRITE_TOKEN, Writes};
use serde::Serialize;

use crate::rag_engine::validate::Validated;

/// The metadata of the Secret with the write token. The token is generated only when the Secret is created.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct WriteToken {
    /// Name, labels and owner.
    pub metadata: ObjectMeta,
}

/// The Secret, unless writes are open.
pub(super) fn write_token(validated: &Validated) -> Option<WriteToken> {
    let identity = &validated.identity;
    (validated.spec.auth.writes == Writes::Token)
        .then(|| WriteToken { metadata: identity.owned(&identity.write_token()) })
}

/// The Secret with the token.
pub fn secret(token: WriteToken, value: String) -> Secret {
    Secret {
        metadata: token.metadata,
        type_: Some("Opaque".to_owned()),
        data: Some(BTreeMap::from([(WRITE_TOKEN.to_owned(), ByteString(value.into_bytes()))])),
        ..Secret::default()
    }
}
