//! Votes on answers, and how an answer came about.

use serde_json::{Value, json};

use crate::model::Model;
use crate::site::Site;
use crate::steps::ENTER;

async fn votes(site: &Site) -> Vec<Value> {
    site.server.get("/feedback").await.ok()["feedback"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_can_be_voted_on() {
    let site = Site::start(Model::answering("They purr [1].").await).await;
    let page = &site.page;
    page.begin("Why do cats purr?").await;
    page.click("@thumb-down").await;
    page.enter("@vote-comment", &format!("Too short{ENTER}")).await;
    page.reads(".below", "Thank you.").await;
    let kept = votes(&site).await;
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!((&kept[0]["rating"], &kept[0]["comment"]), (&json!("down"), &json!("Too short")));
    assert_eq!(kept[0]["answer_id"], site.kept().await[1]["answer_id"]);
    page.reload().await;
    page.until("$('@thumb-down')?.getAttribute('aria-pressed') === 'true'").await;
    page.click("@thumb-up").await;
    page.sees("@vote-comment").await;
    assert_eq!(votes(&site).await[0]["rating"], "up");
    page.click("@thumb-up").await;
    page.until("$('@thumb-up').getAttribute('aria-pressed') === 'false'").await;
    page.sees_no("@vote-comment").await;
    let mut left = votes(&site).await;
    while !left.is_empty() {
        left = votes(&site).await;
    }
    site.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_way_to_an_answer_is_explained() {
    let site = Site::start(Model::answering("They purr [1].").await).await;
    let page = &site.page;
    page.begin("Why do cats purr?").await;
    page.sees_no("@explain table").await;
    page.click("@explain summary").await;
    page.sees("@explain table").await;
    let passages = page.texts("@explain .table-frame:first-of-type tbody tr").await;
    assert!(passages[0].starts_with("[1] Cats") && passages[0].ends_with("Used"), "{passages:?}");
    assert!(passages.iter().any(|row| row.ends_with("Not used: too far from the question")), "{passages:?}");
    let steps = page.text("@explain .table-frame:last-of-type").await;
    assert!(steps.contains("Searchdone"), "{steps}");
    page.click("@explain summary").await;
    page.sees_no("@explain table").await;
    site.finish().await;
}
