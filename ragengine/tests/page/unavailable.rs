//! A server whose store of conversations is down.

use crate::model::Model;
use crate::site::{NEAR, Site};
use crate::support::FACTS;

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_its_history_says_so() {
    let down = "sessions: {store: redis}\nredis: {url: 'redis://127.0.0.1:1'}";
    let site = Site::empty(Model::answering("They purr [1].").await, NEAR, down).await;
    site.add("docs", &FACTS).await;
    let page = &site.page;
    page.open(&site.server.url).await;
    page.begin("Why do cats purr?").await;
    page.reads(".markdown", "They purr").await;
    page.reads("@history-unavailable", "does not know the messages before it").await;
    page.reload().await;
    page.reads("@error", "The server cannot answer at the moment.").await;
    page.sees("@retry").await;
    let history = site.history().await;
    site.may_fail(&history).finish().await;
}
