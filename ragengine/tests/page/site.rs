//! A server with its page in a browser.

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::model::Model;
use crate::support::{FACTS, Server};

/// The distance up to which a passage answers a question, for indexes as small as these.
pub const NEAR: f32 = 1.1;

/// A server, its language model, and a browser that shows its page.
pub struct Site {
    pub server: Server,
    pub model: Model,
    pub page: Browser,
    /// The paths whose requests may fail.
    may_fail: Vec<String>,
}

impl Site {
    /// A site with an index `docs` of some facts.
    pub async fn start(model: Model) -> Self {
        let site = Self::empty(model, NEAR, "").await;
        site.add("docs", &FACTS).await;
        site.page.open(&site.server.url).await;
        site
    }

    /// A site without indexes, whose answers use passages up to this distance, with more settings. Its browser shows
    /// nothing yet.
    pub async fn empty(model: Model, max_distance: f32, more: &str) -> Self {
        // The page must be safe by itself, so HTML in answers is not converted before.
        let yaml = format!(
            "inferenceService: {{url: \'{}\'}}\nretrieval: {{maxDistance: {max_distance}}}\n\
             endpoints: {{query: {{postprocess: false}}}}\n{more}",
            model.upstream.url
        );
        let (server, page) = tokio::join!(Server::start(&yaml), Browser::start());
        Self { server, model, page, may_fail: Vec::new() }
    }

    /// Adds documents, whose titles are their ids with a capital letter.
    pub async fn add(&self, index: &str, documents: &[(&str, &str)]) {
        let document = |(id, text): &(&str, &str)| {
            let title = format!("{}{}", id[..1].to_uppercase(), &id[1..]);
            json!({"doc_id": id, "text": text, "metadata": {"title": title}})
        };
        let documents: Vec<Value> = documents.iter().map(document).collect();
        self.server.post("/index", &json!({"index_name": index, "documents": documents})).await.ok();
    }

    /// Requests for this path may fail.
    pub fn may_fail(mut self, path: &str) -> Self {
        self.may_fail.push(path.to_owned());
        self
    }

    /// Fails if the pages have reported an error, or have asked another server. Every test ends with it.
    pub async fn finish(self) {
        let may_fail: Vec<&str> = self.may_fail.iter().map(String::as_str).collect();
        let problems = self.page.problems(&self.server.url, &may_fail).await;
        assert!(problems.is_empty(), "the page has reported:\n{}", problems.join("\n"));
    }

    /// The path of the history of the conversation on the page.
    pub async fn history(&self) -> String {
        let address = self.page.value("location.hash").await;
        format!("/chat/history/{}", address.as_str().unwrap().strip_prefix("#chat=").unwrap())
    }

    /// The messages that the server keeps of the conversation on the page.
    pub async fn kept(&self) -> Vec<Value> {
        self.server.get(&self.history().await).await.ok()["messages"].as_array().unwrap().clone()
    }
}
