//! Documents that the reader adds.

use crate::model::Model;
use crate::site::{NEAR, Site};
use crate::steps::{ENTER, ESCAPE};

/// Remembers every text of the progress of an upload.
const RECORD: &str = "window.seen = new Set(); new MutationObserver(() => \
     $$('.file-state, @upload-progress').forEach((one) => window.seen.add(one.textContent)))\
     .observe(document.body, {subtree: true, childList: true, characterData: true});";

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_dropped_answer_questions() {
    let site = Site::start(Model::answering("A parrot [1].").await).await;
    let page = &site.page;
    page.sees("@suggestion").await;
    page.run(RECORD, serde_json::json!([])).await;
    let long = "The green parrot Emma lives in the tower and eats walnuts. ".repeat(3);
    page.drop_files(&[("parrot.md", &long), ("empty.txt", " "), ("binary.txt", "a\0b")]).await;
    assert_eq!(page.texts("@upload-dialog .file-name").await, ["parrot.md", "empty.txt", "binary.txt"]);
    page.reads("@upload-start", "Add 3 files").await;
    page.click("@upload-start").await;
    page.reads("@upload-progress", "1 file added to docs, 2 not added.").await;
    assert_eq!(page.texts(".file-state").await, ["Added", "The file is empty.", "The file is not text."]);
    let seen = page.value("[...window.seen].join('|')").await;
    for step in ["1 of 3 files", "3 of 3 files", "Indexing…"] {
        assert!(seen.as_str().unwrap().contains(step), "{step} was not shown: {seen}");
    }
    assert_eq!(page.value("$('@upload-progress progress').value").await, 3);
    page.keys(ESCAPE).await;
    page.until("!$('@upload-dialog')").await;
    page.begin("What does the parrot Emma eat?").await;
    assert_eq!(page.texts("@source-chip .chip-title").await[0], "parrot.md");
    page.click("@source-chip").await;
    page.reads("@passage", "eats walnuts").await;
    site.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_token_is_asked_for_and_stays_in_the_tab() {
    let folder = tempfile::tempdir().unwrap();
    let (token, file) = (folder.path().join("token"), folder.path().join("parrot.txt"));
    std::fs::write(&token, "secret-token").unwrap();
    std::fs::write(&file, "The green parrot Emma lives in the tower and eats walnuts.").unwrap();
    let more = format!("auth: {{writeToken: {{file: {}}}}}", token.display());
    let site = Site::empty(Model::answering("A parrot [1].").await, NEAR, &more).await;
    let page = &site.page;
    page.open(&site.server.url).await;
    page.reads("@welcome", "Add your first documents").await;
    page.click("@add-documents").await;
    page.enter("@file-input", file.to_str().unwrap()).await;
    page.value("$('@upload-new-index').select()").await;
    page.enter("@upload-new-index", "bad name!").await;
    page.click("@upload-start").await;
    page.until("$('@upload-new-index').getAttribute('aria-invalid') === 'true'").await;
    page.value("$('@upload-new-index').select()").await;
    page.enter("@upload-new-index", "birds").await;
    page.click("@upload-start").await;
    for (word, rest) in [("wrong", "@token-dialog"), ("secret-token", "@upload-progress")] {
        page.sees("@token-dialog").await;
        assert_eq!(page.value("$('@token-dialog input').type").await, "password");
        page.run("$('@token-dialog').dataset.old = 'true'", serde_json::json!([])).await;
        page.enter("@token-dialog input", &format!("{word}{ENTER}")).await;
        page.sees(&format!("{rest}:not([data-old])")).await;
    }
    page.reads("@upload-progress", "1 file added to birds.").await;
    let kept = page.value("JSON.stringify([{...localStorage}, location.href, document.cookie])").await;
    assert!(!kept.as_str().unwrap().contains("secret-token"), "{kept}");
    assert_eq!(page.value("Object.values(sessionStorage).includes('secret-token')").await, true);
    page.keys(ESCAPE).await;
    page.reads("#only-index", "birds").await;
    page.begin("What does the parrot Emma eat?").await;
    assert_eq!(page.texts("@source-chip .chip-title").await, ["parrot.txt"]);

    // Another tab does not know the token.
    page.new_window().await;
    page.open(&site.server.url).await;
    page.sees("@suggestion").await;
    page.drop_files(&[("more.txt", "Owls sleep by day.")]).await;
    page.click("@upload-start").await;
    page.sees("@token-dialog").await;
    site.may_fail("/index").finish().await;
}
