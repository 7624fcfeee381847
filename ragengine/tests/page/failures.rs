//! A language model that fails, or takes its time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::model::{Does, Model};
use crate::site::Site;

const ANSWER: &str = "A cat purrs when it is content [1].";

/// A site whose language model does `failure` until the switch is turned off.
async fn failing(failure: fn() -> Does) -> (Site, Arc<AtomicBool>) {
    let fails = Arc::new(AtomicBool::new(true));
    let switch = Arc::clone(&fails);
    let model =
        Model::scripted(
            move |_| {
                if fails.load(Ordering::Relaxed) { failure() } else { Does::Answers(ANSWER.to_owned()) }
            },
        );
    (Site::start(model.await).await, switch)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_failed_can_be_asked_again() {
    let (site, fails) = failing(|| Does::Refuses(500)).await;
    let page = &site.page;
    page.begin("Why do cats purr?").await;
    page.reads("@error p", "The model is out of memory.").await;
    assert!(page.value("$('@error').getAttribute('role')").await == "alert");
    assert_eq!((page.count(".markdown p").await, page.count("@source-chip").await), (0, 0));
    fails.store(false, Ordering::Relaxed);
    page.click("@retry").await;
    page.reads(".markdown", "A cat purrs").await;
    page.answered(1).await;
    assert_eq!((page.count("[data-role=user]").await, page.count("@error").await), (1, 0));
    assert_eq!(site.kept().await.len(), 2);
    site.may_fail("/query").finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_stays_with_an_error_and_can_be_asked_again() {
    let (site, fails) = failing(|| Does::Breaks("Cats purr when ".to_owned())).await;
    let page = &site.page;
    page.ask("Why do cats purr?").await;
    page.reads(".markdown", "Cats purr when").await;
    site.model.go_on();
    page.reads("@error p", "language model").await;
    assert_eq!(page.text(".markdown").await.trim(), "Cats purr when");
    fails.store(false, Ordering::Relaxed);
    page.click("@retry").await;
    page.reads(".markdown", "A cat purrs").await;
    page.answered(1).await;
    assert_eq!((page.count("[data-role=user]").await, page.count("@error").await), (1, 0));
    site.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_late_is_awaited() {
    let (site, _) = failing(|| Does::Waits(String::new(), ANSWER.to_owned())).await;
    let page = &site.page;
    page.ask("Why do cats purr?").await;
    page.reads(".waiting", "Searching the documents…").await;
    assert_eq!(page.value("$('[data-role=assistant]').getAttribute('aria-busy')").await, "true");
    assert_eq!(page.conversations().await, ["Why do cats purr?"]);
    site.model.go_on();
    page.answered(1).await;
    page.sees_no(".waiting").await;
    site.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_the_server_refuses_is_explained() {
    let (site, _) = failing(|| Does::Answers(ANSWER.to_owned())).await;
    let page = &site.page;
    page.sees("@suggestion").await;
    site.server.delete("/indexes/docs").await.ok();
    page.begin("Why do cats purr?").await;
    page.reads("@error", "This does not exist on the server.").await;
    page.reads("@error p", "docs").await;
    site.may_fail("/query").finish().await;
}
