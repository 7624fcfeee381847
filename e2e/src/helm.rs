//! Helm, as a user calls it: the program in PATH, on the cluster that `KUBECONFIG` names.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{Error, cluster};

/// The chart.
const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../charts/ragengine");

/// A release of the chart.
#[derive(Debug, Clone)]
pub struct Release {
    /// Its name.
    pub name: String,
    /// The namespace that it is in.
    pub namespace: String,
}

impl Release {
    /// Installs the chart.
    ///
    /// # Errors
    ///
    /// With what Helm says.
    pub async fn install(&self, values: &Value) -> Result<String, Error> {
        self.with_chart(&["install"], CHART, values).await
    }

    /// Installs the chart, and takes over objects of another release, such as a definition that was kept.
    ///
    /// # Errors
    ///
    /// With what Helm says.
    pub async fn install_and_take_over(&self, values: &Value) -> Result<String, Error> {
        self.install_and_take_over_from(Path::new(CHART), values).await
    }

    /// The same with the chart in this folder, such as an earlier one.
    ///
    /// # Errors
    ///
    /// With what Helm says.
    pub async fn install_and_take_over_from(&self, chart: &Path, values: &Value) -> Result<String, Error> {
        self.with_chart(&["install", "--take-ownership"], &chart.to_string_lossy(), values).await
    }

    /// Brings the release up to date.
    ///
    /// # Errors
    ///
    /// With what Helm says.
    pub async fn upgrade(&self, values: &Value) -> Result<String, Error> {
        self.with_chart(&["upgrade"], CHART, values).await
    }

    /// Brings the release up to date as users do it: the values that it has stay, but for these.
    ///
    /// # Errors
    ///
    /// With what Helm says.
    pub async fn upgrade_and_keep_values(&self, values: &Value) -> Result<String, Error> {
        self.with_chart(&["upgrade", "--reset-then-reuse-values"], CHART, values).await
    }

    /// Removes the release, and waits until that is done.
    ///
    /// # Errors
    ///
    /// With what Helm says.
    pub async fn uninstall(&self) -> Result<String, Error> {
        helm(["uninstall", &self.name, "--namespace", &self.namespace, "--wait"].map(str::to_owned).to_vec()).await
    }

    async fn with_chart(&self, command: &[&str], chart: &str, values: &Value) -> Result<String, Error> {
        let mut arguments: Vec<String> = command.iter().map(|part| (*part).to_owned()).collect();
        arguments.extend([&self.name, chart, "--namespace", &self.namespace].map(str::to_owned));
        for (name, value) in values.as_object().into_iter().flatten() {
            arguments.extend(["--set-json".to_owned(), format!("{name}={value}")]);
        }
        helm(arguments).await
    }
}

/// An image as the chart's values have it.
///
/// # Errors
///
/// When it has no tag.
pub fn image_values(image: &str) -> Result<Value, Error> {
    // The port of a registry has a colon too, and a slash behind it.
    let parts = image.rsplit_once(':').filter(|(_, tag)| !tag.contains('/'));
    let (repository, tag) = parts.ok_or_else(|| Error::Environment(format!("the image {image} has no tag")))?;
    Ok(serde_json::json!({"repository": repository, "tag": tag}))
}

/// The file of the chart with this path.
///
/// # Errors
///
/// When there is none.
pub fn chart_file(path: &str) -> Result<String, Error> {
    let path = Path::new(CHART).join(path);
    std::fs::read_to_string(&path).map_err(|error| Error::Unexpected(format!("{}: {error}", path.display())))
}

async fn helm(arguments: Vec<String>) -> Result<String, Error> {
    let doing = format!("helm {}", arguments.join(" "));
    cluster::require_kubeconfig()?;
    let running = tokio::task::spawn_blocking(move || {
        let mut helm = Command::new("helm");
        helm.args(arguments);
        // As for the tests themselves: whatever proxy the environment names leads elsewhere.
        for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
            helm.env_remove(proxy);
        }
        helm.output()
    });
    let ended = running.await.map_err(|error| Error::Unexpected(format!("{doing}: {error}")))?;
    let output = ended.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::Lacking("there is no helm".to_owned()),
        _ => Error::Environment(format!("{doing}: {error}")),
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(Error::Unexpected(format!("{doing}: {}{}", text(&output.stdout), text(&output.stderr)))),
    }
}
