//! Checks of the Helm chart: lint, the values that its schema refuses, its definitions, the kustomize base. Its rendered
//! templates are compared with the other generated files.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::notes::note;
use crate::place::Place;
use crate::{monitoring, render, run};

/// A value that the schema refuses, and the words of the error.
const REFUSED: [(&str, &str); 23] = [
    ("replica=2", "additional properties 'replica' not allowed"),
    (r#"image={"repo":"a"}"#, "at '/image': additional properties 'repo' not allowed"),
    (r#"metrics={"podMonitor":{"label":{}}}"#, "additional properties 'label' not allowed"),
    (r#"metrics={"alerts":{"enabled":"yes"}}"#, "at '/metrics/alerts/enabled': value must be one of"),
    (r#"replicas="two""#, "at '/replicas': got string, want integer"),
    ("replicas=-1", "at '/replicas': minimum"),
    (r#"watchNamespaces="team-a,team-b""#, "at '/watchNamespaces': got string, want array"),
    (r#"watchNamespaces=["Team_A"]"#, "at '/watchNamespaces/0': 'Team_A' does not match pattern"),
    (r#"image={"pullPolicy":"never"}"#, "must be one of 'Always', 'IfNotPresent', 'Never'"),
    (r#"image={"digest":"sha256:abc"}"#, "at '/image/digest': 'sha256:abc' does not match pattern"),
    (r#"serverImage={"digest":"latest"}"#, "at '/serverImage/digest': 'latest' does not match pattern"),
    (r#"serverImagePullSecrets=[{"name":"registry"}]"#, "at '/serverImagePullSecrets/0': got object, want string"),
    (r#"openshift="yes""#, "at '/openshift': value must be one of 'auto', true, false"),
    (r#"log={"format":"xml"}"#, "must be one of 'json', 'text'"),
    ("concurrency=0", "at '/concurrency': minimum"),
    ("maxRollouts=0", "at '/maxRollouts': minimum"),
    (r#"karpenter={"nodeClass":"default"}"#, "at '/karpenter/nodeClass': got string, want object"),
    (r#"karpenter={"nodeClass":{"name":"default"}}"#, "at '/karpenter/nodeClass': properties 'group', 'kind' required"),
    (
        r#"karpenter={"nodeClass":{"group":"a/b","kind":"C","name":"d"}}"#,
        "at '/karpenter/nodeClass/group': 'a/b' does not",
    ),
    (r#"karpenter={"maxNodes":0}"#, "at '/karpenter/maxNodes': minimum"),
    (r#"karpenter={"instanceTypes":"g6.xlarge"}"#, "at '/karpenter/instanceTypes': got string, want array"),
    (r#"crds={"install":"yes"}"#, "at '/crds/install': got string, want boolean"),
    (r#"podLabels={"team":1}"#, "at '/podLabels/team': got number, want string"),
];

/// Words that a template would stop at.
const BRACES: &str = r#"{{ fail "a template" }}"#;

/// Checks the chart.
///
/// # Errors
///
/// The first thing that is wrong.
pub fn check(place: &Place) -> Result<()> {
    let chart = Chart { place, helm: place.helm().context("helm is missing: e2e/cluster/helm.sh installs it")? };
    chart.has_the_version_of_the_workspace()?;
    chart.every_rendering_has_its_values()?;
    chart.is_linted()?;
    chart.schema_refuses_mistakes()?;
    chart.openshift_chooses_the_users()?;
    chart.definitions_outlive_the_chart()?;
    chart.definition_is_no_template()?;
    chart.monitors_are_there_where_they_are_known()?;
    chart.rules_about_the_operator_come_with_its_metrics()?;
    chart.monitors_of_the_operator_keep_its_labels()?;
    chart.expressions_are_valid()?;
    base_is_a_kustomization(place)
}

/// kubectl comes with the cluster, which `make check` does not need otherwise.
fn base_is_a_kustomization(place: &Place) -> Result<()> {
    let kubectl = place.cluster_bin.join("kubectl");
    if !kubectl.is_file() {
        note("config/base was not built with kustomize: kubectl is missing (make cluster-up installs it)");
        return Ok(());
    }
    run::output(run::command(kubectl, &place.root).args(["kustomize", "config/base"])).map(drop)
}

struct Chart<'a> {
    place: &'a Place,
    helm: std::path::PathBuf,
}

impl Chart<'_> {
    fn helm(&self, arguments: &[&str]) -> Command {
        let mut helm = run::command(&self.helm, &self.place.root.join("charts/ragengine"));
        helm.args(arguments);
        helm
    }

    /// One of its templates, rendered.
    fn template(&self, template: &str, options: &[&str]) -> Result<String> {
        run::output(self.helm(&["template", "ragengine", ".", "--show-only", template]).args(options))
    }

    fn has_the_version_of_the_workspace(&self) -> Result<()> {
        let text = fs::read_to_string(self.place.root.join("charts/ragengine/Chart.yaml"))?;
        let wanted = env!("CARGO_PKG_VERSION");
        for name in ["version", "appVersion"] {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            let found = line.map(|value| value.trim_matches('"'));
            ensure!(
                found == Some(wanted),
                "{name} in charts/ragengine/Chart.yaml is {found:?}; the workspace's version is {wanted}"
            );
        }
        Ok(())
    }

    fn every_rendering_has_its_values(&self) -> Result<()> {
        for entry in fs::read_dir(self.place.root.join("charts/ragengine/tests"))? {
            let path = entry?.path();
            let values = path.with_extension("values.yaml");
            ensure!(
                path.to_string_lossy().ends_with(".values.yaml") || values.is_file(),
                "{} has no values beside it: delete it",
                path.display()
            );
        }
        Ok(())
    }

    fn is_linted(&self) -> Result<()> {
        run::run(&mut self.helm(&["lint", "--strict", "--quiet", "."]))?;
        for values in render::values(self.place)? {
            run::run(self.helm(&["lint", "--strict", "--quiet", ".", "--values"]).arg(values))?;
        }
        Ok(())
    }

    fn schema_refuses_mistakes(&self) -> Result<()> {
        for (value, words) in REFUSED {
            let output = self.helm(&["template", "ragengine", ".", "--set-json", value]).output()?;
            ensure!(!output.status.success(), "the chart takes {value}");
            let said = String::from_utf8_lossy(&output.stderr);
            ensure!(said.contains(words), "the error about {value} lacks the words `{words}`: {said}");
        }
        Ok(())
    }

    fn openshift_chooses_the_users(&self) -> Result<()> {
        let group = ["--api-versions", "security.openshift.io/v1"];
        let cases: [(&[&str], &[&str], bool); 4] = [
            (&[], &[], true),
            (&group, &[], false),
            (&group, &["--set", "openshift=false"], true),
            (&[], &["--set", "openshift=true"], false),
        ];
        for (api, options, asks) in cases {
            let rendered = self.template("templates/deployment.yaml", &[api, options].concat())?;
            ensure!(
                rendered.contains("runAsUser") == asks,
                "with {api:?} {options:?}, runAsUser in the operator's pod should be {asks}"
            );
        }
        Ok(())
    }

    fn definitions_outlive_the_chart(&self) -> Result<()> {
        let rendered = self.template("templates/crds.yaml", &[])?;
        let count = |line: &str| rendered.lines().filter(|found| *found == line).count();
        let definitions = count("kind: CustomResourceDefinition");
        ensure!(
            definitions > 0 && count("    helm.sh/resource-policy: keep") == definitions,
            "a definition would be deleted with the chart"
        );
        let rendered = self.template("templates/crds.yaml", &["--set", "crds.keep=false"])?;
        ensure!(!rendered.contains("resource-policy"), "crds.keep=false keeps a definition");
        Ok(())
    }

    /// Without its metrics, a rule about the operator would always fire.
    fn rules_about_the_operator_come_with_its_metrics(&self) -> Result<()> {
        let known = ["--api-versions", "monitoring.coreos.com/v1"];
        let [alerts, service] = ["metrics.alerts.enabled=true", "metrics.service.enabled=false"];
        let [monitor, pods] = ["metrics.serviceMonitor.enabled=false", "metrics.podMonitor.enabled=true"];
        // The values, and whether there are the ServiceMonitor of the operator, its PodMonitor and the rules about it.
        let cases: [(&[&str], [bool; 3]); 6] = [
            (&[], [true, false, true]),
            (&[pods], [false, true, true]),
            (&[monitor], [false, false, false]),
            (&[service], [false, false, false]),
            (&[service, "metrics.serviceMonitor.enabled=true"], [true, false, true]),
            (&[monitor, alerts], [false, false, true]),
        ];
        for (values, wanted) in cases {
            let options = values.iter().flat_map(|value| ["--set", *value]);
            let arguments = ["template", "ragengine", "."].into_iter().chain(known).chain(options);
            let rendered = run::output(&mut self.helm(&arguments.collect::<Vec<_>>()))?;
            let has = |kind: &str| rendered.contains(&format!("kind: {kind}\nmetadata:\n  name: ragengine-operator\n"));
            let found =
                [has("ServiceMonitor"), has("PodMonitor"), rendered.contains("alert: RAGEngineOperatorMissing")];
            ensure!(found == wanted, "with {values:?}, the monitors and rules are {found:?} instead of {wanted:?}");
            ensure!(rendered.contains("alert: RAGEngineChatsFail"), "with {values:?}, no rule is about engines");
        }
        Ok(())
    }

    fn monitors_are_there_where_they_are_known(&self) -> Result<()> {
        let known = ["--api-versions", "monitoring.coreos.com/v1"];
        let cases: [(&[&str], &str, bool); 4] =
            [(&[], "auto", false), (&known, "auto", true), (&[], "true", true), (&known, "false", false)];
        for (api, enabled, wanted) in cases {
            let values = ["serviceMonitor", "engines.serviceMonitor", "alerts"]
                .map(|object| format!("metrics.{object}.enabled={enabled}"));
            let options = values.iter().flat_map(|value| ["--set", value.as_str()]);
            let arguments = ["template", "ragengine", "."].into_iter().chain(api.iter().copied()).chain(options);
            let rendered = run::output(&mut self.helm(&arguments.collect::<Vec<_>>()))?;
            let of_operator = "kind: ServiceMonitor\nmetadata:\n  name: ragengine-operator\n";
            for object in ["kind: PrometheusRule", "name: ragengine-operator-engines", of_operator] {
                ensure!(
                    rendered.contains(object) == wanted,
                    "with {api:?} and {enabled}, it should be {wanted} that there is `{object}`"
                );
            }
        }
        Ok(())
    }

    /// Otherwise Prometheus replaces the label `namespace` of the metrics that are about a resource.
    fn monitors_of_the_operator_keep_its_labels(&self) -> Result<()> {
        for monitor in ["serviceMonitor", "podMonitor"] {
            let enabled = format!("metrics.{monitor}.enabled=true");
            let rendered = self.template("templates/metrics.yaml", &["--set", &enabled])?;
            ensure!(
                rendered.contains("\n      honorLabels: true\n"),
                "with {enabled}, a label is replaced: {rendered}"
            );
        }
        Ok(())
    }

    /// Those of the alert rules and of the dashboard.
    fn expressions_are_valid(&self) -> Result<()> {
        let rendered = self.template(
            "templates/monitoring.yaml",
            &["--set", "metrics.alerts.enabled=true", "--set", "metrics.dashboard.enabled=true"],
        )?;
        monitoring::check(self.place, &rendered)
    }

    /// Braces in the description of a field are data.
    fn definition_is_no_template(&self) -> Result<()> {
        let copy = tempfile::tempdir()?;
        run::run(run::command("cp", &self.place.root).args(["--recursive", "charts/ragengine/."]).arg(copy.path()))?;
        describe_with_braces(&copy.path().join("files/crds/ragengine.dev_ragengines.yaml"))?;
        let mut template = run::command(&self.helm, copy.path());
        template.args(["template", "ragengine", ".", "--show-only", "templates/crds.yaml"]);
        let rendered = run::output(&mut template).context("words in a definition are taken for a template")?;
        ensure!(rendered.contains(BRACES), "words in a definition are taken for a template");
        Ok(())
    }
}

/// Replaces the first description in a definition that is one line.
fn describe_with_braces(definition: &Path) -> Result<()> {
    let text = fs::read_to_string(definition)?;
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let one_line = lines.windows(2).find(|pair| {
        let value = pair[0].trim_start().strip_prefix("description: ");
        value.is_some_and(|value| value.starts_with(char::is_uppercase)) && indent(pair[1]) <= indent(pair[0])
    });
    let Some([line, _]) = one_line else { bail!("{} has no description of one line", definition.display()) };
    let described = format!("{}description: '{BRACES}'", " ".repeat(indent(line)));
    Ok(fs::write(definition, text.replacen(line, &described, 1))?)
}
