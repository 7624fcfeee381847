//! The page on a phone.

use crate::model::Model;
use crate::site::Site;
use crate::steps::ESCAPE;

const LONG: &str = "A long word: Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft \
     [1].\n\n\
     | one | two | three | four | five | six | seven |\n|--|--|--|--|--|--|--|\n\
     | some words | some words | some words | some words | some words | some words | some words |\n\n\
     ```sh\nragengine ingest --index handbook --server https://ragengine.example.org:8443/with/a/long/path docs/\n```";

/// Nothing is wider than the window, which would make the whole page move sideways.
async fn fits(site: &Site) {
    let wider = "document.documentElement.scrollWidth - innerWidth";
    assert_eq!(site.page.value(wider).await, 0, "the page can be moved sideways");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phone_has_room_for_everything() {
    let site = Site::start(Model::answering(LONG).await).await;
    let page = &site.page;
    page.resize(360, 740).await;
    page.sees("@menu").await;
    page.sees_no("@new-chat").await;
    fits(&site).await;
    page.begin("Why do cats purr?").await;
    fits(&site).await;

    // The document covers the conversation.
    page.click("@source-chip").await;
    page.sees("@passage").await;
    fits(&site).await;
    assert_eq!(page.value("$('@document-panel').matches(':modal')").await, true);
    page.keys(ESCAPE).await;
    page.sees_no("@document-panel").await;
    assert_eq!(page.focused().await, "source-chip");

    page.click("@menu").await;
    page.sees("@new-chat").await;
    assert_eq!(page.focused().await, "drawer-close");
    page.click("@new-chat").await;
    page.sees_no("@new-chat").await;
    page.begin("When does the ship leave?").await;
    page.click("@menu").await;
    page.sees("@conversation").await;
    assert_eq!(page.conversations().await, ["When does the ship leave?", "Why do cats purr?"]);
    page.click("@conversation:nth-child(2) a").await;
    page.reads("[data-role=user]", "Why do cats purr?").await;
    page.sees_no("@conversation").await;
    page.click("@citation").await;
    page.sees("@passage").await;
    page.click("@document-panel .panel-close").await;

    page.click("@menu").await;
    page.sees("@new-chat").await;
    page.keys(ESCAPE).await;
    page.sees_no("@new-chat").await;
    assert_eq!(page.focused().await, "menu");
    fits(&site).await;
    site.finish().await;
}
