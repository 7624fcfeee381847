use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;

use crate::error::BuildError;
use crate::rag_engine::monitoring::Monitoring;
use crate::rag_engine::settings::{SETTINGS_FILE, settings_file, settings_file_of_another_version};
use crate::rag_engine::validate::Validated;

/// The ConfigMap with the settings file.
pub(super) fn config_map(validated: &Validated) -> Result<ConfigMap, BuildError> {
    let file = match validated.monitoring {
        Monitoring::OwnListener => settings_file(&validated.settings),
        Monitoring::SameListener => settings_file_of_another_version(&validated.settings, &validated.spec),
    }?;
    Ok(ConfigMap {
        metadata: validated.identity.owned(&validated.identity.settings()),
        data: Some(BTreeMap::from([(SETTINGS_FILE.to_owned(), file)])),
        ..ConfigMap::default()
    })
}
