//! Runs the `helm` in PATH, on the cluster that `KUBECONFIG` names.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{Error, cluster};

/// The folder of the chart.
const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../charts/ragengine");

/// A release of the chart.
#[derive(Debug, Clone)]
pub struct Release {
    /// The name of the release.
    pub name: String,
    /// The namespace of the release.
    pub namespace: String,
}

impl Release {
    /// Installs the chart.
    ///
    /// # Errors
    ///
    /// With the output of Helm, when it fails.
    pub async fn install(&self, values: &Value) -> Result<String, Error> {
        self.with_chart(&["install"], CHART, values).await
    }

    /// Installs the chart, and takes over objects of other releases, such as a definition that was kept.
    ///
    /// # Errors
    ///
    /// With the output of Helm, when it fails.
    pub async fn install_and_take_over(&self, values: &Value) -> Result<String, Error> {
        self.install_and_take_over_from(Path::new(CHART), values).await
    }

    /// Installs another chart, such as an earlier one, and takes over objects of other releases.
    ///
    /// # Errors
    ///
    /// With the output of Helm, when it fails.
    pub async fn install_and_take_over_from(&self, chart: &Path, values: &Value) -> Result<String, Error> {
        self.with_chart(&["install", "--take-ownership"], &chart.to_string_lossy(), values).await
    }

    /// Upgrades the release.
    ///
    /// # Errors
    ///
    /// With the output of Helm, when it fails.
    pub async fn upgrade(&self, values: &Value) -> Result<String, Error> {
        self.with_chart(&["upgrade"], CHART, values).await
    }

    /// Upgrades the release as users do: these values are added to the existing ones.
    ///
    /// # Errors
    ///
    /// With the output of Helm, when it fails.
    pub async fn upgrade_and_keep_values(&self, values: &Value) -> Result<String, Error> {
        self.with_chart(&["upgrade", "--reset-then-reuse-values"], CHART, values).await
    }

    /// Uninstalls the release, and waits until that is done.
    ///
    /// # Errors
    ///
    /// With the output of Helm, when it fails.
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

/// Returns an image name as values of the chart.
///
/// # Errors
///
/// When it has no tag.
pub fn image_values(image: &str) -> Result<Value, Error> {
    // A colon before a slash belongs to the port of a registry.
    let parts = image.rsplit_once(':').filter(|(_, tag)| !tag.contains('/'));
    let (repository, tag) = parts.ok_or_else(|| Error::Environment(format!("the image {image} has no tag")))?;
    Ok(serde_json::json!({"repository": repository, "tag": tag}))
}

/// Reads a file of the chart.
///
/// # Errors
///
/// When the file does not exist.
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
        // The proxies in the environment cannot reach the cluster.
        for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
            helm.env_remove(proxy);
        }
        helm.output()
    });
    let ended = running.await.map_err(|error| Error::Unexpected(format!("{doing}: {error}")))?;
    let output = ended.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::Lacking("helm is not installed".to_owned()),
        _ => Error::Environment(format!("{doing}: {error}")),
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(Error::Unexpected(format!("{doing}: {}{}", text(&output.stdout), text(&output.stderr))))
    }
}
