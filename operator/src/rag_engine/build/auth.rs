use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;

use crate::access_rules::access_file;
use crate::defaults::Defaults;
use crate::error::BuildError;
use crate::names::TOKEN_ISSUER;
use crate::rag_engine::observe::Observed;
use crate::rag_engine::settings::{ACCESS_FILE, KEYS_FILE, has_modes};
use crate::rag_engine::validate::Validated;

/// The ConfigMap with the rules of indexes and the keys of the cluster's issuer. The server reads them again, so a change
/// does not restart the pod. The annotation keeps the issuer's name for an operator that cannot read it after a restart.
pub(super) fn auth(
    validated: &Validated,
    observed: &Observed,
    defaults: &Defaults,
) -> Result<Option<ConfigMap>, BuildError> {
    if !has_modes(&validated.spec) {
        return Ok(None);
    }
    let mut metadata = validated.identity.owned(&validated.identity.auth());
    let mut data = BTreeMap::from([(ACCESS_FILE.to_owned(), access_file(&observed.rules, defaults)?)]);
    if let Some(issuer) = observed.issuer() {
        metadata.annotations = Some(BTreeMap::from([(TOKEN_ISSUER.to_owned(), issuer.name.clone())]));
        data.insert(KEYS_FILE.to_owned(), issuer.keys.clone());
    }
    Ok(Some(ConfigMap { metadata, data: Some(data), ..ConfigMap::default() }))
}
