//! The page without a pointer.

use serde_json::json;

use crate::model::Model;
use crate::site::Site;
use crate::steps::{ENTER, ESCAPE, SHIFT_ENTER};

const TAB: &str = "\u{e004}";

#[tokio::test(flavor = "multi_thread")]
async fn everything_works_with_the_keyboard() {
    let site = Site::start(Model::answering("They purr [1].").await).await;
    let page = &site.page;
    // The field for questions has the focus from the start.
    page.until("document.activeElement.id === 'composer-input'").await;
    page.keys(&format!("Why do cats{SHIFT_ENTER}purr?")).await;
    assert_eq!(page.value("$('@composer-input').value").await, "Why do cats\npurr?");
    assert_eq!(page.count("@message").await, 0);
    // An input method uses Enter to choose a word.
    page.value(
        "$('@composer-input').dispatchEvent(new KeyboardEvent('keydown', \
         {key: 'Enter', isComposing: true, bubbles: true, cancelable: true}))",
    )
    .await;
    assert_eq!(page.count("@message").await, 0);
    page.keys(ENTER).await;
    page.answered(1).await;
    assert_eq!(page.text("[data-role=user] .bubble").await, "Why do cats\npurr?");
    assert_eq!(page.value("$('@composer-input').value").await, "");

    page.value("$('@citation').focus()").await;
    page.keys(ENTER).await;
    page.sees("@passage").await;
    assert_eq!(page.value("$('@document-panel').contains(document.activeElement)").await, true);
    page.keys(ESCAPE).await;
    page.sees_no("@document-panel").await;
    assert_eq!(page.focused().await, "citation");

    // The browser tells the panel later that it is closed. By then, the focus may have moved on, and must stay there.
    page.keys(ENTER).await;
    page.sees("@passage").await;
    page.run(
        "$('@document-panel').addEventListener('close', () => setTimeout(() => { window.isClosed = true; }), {once: true}); \
         $('@document-panel').dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', cancelable: true})); \
         $('@conversation @rename').focus();",
        json!([]),
    )
    .await;
    page.until("window.isClosed").await;
    assert_eq!(page.focused().await, "rename");
    page.keys(ENTER).await;
    page.sees("@rename-dialog").await;
    page.keys(ESCAPE).await;
    page.until("!$('@rename-dialog')").await;
    assert_eq!(page.focused().await, "rename");
    site.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_focus_passes_every_control_and_is_seen() {
    let site = Site::start(Model::answering("They purr [1].").await).await;
    let page = &site.page;
    page.begin("Why do cats purr?").await;
    page.value("$('.skip-link').focus()").await;
    let mut passed = vec![page.focused().await];
    while passed.len() < 40 {
        page.keys(TAB).await;
        let name = page.focused().await;
        // After the last one, the focus is on the page itself or starts again.
        if name == "BODY" || passed[0] == name {
            break;
        }
        let shown = "(({outlineStyle, outlineWidth, boxShadow}) => outlineStyle !== 'none' && outlineWidth !== '0px' \
                     || boxShadow !== 'none')(getComputedStyle(document.activeElement))";
        let is_in_field = name == "composer-input";
        assert!(is_in_field || page.value(shown).await == true, "the focus on {name} is not seen");
        passed.push(name);
    }
    for control in
        ["new-chat", "rename", "delete", "theme-toggle", "add-documents", "citation", "source-chip", "copy-answer"]
    {
        assert!(passed.iter().any(|name| name == control), "{control} cannot be reached: {passed:?}");
    }
    // The first stop leads past all of them.
    page.value("$('.skip-link').focus()").await;
    page.sees(".skip-link").await;
    page.keys(ENTER).await;
    assert_eq!(page.focused().await, "composer-input");
    site.finish().await;
}
