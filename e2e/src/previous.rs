//! The previous release: the commit that `e2e/previous` names. `e2e/cluster/previous.sh` provides it.

use std::env;
use std::path::PathBuf;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::Error;

/// The files of the definitions in its chart, in the order of [`crate::definition::NAMES`].
const DEFINITIONS: [&str; 2] = ["files/crds/ragengine.dev_ragengines.yaml", "files/crds/ragengine.dev_indexes.yaml"];

/// The previous release.
#[derive(Debug, Clone)]
pub struct Previous {
    /// The folder of its chart.
    pub chart: PathBuf,
    /// The image of its server.
    pub server_image: String,
    /// The image of its operator.
    pub operator_image: String,
}

impl Previous {
    /// Reads the environment.
    ///
    /// # Errors
    ///
    /// When building it failed. When its images were not requested: [`Error::Lacking`].
    pub fn find() -> Result<Self, Error> {
        if let Some(why) = variable("RAGENGINE_PREVIOUS_FAILURE") {
            return Err(Error::Environment(format!("the previous release could not be built:\n{why}")));
        }
        let wanted = |name: &str| variable(name).ok_or_else(|| Error::Lacking(format!("{name} is not set")));
        Ok(Self {
            server_image: wanted("RAGENGINE_PREVIOUS_IMAGE")?,
            operator_image: wanted("RAGENGINE_PREVIOUS_OPERATOR_IMAGE")?,
            chart: wanted("RAGENGINE_PREVIOUS_CHART")?.into(),
        })
    }

    /// Reads its definitions, in the order of [`crate::definition::NAMES`].
    ///
    /// # Errors
    ///
    /// When its chart lacks them.
    pub fn definitions(&self) -> Result<Vec<CustomResourceDefinition>, Error> {
        let read = |path: &str| {
            let path = self.chart.join(path);
            let wrong = |error: &dyn ToString| Error::Unexpected(format!("{}: {}", path.display(), error.to_string()));
            let text = std::fs::read_to_string(&path).map_err(|error| wrong(&error))?;
            serde_saphyr::from_str(&text).map_err(|error| wrong(&error))
        };
        DEFINITIONS.into_iter().map(read).collect()
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
