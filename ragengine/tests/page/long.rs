//! A conversation of 1,000 messages.

use ragengine::access::Caller;
use ragengine_stores::{Newest, SessionKey, Turn};
use serde_json::json;

use crate::model::Model;
use crate::site::Site;

/// Scrolling a long conversation may take so many times longer than a short one.
const RATIO: f64 = 4.0;

/// Keeps a conversation of so many questions and answers.
async fn keep(site: &Site, id: &str, turns: usize) {
    let store = site.server.app.loaded().unwrap().stores.sessions();
    let key = SessionKey { owner: Caller::anonymous(None).owner().to_owned(), id: id.to_owned() };
    let sources = json!([{
        "number": 1, "doc_id": "cats", "node_id": "n", "text": "A cat purrs.", "score": 0.5, "metadata": {},
    }]);
    for number in 0..turns {
        let seq = store.join(&key, Newest { turns: 0, bytes: 0 }).await.unwrap().seq;
        let answer = format!(
            "Answer {number}: **see** [1].\n\n- first\n- second\n\n```rust\nlet number = {number};\n```\n\n\
             | a | b |\n|--|--|\n| {number} | text |"
        );
        let question = format!("Question {number}?");
        let turn = Turn { seq, question, answer, sources: sources.to_string(), complete: true, ..Turn::default() };
        assert!(store.add(&key, turn).await.unwrap());
    }
}

/// Opens a conversation and waits until its end is shown.
async fn open(site: &Site, id: &str, turns: usize) {
    let page = &site.page;
    page.open("about:blank").await;
    page.open(&format!("{}/#chat={id}", site.server.url)).await;
    page.until(&format!("$$('@message').length === {}", turns * 2)).await;
    page.until("$('@message:last-child .toolbar')").await;
    page.until(
        "(({scrollHeight, scrollTop, clientHeight}) => scrollHeight - scrollTop - clientHeight < 60)($('#transcript'))",
    )
    .await;
}

/// The 95th percentile of the time between frames, in milliseconds, while the conversation is scrolled.
async fn frame_time(site: &Site) -> f64 {
    let time = site.page.run_async(
        "const scroller = $('#transcript'); const times = []; let last = performance.now(); let step = -150; \
         for (let frame = 0; frame < 100; frame++) { \
             if (scroller.scrollTop === 0) step = 150; \
             scroller.scrollTop += step; \
             await new Promise(requestAnimationFrame); \
             const now = performance.now(); times.push(now - last); last = now; \
         } \
         return times.sort((a, b) => a - b)[94];",
    );
    time.await.as_f64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_messages_scroll_like_a_few() {
    let site = Site::start(Model::answering("So it is.").await).await;
    keep(&site, "short-conversation", 20).await;
    keep(&site, "long-conversation", 500).await;
    let mut best = [f64::MAX; 2];
    for _ in 0..3 {
        for (best, (id, turns)) in best.iter_mut().zip([("short-conversation", 20), ("long-conversation", 500)]) {
            open(&site, id, turns).await;
            *best = best.min(frame_time(&site).await);
        }
    }
    let [short, long] = best;
    println!("a frame takes {short:.1} ms among few messages and {long:.1} ms among many");
    assert!(long < RATIO * short, "{long} ms against {short} ms");

    let page = &site.page;
    page.run("$('#transcript').scrollTop = 0", json!([])).await;
    page.reads("@message:nth-child(2) .markdown strong", "see").await;
    let shown = "(([one, frame]) => one.top >= frame.top && one.bottom <= frame.bottom)\
                 ([$('@message'), $('#transcript')].map((one) => one.getBoundingClientRect()))";
    page.until(shown).await;
    let messages = page.messages().await;
    for (number, turn) in messages.chunks(2).enumerate() {
        assert_eq!(turn[0], format!("Question {number}?"));
        assert!(turn[1].contains(&format!("Answer {number}:")), "{turn:?}");
    }
    assert_eq!(messages.len(), 1000);
    site.finish().await;
}
