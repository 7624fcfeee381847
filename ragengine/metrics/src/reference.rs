use crate::Entry;

/// Renders docs/metrics.md: every metric with its kind, help, labels and buckets.
pub fn markdown(entries: &[Entry]) -> String {
    let mut page = String::from(
        "<!-- Written by `make generate` from the code. -->\n\n# Metrics\n\n\
         The metrics of `GET /metrics`, for Prometheus. The label `index` has the names of up to 100 indexes; \
         the others are summed under `other`. \
         Deleting an index removes its series, and another index can get its label. \
         The buckets of durations below are those for the default `inferenceService.timeoutSeconds`; \
         a longer timeout adds a bucket.\n",
    );
    for Entry { name, kind, help, labels, buckets } in entries {
        let labels = match labels {
            [] => String::new(),
            labels => format!("{{{}}}", labels.join(", ")),
        };
        page.push_str(&format!("\n## `ragengine_{name}{labels}`\n\n{kind}. {help}\n"));
        if !buckets.is_empty() {
            let bounds: Vec<String> = buckets.iter().map(f64::to_string).collect();
            page.push_str(&format!("\nBuckets: {}.\n", bounds.join(", ")));
        }
    }
    page
}
