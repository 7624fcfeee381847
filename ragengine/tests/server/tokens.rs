//! Counting tokens with the tokenizer of the served model, from the settings to the reply.

use std::fs;

use serde_json::{Value, json};

use crate::support::upstream::{Upstream, completion, json_reply};
use crate::support::{FACTS, Server, ask, model_directory, settings};

/// A chat template that puts markers around each message.
const TEMPLATE: &str = "{% for message in messages %}[CLS] {{ message.role }} : {{ message.content }} [SEP]{% endfor %}\
     {% if add_generation_prompt %}[CLS] assistant :{% endif %}";

async fn explained(server: &Server, upstream: &Upstream) -> (Value, Value) {
    explained_for(server, upstream, "m").await
}

async fn explained_for(server: &Server, upstream: &Upstream, model: &str) -> (Value, Value) {
    let mut body = ask("docs", "When is the annual tax return due?");
    body["model"] = json!(model);
    body["explain"] = json!(true);
    body["max_tokens"] = json!(5000);
    let reply = server.post("/v1/chat/completions", &body).await.ok();
    (reply["explanation"].clone(), upstream.last().json())
}

#[tokio::test]
async fn the_models_own_tokenizer_and_template_count_the_prompt_to_the_token() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(model_directory().join("tokenizer.json"), folder.path().join("tokenizer.json")).unwrap();
    fs::write(folder.path().join("tokenizer_config.json"), json!({"chat_template": TEMPLATE}).to_string()).unwrap();
    let upstream = Upstream::scripted(|_| json_reply(200, &completion("ok"))).await;
    let yaml = |extra: &str| {
        format!(
            "{{inferenceService: {{url: '{}', contextWindowSize: 2000{extra}}}, retrieval: {{maxDistance: 1.1}}}}",
            upstream.url
        )
    };
    let server = Server::start(&yaml(&format!(", tokenizer: '{}'", folder.path().display()))).await;
    server.add("docs", &FACTS).await;
    for _ in 0..2 {
        // The second time the counts of the chunks come from the cache.
        let (explanation, sent) = explained(&server, &upstream).await;
        assert_eq!(explanation["tokenizer"], "served");
        let tokenizer = ragengine_tokenizer::Tokenizer::from_path(folder.path()).unwrap();
        let rendered: String = sent["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| {
                format!("[CLS] {} : {} [SEP]", message["role"].as_str().unwrap(), message["content"].as_str().unwrap())
            })
            .chain(["[CLS] assistant :".to_owned()])
            .collect();
        let prompt_tokens = explanation["prompt_tokens"].as_u64().unwrap();
        assert_eq!(prompt_tokens, tokenizer.count(&rendered));
        assert_eq!(sent["max_tokens"].as_u64().unwrap() + prompt_tokens, 2000);
    }
    let estimating = Server::start(&yaml("")).await;
    estimating.add("docs", &FACTS).await;
    let (estimated, _) = explained(&estimating, &upstream).await;
    assert_eq!(estimated["tokenizer"], "estimate");
}

#[tokio::test]
async fn stored_counts_add_up_to_the_finished_prompt() {
    let upstream = Upstream::scripted(|_| json_reply(200, &completion("ok"))).await;
    let yaml = format!(
        "{{inferenceService: {{url: '{}', contextWindowSize: 4000}}, retrieval: {{maxDistance: 4.0}}}}",
        upstream.url
    );
    let server = Server::start(&yaml).await;
    server.add("docs", &FACTS).await;
    let tokenizer = ragengine_tokenizer::Tokenizer::openai("gpt-4o").unwrap();
    for _ in 0..2 {
        let (explanation, sent) = explained_for(&server, &upstream, "gpt-4o").await;
        assert_eq!(explanation["tokenizer"], "tiktoken");
        let selected = explanation["chunks"].as_array().unwrap().iter().filter(|chunk| chunk["decision"] == "selected");
        assert!(selected.count() > 3, "{explanation}");
        let counted = tokenizer.count_conversation(sent["messages"].as_array().unwrap());
        assert_eq!(explanation["prompt_tokens"].as_u64(), Some(counted));
    }
}

#[tokio::test]
async fn a_missing_tokenizer_stops_the_start() {
    // `main` does this at the start of the program. Each test may run in a separate process.
    drop(rustls::crypto::ring::default_provider().install_default());
    let data = tempfile::tempdir().unwrap();
    let settings = settings(&data, "{inferenceService: {url: 'http://127.0.0.1:9', tokenizer: /nowhere/model}}");
    let Err(error) = ragengine::app::App::new(settings) else { panic!("the server started") };
    let words = error.to_string();
    assert!(words.contains("inferenceService.tokenizer") && words.contains("/nowhere/model"), "{words}");
}
