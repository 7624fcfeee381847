//! The rendered Helm chart: config/base with the default values, charts/ragengine/tests with each of the values there.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::place::Place;
use crate::run;

/// The values that the chart is rendered with besides the default ones, sorted.
///
/// # Errors
///
/// The folder cannot be read.
pub fn values(place: &Place) -> Result<Vec<PathBuf>> {
    let mut values = Vec::new();
    for entry in fs::read_dir(place.root.join("charts/ragengine/tests"))? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(".values.yaml") {
            values.push(path);
        }
    }
    values.sort();
    Ok(values)
}

/// Renders the chart into `folder`, with the generated chart files that `folder` already has. Each rendered file begins
/// with `head`.
///
/// # Errors
///
/// Helm fails, or a file cannot be written.
pub fn render(place: &Place, folder: &Path, head: &str) -> Result<()> {
    let Some(helm) = place.helm() else {
        println!("config/base and charts/ragengine/tests skipped: helm is missing (e2e/cluster/helm.sh installs it)");
        return Ok(());
    };
    let chart = tempfile::tempdir()?;
    for from in [place.root.join("charts/ragengine"), folder.join("charts/ragengine")] {
        let source = format!("{}/.", from.display());
        run::run(run::command("cp", &place.root).args(["--recursive", &source]).arg(chart.path()))?;
    }
    let template = |output: PathBuf, options: &[&str]| -> Result<()> {
        let mut command = run::command(&helm, &place.root);
        command.args(["template", "ragengine"]).arg(chart.path()).args(["--namespace", "ragengine-system"]);
        command.args(["--kube-version", &place.kubernetes_version]).args(options);
        let rendered = run::output(&mut command)?;
        if let Some(parent) = output.parent() {
            fs::create_dir_all(parent)?;
        }
        Ok(fs::write(output, format!("{head}{rendered}"))?)
    };
    template(folder.join("config/base/operator.yaml"), &[])?;
    for values in values(place)? {
        let name = values.file_name().unwrap_or_default().to_string_lossy().replace(".values.yaml", ".yaml");
        template(folder.join("charts/ragengine/tests").join(name), &["--values", &values.to_string_lossy()])?;
    }
    Ok(())
}
