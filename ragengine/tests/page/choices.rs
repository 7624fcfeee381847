//! What the reader chooses and the page remembers.

use crate::model::Model;
use crate::site::{NEAR, Site};

#[tokio::test(flavor = "multi_thread")]
async fn the_chosen_index_is_asked() {
    let site = Site::empty(Model::answering("So it is [1].").await, NEAR, "").await;
    site.add("kitchen", &[("bread", "Sourdough bread needs a starter of flour and water.")]).await;
    site.add("zoo", &[("cats", "Cats sleep for most of the day. A cat purrs when it is content.")]).await;
    let page = &site.page;
    page.open(&site.server.url).await;
    page.sees("@index-picker").await;
    assert_eq!(page.texts("@index-picker option").await, ["kitchen", "zoo"]);
    page.reads("@welcome", "kitchen (1 document, 1 passage)").await;
    page.click("@index-picker option[value=zoo]").await;
    page.reads("@welcome", "zoo (1 document").await;
    page.begin("Why do cats purr?").await;
    assert_eq!(page.texts("@source-chip .chip-title").await, ["Cats"]);
    page.click("@source-chip").await;
    page.reads("@passage", "Cats sleep").await;
    page.click("@document-panel .panel-close").await;

    page.click("@new-chat").await;
    page.click("@index-picker option[value=kitchen]").await;
    page.begin("What does bread need?").await;
    assert_eq!(page.texts("@source-chip .chip-title").await, ["Bread"]);
    // The conversation goes on in its index.
    page.click("@conversation:nth-child(2) a").await;
    page.reads("[data-role=user]", "Why do cats purr?").await;
    assert_eq!(page.value("$('@index-picker').value").await, "zoo");
    page.reload().await;
    page.until("$('@index-picker').value === 'zoo'").await;
    site.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_theme_is_kept() {
    let site = Site::start(Model::answering("So it is.").await).await;
    let page = &site.page;
    let background = "getComputedStyle(document.body).backgroundColor";
    page.prefer("light").await;
    let light = page.value(background).await;
    page.prefer("dark").await;
    page.until(&format!("{background} !== '{}'", light.as_str().unwrap())).await;
    let dark = page.value(background).await;
    page.click("@theme-toggle").await;
    page.until(&format!("{background} === '{}'", light.as_str().unwrap())).await;
    page.reload().await;
    assert_eq!(page.value(background).await, light, "the choice is stronger than the system");
    page.prefer("light").await;
    page.click("@theme-toggle").await;
    page.until(&format!("{background} === '{}'", dark.as_str().unwrap())).await;
    assert_eq!(page.value("$('@theme-toggle').getAttribute('aria-pressed')").await, "true");
    site.finish().await;
}
