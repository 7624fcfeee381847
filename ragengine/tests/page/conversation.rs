//! A conversation with follow-ups, and the list of conversations.

use crate::model::{CONDENSED, Does, Model};
use crate::site::Site;
use crate::steps::{ENTER, PASTE};

const QUESTION: &str = "When is the tax return due?";

const BEGINNING: &str = "## Due dates\n\nThe return is due on the **last day of May** [1].\n\n";

const REST: &str = "| Return | Due | Fee |\n|:--|:-:|--:|\n| annual | May | 25 [1] |\n\n\
     ```rust\nfn fee() -> u32 {\n    25 // [1]\n}\n```\n\n- [x] done\n\nNo source has the number [77].";

/// Answers about taxes begin, and wait.
fn script(question: &str) -> Does {
    if question.contains("tax") && !question.contains("fee") {
        Does::Waits(BEGINNING.to_owned(), REST.to_owned())
    } else {
        Does::Answers("It costs **25 euros** [1].".to_owned())
    }
}

/// A site with the finished answer to the first question.
async fn answered() -> Site {
    let site = Site::start(Model::scripted(script).await).await;
    site.add("docs", &[("fees", "Who is late with the annual tax return pays a fee of 25 euros.")]).await;
    site.page.ask(QUESTION).await;
    site.model.go_on();
    site.page.answered(1).await;
    site
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_shown_as_it_is_written() {
    let site = Site::start(Model::scripted(script).await).await;
    let page = &site.page;
    page.ask(QUESTION).await;
    page.reads(".markdown strong", "last day of May").await;
    page.reads(".markdown h3", "Due dates").await;
    assert_eq!((page.count(".markdown table").await, page.count("@source-chip").await), (0, 0));
    page.sees("@stop").await;
    page.sees_no("@send").await;
    site.model.go_on();
    page.answered(1).await;
    page.sees("@send").await;
    assert_eq!(page.texts(".markdown th").await, ["Return", "Due", "Fee"]);
    page.until("$('.markdown pre .hljs-keyword')?.textContent === 'fn'").await;
    assert_eq!(page.value("getComputedStyle($('.markdown td:last-child')).textAlign").await, "right");
    // Numbers of sources are links in text, not in code and not without a source.
    assert_eq!(page.texts("@citation").await, ["1", "1"]);
    assert!(page.text(".markdown").await.contains("[77]"));
    page.reads("#announcer", "Answer: Due dates").await;
    page.click("@copy-code").await;
    page.enter("@composer-input", PASTE).await;
    assert_eq!(page.value("$('@composer-input').value").await, "fn fee() -> u32 {\n    25 // [1]\n}");
    site.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_opens_its_document_at_the_passage() {
    let site = answered().await;
    let page = &site.page;
    page.reads("@source-chip", "Tax").await;
    page.click("@source-chip").await;
    page.reads("@document-panel h2", "Tax").await;
    page.reads("@passage", "The annual tax return is due on the last day of May.").await;
    assert!(page.text("@document-panel .facts").await.contains("Documenttax"));
    page.click("@document-panel [aria-label='Next source']").await;
    page.until("text('@document-panel h2 .chip-number') === '2'").await;
    page.click("@document-panel .panel-close").await;
    page.sees_no("@document-panel").await;
    page.click("@citation").await;
    page.reads("@passage", "The annual tax return").await;
    // A document that is gone in the meantime.
    page.click("@document-panel .panel-close").await;
    site.server.post("/indexes/docs/documents/delete", &serde_json::json!({"doc_ids": ["tax"]})).await.ok();
    page.click("@source-chip").await;
    page.reads("@document-panel .notice", "not in the index any more").await;
    page.reads("@passage", "The annual tax return").await;
    site.may_fail("/indexes/docs/documents/tax").finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follow_up_is_understood_and_everything_is_there_again_after_loading() {
    let site = answered().await;
    let page = &site.page;
    assert!(page.text("title").await.starts_with(QUESTION));
    page.ask("And how much is the fee if I am late?").await;
    page.answered(2).await;
    page.click("[data-role=assistant]:last-child @explain summary").await;
    page.reads("@condensed-question", CONDENSED).await;
    let messages = page.messages().await;
    assert_eq!((messages.len(), messages[0].as_str()), (4, QUESTION));
    let chips = page.texts("@source-chip").await;
    page.reload().await;
    page.until(&format!("$$('@source-chip').length === {}", chips.len())).await;
    assert_eq!(page.messages().await, messages);
    assert_eq!(page.texts("@source-chip").await, chips);
    // The first answer twice, the second once.
    assert_eq!(page.texts("@citation").await, ["1", "1", "1"]);
    assert_eq!(page.conversations().await, [QUESTION]);
    site.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_are_listed_renamed_and_deleted() {
    let site = Site::start(Model::answering("So it is [1].").await).await;
    let page = &site.page;
    page.begin("Why do cats purr?").await;
    let first = page.value("location.hash").await;
    page.click("@new-chat").await;
    page.sees("@welcome").await;
    assert_eq!((page.count("@message").await, page.value("location.hash").await), (0, "".into()));
    page.begin("When does the ship leave?").await;
    assert_eq!(page.conversations().await, ["When does the ship leave?", "Why do cats purr?"]);

    page.hover("@conversation:nth-child(2)").await;
    page.click("@conversation:nth-child(2) @rename").await;
    page.value("$('@rename-dialog input').select()").await;
    page.enter("@rename-dialog input", &format!("<b>Purring</b>{ENTER}")).await;
    page.until("text('@conversation:nth-child(2) a') === '<b>Purring</b>'").await;
    page.click("@conversation:nth-child(2) a").await;
    page.reads("[data-role=user]", "Why do cats purr?").await;
    assert_eq!((page.text("h1").await.as_str(), page.value("location.hash").await), ("<b>Purring</b>", first));
    page.value("history.back()").await;
    page.reads("[data-role=user]", "When does the ship leave?").await;

    assert_eq!(site.kept().await.len(), 2);
    let history = site.history().await;
    page.hover("@conversation").await;
    page.click("@conversation @delete").await;
    page.click("@confirm-dialog [type=submit]").await;
    page.sees("@welcome").await;
    page.until("$$('@conversation').length === 1").await;
    assert_eq!(site.server.get(&history).await.ok()["messages"], serde_json::json!([]));
    page.reload().await;
    page.sees("@conversation").await;
    assert_eq!(page.conversations().await, ["<b>Purring</b>"]);
    site.finish().await;
}
