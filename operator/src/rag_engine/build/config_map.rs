use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;

use crate::error::BuildError;
use crate::rag_engine::monitoring::Monitoring;
use crate::rag_engine::observe::Observed;
use crate::rag_engine::settings::{
    SETTINGS_FILE, settings_file, settings_file_of_another_version, with_cluster_issuer,
};
use crate::rag_engine::validate::Validated;

/// The ConfigMap with the settings file.
pub(super) fn config_map(validated: &Validated, observed: &Observed) -> Result<ConfigMap, BuildError> {
    let mut settings = validated.settings.clone();
    if let Some(issuer) = observed.issuer() {
        settings = with_cluster_issuer(settings, &issuer.name);
    }
    let file = match validated.monitoring {
        Monitoring::OwnListener => settings_file(&settings),
        Monitoring::SameListener => settings_file_of_another_version(&settings, &validated.spec),
    }?;
    Ok(ConfigMap {
        metadata: validated.identity.owned(&validated.identity.settings()),
        data: Some(BTreeMap::from([(SETTINGS_FILE.to_owned(), file)])),
        ..ConfigMap::default()
    })
}
