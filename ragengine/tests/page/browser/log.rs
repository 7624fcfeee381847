use serde_json::{Value, json};

use super::wire::Wire;

/// As [`Browser::problems`](super::Browser::problems).
pub async fn problems(wire: &Wire, server: &str, may_fail: &[&str]) -> Vec<String> {
    let mut problems: Vec<String> =
        entries(wire, "browser").await.iter().filter_map(|entry| reported(entry, server, may_fail)).collect();
    let asked = requests(&entries(wire, "performance").await);
    assert!(asked.iter().any(|url| url.starts_with(server)), "no request to {server} was logged: {asked:?}");
    // The browser begins with its start page.
    let is_local = |url: &&String| ["about:", "blob:", "chrome:", "data:", server].iter().any(|at| url.starts_with(at));
    problems.extend(asked.iter().filter(|url| !is_local(url)).map(|url| format!("a request to {url}")));
    problems
}

/// The entries of a log since the last call.
async fn entries(wire: &Wire, log: &str) -> Vec<Value> {
    let entries = wire.post("se/log", json!({"type": log})).await.unwrap();
    entries.as_array().unwrap().clone()
}

/// The text of an entry of the console, unless it is harmless.
fn reported(entry: &Value, server: &str, may_fail: &[&str]) -> Option<String> {
    let message = entry["message"].as_str().unwrap();
    let path = message.strip_prefix(server).and_then(|rest| rest.split([' ', '?']).next()).unwrap_or_default();
    let is_expected = message.contains("Failed to load resource") && may_fail.contains(&path);
    let is_bad = matches!(entry["level"].as_str().unwrap(), "SEVERE" | "WARNING");
    (is_bad && !is_expected).then(|| message.to_owned())
}

/// The addresses that the pages have asked, also where the browser refused to.
fn requests(entries: &[Value]) -> Vec<String> {
    let url = |entry: &Value| {
        let logged: Value = serde_json::from_str(entry["message"].as_str().unwrap()).unwrap();
        let message = &logged["message"];
        (message["method"] == "Network.requestWillBeSent")
            .then(|| message["params"]["request"]["url"].as_str().unwrap().to_owned())
    };
    entries.iter().filter_map(url).collect()
}
