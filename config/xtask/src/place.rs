//! Where things are. The scripts in config/local and e2e/cluster know; they are asked once.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::run;

/// The folders that the commands use.
pub struct Place {
    /// The checkout.
    pub root: PathBuf,
    /// Cargo's target folder.
    pub target: PathBuf,
    /// Helm and kubectl.
    pub cluster_bin: PathBuf,
    /// The program promtool.
    pub promtool: PathBuf,
    /// cargo-deny.
    pub cargo_deny_bin: PathBuf,
    /// cargo-nextest.
    pub cargo_nextest_bin: PathBuf,
    /// cargo-mutants.
    pub cargo_mutants_bin: PathBuf,
    /// The version of Kubernetes that the chart is rendered for.
    pub kubernetes_version: String,
    /// A Python with OpenAI's and LangChain's clients, for the tests.
    pub python: PathBuf,
    /// A Python with LlamaIndex, for the tests.
    pub llama_index_python: PathBuf,
}

/// Prints what [`Place`] holds, in its order, a line each.
const ASK: &str = r#"source e2e/cluster/paths.sh >&2
printf '%s\n' "$root" "$target_dir" "$cluster_bin" "$promtool" "$cargo_deny_dir/bin" "$cargo_nextest_dir/bin" \
    "$cargo_mutants_dir/bin" "$kubernetes_version" "$python_venv/bin/python" "$llama_index_venv/bin/python""#;

impl Place {
    /// Asks the scripts.
    ///
    /// # Errors
    ///
    /// bash is missing, or a script fails.
    pub fn find() -> Result<Self> {
        let root = run::root();
        let said = run::output(run::command("bash", &root).args(["-euo", "pipefail", "-c", ASK]))
            .context("e2e/cluster/paths.sh does not say where things are")?;
        let lines: Vec<&str> = said.lines().collect();
        let [root, target, cluster, promtool, deny, nextest, mutants, kubernetes_version, python, llama_index] =
            lines[..]
        else {
            bail!("e2e/cluster/paths.sh printed something else: {said}");
        };
        Ok(Self {
            root: root.into(),
            target: target.into(),
            cluster_bin: cluster.into(),
            promtool: promtool.into(),
            cargo_deny_bin: deny.into(),
            cargo_nextest_bin: nextest.into(),
            cargo_mutants_bin: mutants.into(),
            kubernetes_version: kubernetes_version.to_owned(),
            python: python.into(),
            llama_index_python: llama_index.into(),
        })
    }

    /// A program of this build.
    pub fn program(&self, name: &str) -> PathBuf {
        self.target.join("debug").join(name)
    }

    /// Helm, where it is installed.
    pub fn helm(&self) -> Option<PathBuf> {
        let helm = self.cluster_bin.join("helm");
        helm.is_file().then_some(helm)
    }
}
