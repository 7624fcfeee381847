//! A client that sends random reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fastrand::Rng;
use reqwest::{Client, RequestBuilder};
use serde_json::json;

use crate::crash::writer::SHARED;

pub async fn read(url: String, number: u64, is_over: Arc<AtomicBool>) {
    let (http, mut random) = (Client::new(), Rng::with_seed(number));
    while !is_over.load(Ordering::Relaxed) {
        let response = any_request(&http, &url, &mut random).send().await.unwrap();
        let (url, status) = (response.url().clone(), response.status());
        let text = response.text().await.unwrap();
        assert!(status.is_success(), "{url}: {status}: {text}");
    }
}

fn any_request(http: &Client, url: &str, random: &mut Rng) -> RequestBuilder {
    let question = format!("question {}", random.u16(..));
    let chat = |stream: bool| {
        let messages = json!([{"role": "user", "content": question}]);
        let body = json!({"model": "m", "index_name": SHARED, "messages": messages, "stream": stream});
        http.post(format!("{url}/v1/chat/completions")).json(&body)
    };
    match random.u32(..12) {
        0..5 => {
            let body = json!({"index_name": SHARED, "query": question, "max_node_count": random.usize(1..=300)});
            http.post(format!("{url}/retrieve")).json(&body)
        }
        5 => chat(false),
        6 => chat(true),
        7 => http.get(format!("{url}/indexes/{SHARED}/documents?limit=100&offset={}", random.usize(..200))),
        8 => http.get(format!("{url}/metrics")),
        9 => http.get(format!("{url}/indexes/{SHARED}")),
        10 => http.post(format!("{url}/v1/embeddings")).json(&json!({"input": [question, "more"]})),
        _ => http.get(format!("{url}/readyz")),
    }
}
