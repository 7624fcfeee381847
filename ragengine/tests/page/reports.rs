//! What the browser reports at the end of every test.

use serde_json::json;

use crate::model::Model;
use crate::site::Site;

/// Each does what the page must not do.
const FORBIDDEN: &str = "setTimeout(() => { throw Error('a forgotten error'); }); \
     try { document.body.innerHTML = '<b>bold</b>'; } catch {} \
     new Image().src = 'https://evil.example/pixel.png'; \
     fetch('https://evil.example/fetched').catch(() => {}); \
     fetch('/indexes/missing');";

#[tokio::test(flavor = "multi_thread")]
async fn everything_forbidden_is_noticed() {
    let site = Site::start(Model::answering("So it is.").await).await;
    let page = &site.page;
    page.sees("@suggestion").await;
    assert_eq!(page.problems(&site.server.url, &[]).await, [""; 0]);
    page.run(FORBIDDEN, json!([])).await;
    let mut problems = Vec::new();
    while problems.len() < 5 {
        page.run("return fetch('/indexes')", json!([])).await;
        problems.extend(page.problems(&site.server.url, &["/indexes/other"]).await);
    }
    let all = problems.join("\n");
    for part in ["a forgotten error", "TrustedHTML", "pixel.png", "evil.example/fetched", "/indexes/missing"] {
        assert!(all.contains(part), "{part} was not reported:\n{all}");
    }
    // This one is refused by the policy for pictures, and never asked.
    assert!(all.contains("img-src"), "{all}");
}
