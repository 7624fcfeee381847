use crate::Entry;

/// The metrics as a page of documentation.
pub fn markdown(entries: &[Entry]) -> String {
    let mut page = String::from(
        "<!-- Written by `make generate` from the code. -->\n\n# Metrics\n\nWhat `GET /metrics` shows, for Prometheus. \
         Labels `index` have the first 100 indexes by name; the rest are summed under `other`. The series of an index that is deleted are gone, \
         and its label goes to the next one. The buckets of durations below are those \
         of the default `inferenceService.timeoutSeconds`; a longer one adds a bucket.\n",
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
