//! Checks the chart's alert rules and its dashboard: promtool can read them, the alerts fire as the examples say, and
//! every metric in them exists, with its labels.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::{Value, json};

use crate::place::Place;
use crate::run;

/// Labels that Prometheus adds when it scrapes, and that of a histogram's buckets.
const ADDED_LABELS: [&str; 4] = ["namespace", "service", "pod", "le"];

/// Grafana replaces it before it asks Prometheus.
const GRAFANA_INTERVAL: &str = "$__rate_interval";

/// The metrics of these pages are used.
const REFERENCES: [&str; 2] = ["docs/metrics.md", "docs/operator-metrics.md"];

/// The labels of each metric.
type Metrics = BTreeMap<String, BTreeSet<String>>;

/// Checks the rendered objects.
///
/// # Errors
///
/// The first thing that is wrong.
pub fn check(place: &Place, rendered: &str) -> Result<()> {
    let pages = REFERENCES.map(|page| fs::read_to_string(place.root.join(page)));
    let known = metrics(&pages.into_iter().collect::<Result<Vec<_>, _>>()?.concat());
    let objects = serde_saphyr::from_multiple::<Value>(rendered).map_err(|error| anyhow!("{error}"))?;
    let rules = objects.iter().find(|object| object["kind"] == "PrometheusRule").context("there are no alert rules")?;
    let dashboard = objects.iter().find_map(|object| object["data"]["ragengine.json"].as_str());
    let dashboard: Value = serde_json::from_str(dashboard.context("there is no dashboard")?)?;
    for expression in expressions(&rules["spec"]).iter().chain(&expressions(&dashboard)) {
        check_names(expression, &known).with_context(|| format!("the expression {expression}"))?;
    }
    check_with_promtool(place, &rules["spec"], &dashboard)
}

/// The examples of the alerts are in `monitoring/alerts.test.yaml`. promtool reads rules only, so the dashboard's
/// expressions become rules.
fn check_with_promtool(place: &Place, rules: &Value, dashboard: &Value) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let write = |name: &str, text: &[u8]| fs::write(folder.path().join(name), text);
    let panels = expressions(dashboard);
    ensure!(panels.len() > 10, "the dashboard has only {} expressions", panels.len());
    let records = panels.iter().enumerate().map(|(number, expression)| {
        json!({"record": format!("dashboard:{number}"), "expr": expression.replace(GRAFANA_INTERVAL, "5m")})
    });
    let records = json!({"groups": [{"name": "dashboard", "rules": records.collect::<Vec<_>>()}]});
    write("alerts.yaml", &serde_json::to_vec(rules)?)?;
    write("dashboard.yaml", &serde_json::to_vec(&records)?)?;
    write("alerts.test.yaml", include_bytes!("monitoring/alerts.test.yaml"))?;
    promtool(place, folder.path(), &["check", "rules", "--lint-fatal", "alerts.yaml", "dashboard.yaml"])?;
    promtool(place, folder.path(), &["test", "rules", "alerts.test.yaml"])
}

fn promtool(place: &Place, folder: &Path, arguments: &[&str]) -> Result<()> {
    let promtool = &place.promtool;
    ensure!(promtool.is_file(), "promtool is missing: config/local/promtool.sh installs it");
    run::output(run::command(promtool, folder).args(arguments)).map(drop)
}

/// Reads the pages: `## `name{a, b}`` or `| `name` | `a`, `b` |`.
fn metrics(references: &str) -> Metrics {
    let words = |text: &str| text.split([',', ' ', '`']).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let of_heading = |line: &str| {
        let heading = line.strip_prefix("## `")?.trim_end_matches('`');
        let (name, labels) = heading.split_once('{').unwrap_or((heading, ""));
        Some((name.to_owned(), words(labels.trim_end_matches('}'))))
    };
    let of_row = |line: &str| {
        let mut cells = line.strip_prefix("| `")?.split('|');
        Some((cells.next()?.trim().trim_end_matches('`').to_owned(), words(cells.next()?)))
    };
    references.lines().filter_map(|line| of_heading(line).or_else(|| of_row(line))).collect()
}

/// All values of `expr`.
fn expressions(value: &Value) -> Vec<String> {
    let own = value.get("expr").and_then(Value::as_str).map(str::to_owned);
    let inner: Vec<&Value> = match value {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(values) => values.iter().collect(),
        _ => Vec::new(),
    };
    own.into_iter().chain(inner.into_iter().flat_map(expressions)).collect()
}

/// Checks that the metrics exist, and that one of them has each label in braces and after `by`.
fn check_names(expression: &str, known: &Metrics) -> Result<()> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let names = expression.split(|letter| !is_name(letter)).filter(|word| word.starts_with("ragengine_"));
    let mut labels: BTreeSet<&str> = ADDED_LABELS.into();
    for name in names.clone() {
        let base = ["_bucket", "_count", "_sum"].iter().find_map(|suffix| name.strip_suffix(suffix));
        let of_metric = known.get(name).or_else(|| known.get(base?));
        labels.extend(of_metric.with_context(|| format!("there is no metric {name}"))?.iter().map(String::as_str));
    }
    ensure!(names.count() > 0, "it has no metric");
    let after = |opening: &'static str, closing: char| {
        expression.split(opening).skip(1).filter_map(move |rest| rest.split(closing).next())
    };
    let matched =
        after("{", '}').flat_map(|matchers| matchers.split(',')).filter_map(|one| one.split(['=', '!']).next());
    let grouped = after("by (", ')').flat_map(|list| list.split(','));
    for label in matched.chain(grouped).map(str::trim) {
        ensure!(labels.contains(label), "none of its metrics has the label {label}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: &str = "## `ragengine_chats_total{index, outcome}`\n\n## `ragengine_up`\n\n| `ragengine_reconciles` | `kind` | Help. |\n";

    #[test]
    fn both_kinds_of_pages_are_read() {
        let known = metrics(PAGES);
        let labels = |name: &str| known[name].iter().map(String::as_str).collect::<Vec<_>>();
        assert_eq!(labels("ragengine_chats_total"), ["index", "outcome"]);
        assert_eq!((labels("ragengine_up"), labels("ragengine_reconciles")), (vec![], vec!["kind"]));
    }

    #[test]
    fn an_expression_has_known_metrics_with_their_labels() {
        let known = metrics(PAGES);
        for (expression, complaint) in [
            ("sum by (outcome) (rate(ragengine_chats_total{namespace=~\"$n\"}[5m])) > 0.05", None),
            ("min(ragengine_up) == 0 or absent(ragengine_reconciles{kind!=\"Index\"})", None),
            ("histogram_quantile(0.5, sum by (le, index) (rate(ragengine_chats_total_bucket[5m])))", None),
            ("rate(ragengine_chat_total[5m])", Some("there is no metric ragengine_chat_total")),
            ("ragengine_chats_total{result=\"ok\"}", Some("none of its metrics has the label result")),
            ("sum by (outcome, result) (ragengine_chats_total)", Some("none of its metrics has the label result")),
            ("1 + 1", Some("it has no metric")),
        ] {
            let found = check_names(expression, &known).err().map(|error| error.to_string());
            assert_eq!(found.as_deref(), complaint, "{expression}");
        }
    }

    #[test]
    fn expressions_are_found_wherever_they_are() {
        let found = expressions(&json!({"groups": [{"rules": [{"expr": "a"}, {"expr": "b"}]}], "panels": 1}));
        assert_eq!(found, ["a", "b"]);
    }
}
