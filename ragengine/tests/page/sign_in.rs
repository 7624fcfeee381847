//! A server that wants to know its callers.

use serde_json::json;

use crate::model::Model;
use crate::site::{NEAR, Site};
use crate::steps::ENTER;

const KEY: &str = "a-key-of-the-reader";

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_signs_in_with_a_token_that_stays_in_the_tab() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, token) = (folder.path().join("keys"), folder.path().join("token"));
    std::fs::create_dir(&keys).unwrap();
    std::fs::write(keys.join("reader"), KEY).unwrap();
    std::fs::write(&token, "the-write-token").unwrap();
    let more = format!(
        "auth: {{modes: [apiKey], apiKeysFolder: {}, writeToken: {{file: {}}}}}",
        keys.display(),
        token.display()
    );
    let site = Site::empty(Model::answering("A parrot [1].").await, NEAR, &more).await;
    let page = &site.page;
    page.open(&site.server.url).await;
    for (word, rest) in [("wrong", "@token-dialog"), (KEY, "@welcome")] {
        page.sees("@token-dialog").await;
        page.reads("@token-dialog", "Sign in").await;
        page.run("$('@token-dialog').dataset.old = 'true'", json!([])).await;
        page.enter("@token-dialog input", &format!("{word}{ENTER}")).await;
        page.sees(&format!("{rest}:not([data-old])")).await;
    }
    let kept = page.value("JSON.stringify([{...localStorage}, location.href, document.cookie])").await;
    assert!(!kept.as_str().unwrap().contains(KEY), "{kept}");
    // The tab needs no second sign-in, and another one its own.
    page.open(&site.server.url).await;
    page.sees("@welcome").await;
    assert_eq!(page.value("!$('@token-dialog')").await, true);
    page.new_window().await;
    page.open(&site.server.url).await;
    page.sees("@token-dialog").await;
    site.may_fail("/indexes").finish().await;
}
