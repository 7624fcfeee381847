//! How much of a history the language model gets, and in which form.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{SESSION, conversation, last_prompt, messages, query, replying, settings};
use crate::support::upstream::Upstream;
use crate::support::{FACTS, Server};

fn contents(prompt: &[Value]) -> Vec<&str> {
    prompt.iter().map(|message| message["content"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_first_question_is_answered_from_the_history() {
    let upstream = Upstream::scripted(|body| {
        let first = body["messages"].as_array().unwrap().iter().find(|message| message["role"] == "user");
        let first = first.and_then(|message| message["content"].as_str()).unwrap_or_default();
        replying(&body, &format!("Your first question was: {first}"))
    })
    .await;
    let server = Server::start(&settings(&upstream, "")).await;
    server.add("docs", &FACTS).await;
    query(&server, SESSION, "Why do cats purr?").await;
    query(&server, SESSION, "When does the ship leave?").await;
    let reply = query(&server, SESSION, "What was my first question?").await;
    assert_eq!(reply["answer"], "Your first question was: Why do cats purr?");
}

#[tokio::test]
async fn the_oldest_turns_leave_a_small_window() {
    let (server, upstream) = conversation("").await;
    drop(server);
    // The estimate counts a token for three bytes: each turn has about 100 tokens, and half of the window is 500.
    let yaml = "inferenceService: {url: 'URL', contextWindowSize: 1000}\nretrieval: {maxDistance: 1.1}";
    let server = Server::start(&yaml.replace("URL", &upstream.url)).await;
    server.add("docs", &FACTS).await;
    for turn in 0..12 {
        query(&server, SESSION, &format!("{turn:02} {}", "Why do cats purr? ".repeat(14))).await;
    }
    let prompt = last_prompt(&upstream);
    let contents = contents(&prompt);
    assert_eq!(prompt[1]["role"], "user", "a history begins with a question");
    let turns = (prompt.len() - 2) / 2;
    assert!((3..=5).contains(&turns), "{turns}: {contents:?}");
    let first: usize = contents[1][..2].parse().unwrap();
    assert_eq!((first, &contents[prompt.len() - 1][..2]), (11 - turns, "11"), "the newest turns, without gaps");
    assert_eq!(messages(&server, SESSION).await.len(), 24, "all turns are shown");
}

#[tokio::test]
async fn a_history_can_be_a_section_of_the_system_message() {
    let (server, upstream) = conversation("sessions: {historyFormat: section}").await;
    query(&server, SESSION, "Why do cats purr?").await;
    query(&server, SESSION, "When is the annual tax return due?").await;
    let section = "\n\nCONVERSATION HISTORY:\nUser: Why do cats purr?\nAssistant: Answer to 2 messages [1].\n\nUse this \
                   history to provide context-aware responses.";
    // The number of the earlier answer is escaped, because it is that of another passage now.
    let section = section.replace("[1]", "\\[1]");
    let prompt = last_prompt(&upstream);
    assert!(contents(&prompt)[0].ends_with(&section), "{prompt:?}");
    assert_eq!(prompt.len(), 2);
    // Also if nothing is relevant.
    let pipeline = json!({"condense": "never"});
    let body = json!({"query": "Who won the chess game yesterday night?", "session_id": SESSION, "pipeline": pipeline});
    let reply = server.post("/query", &body).await.ok();
    assert_eq!(reply["sources"], json!([]));
    let prompt = last_prompt(&upstream);
    assert!(contents(&prompt)[0].starts_with("CONVERSATION HISTORY:\nUser: Why do cats purr?"), "{prompt:?}");
    assert_eq!((prompt.len(), &prompt[1]["content"]), (2, &json!("Who won the chess game yesterday night?")));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_questions_at_once_are_kept_in_the_order_of_their_arrival() {
    let upstream = Upstream::scripted(|body| {
        let question = body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
        let answer = replying(&body, &format!("Answer to {question}"));
        if question.starts_with("slow") {
            std::thread::sleep(Duration::from_millis(700));
        }
        answer
    })
    .await;
    let server = Arc::new(Server::start(&settings(&upstream, "")).await);
    server.add("docs", &FACTS).await;
    let slow = tokio::spawn({
        let server = Arc::clone(&server);
        async move { query(&server, SESSION, "slow: why do cats purr?").await }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    query(&server, SESSION, "fast: why do cats sleep?").await;
    slow.await.unwrap();
    let texts: Vec<String> = messages(&server, SESSION).await.into_iter().map(|(_, text)| text).collect();
    let expected = [
        "slow: why do cats purr?",
        "Answer to slow: why do cats purr?",
        "fast: why do cats sleep?",
        "Answer to fast: why do cats sleep?",
    ];
    assert_eq!(texts, expected);
}
