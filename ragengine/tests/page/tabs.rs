//! Two tabs of one browser.

use crate::model::{Does, Model};
use crate::site::Site;

/// Repeats the question. One about ships waits.
fn script(question: &str) -> Does {
    let answer = format!("You asked: {question}");
    if question.contains("ship") { Does::Waits("You asked".to_owned(), answer) } else { Does::Answers(answer) }
}

#[tokio::test(flavor = "multi_thread")]
async fn tabs_share_the_list_and_not_the_messages() {
    let site = Site::start(Model::scripted(script).await).await;
    let page = &site.page;
    page.sees("@welcome").await;
    let first = page.new_window().await;
    page.open(&site.server.url).await;
    page.begin("Why do cats purr?").await;
    let second = page.switch_to(&first).await;
    page.until("$$('@conversation').length === 1").await;
    page.sees("@welcome").await;
    page.begin("When is the tax return due?").await;
    assert_eq!(page.conversations().await, ["When is the tax return due?", "Why do cats purr?"]);
    assert_eq!(site.kept().await.len(), 2);
    assert!(!page.messages().await.join(" ").contains("cats"));

    page.switch_to(&second).await;
    page.until("$$('@conversation').length === 2").await;
    assert_eq!(site.kept().await[0]["content"], "Why do cats purr?");
    page.ask("Why do they sleep?").await;
    page.answered(2).await;
    assert_eq!(site.kept().await.len(), 4);
    let prompt = site.model.upstream.last().json().to_string();
    assert!(prompt.contains("Why do cats purr?") && !prompt.contains("When is the tax return due?\""), "{prompt}");
    page.switch_to(&first).await;
    assert_eq!((site.kept().await.len(), page.count("@message").await), (2, 2));
    site.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tab_shows_what_happens_in_its_conversation_in_another() {
    let site = Site::start(Model::scripted(script).await).await;
    let page = &site.page;
    page.begin("Why do cats purr?").await;
    let address = page.value("location.href").await;
    let first = page.new_window().await;
    page.open(address.as_str().unwrap()).await;
    page.sees("@message").await;
    page.ask("When does the ship leave?").await;
    page.reads("[data-role=assistant]:last-child", "You asked").await;
    let second = page.switch_to(&first).await;
    page.reads("#composer-hint", "Another tab is waiting").await;
    page.enter("@composer-input", "x").await;
    assert_eq!(page.value("$('@send').disabled").await, true);
    assert_eq!(page.count("@message").await, 2);
    site.model.go_on();
    page.until("$$('@message').length === 4").await;
    page.reads("[data-role=assistant]:last-child", "When does the ship leave?").await;
    assert_eq!(page.value("$('@send').disabled").await, false);
    // A conversation that is deleted in one tab is gone from the other.
    page.hover("@conversation").await;
    page.click("@conversation @delete").await;
    page.click("@confirm-dialog [type=submit]").await;
    page.until("$$('@conversation').length === 0").await;
    page.switch_to(&second).await;
    page.until("$$('@conversation').length === 0").await;
    page.sees("@welcome").await;
    site.finish().await;
}
