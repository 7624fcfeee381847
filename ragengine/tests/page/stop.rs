//! Answers that the reader stops.

use serde_json::json;

use crate::model::{Does, Model};
use crate::site::Site;

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_answer_stays_and_the_next_question_works() {
    let model = Model::scripted(|question| {
        if question.contains("cats") {
            Does::Waits("Cats purr when ".to_owned(), "they are content.".to_owned())
        } else {
            Does::Answers("At noon [1].".to_owned())
        }
    });
    let site = Site::start(model.await).await;
    let page = &site.page;
    page.ask("Why do cats purr?").await;
    page.reads(".markdown", "Cats purr when").await;
    page.click("@stop").await;
    page.reads("@stopped", "You stopped this answer.").await;
    page.sees("@send").await;
    assert_eq!(page.text(".markdown").await.trim(), "Cats purr when");
    assert_eq!(page.focused().await, "composer-input");

    page.ask("When does the ship leave?").await;
    page.answered(2).await;
    assert_eq!(page.text("[data-role=assistant]:last-child .markdown").await.trim(), "At noon 1.");
    let kept = site.kept().await;
    assert_eq!((&kept[1]["content"], &kept[1]["complete"]), (&json!("Cats purr when "), &json!(false)));
    page.reload().await;
    page.reads("@incomplete", "This answer is incomplete").await;
    page.until("$$('@message').length === 4").await;
    assert_eq!((page.count("@incomplete").await, page.text(".markdown").await.trim()), (1, "Cats purr when"));
    site.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_can_be_stopped_before_it_begins() {
    let site = Site::start(Model::scripted(|_| Does::Waits(String::new(), "Never shown.".to_owned())).await).await;
    let page = &site.page;
    page.ask("Why do cats purr?").await;
    page.sees(".waiting").await;
    page.click("@stop").await;
    page.reads("@stopped", "You stopped this answer before it began.").await;
    page.click("@ask-again").await;
    page.until("$$('[data-role=user]').length === 2").await;
    site.model.go_on();
    page.reads("[data-role=assistant]:last-child .markdown", "Never shown.").await;
    site.finish().await;
}
