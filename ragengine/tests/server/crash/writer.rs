//! A client that sends one request after the other and remembers what was acknowledged.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::{Value, json};

use super::model::{Documents, Recall, nearest, similarity, text};

/// The index that all writers share, each with its own documents. It exists before them and is never deleted.
pub const SHARED: &str = "shared";

/// Number of document ids of each writer. Ids are reused, so this is also the most documents it has in an index.
const IDS: usize = 90;

/// The error when the server was killed.
pub struct Gone;

/// A writer's documents in one index, or `None` if the index does not exist.
pub type Holding = Option<Documents>;

/// A client that changes and searches only its own documents.
pub struct Writer {
    pub number: usize,
    http: reqwest::Client,
    random: Rng,
    version: u64,
    /// The acknowledged state of each index.
    pub known: BTreeMap<String, Holding>,
    /// The index of the request that got no answer, and the states that it may have left.
    pub under_way: Option<(String, Vec<Holding>)>,
    pub acknowledged: usize,
    pub recall: Recall,
}

impl Writer {
    pub fn new(number: usize, seed: u64) -> Self {
        Self {
            number,
            http: reqwest::Client::new(),
            random: Rng::with_seed(seed.wrapping_add(number as u64)),
            version: 0,
            known: [(SHARED.to_owned(), Some(Documents::new())), (format!("own-{number}"), None)].into(),
            under_way: None,
            acknowledged: 0,
            recall: Recall::default(),
        }
    }

    /// Writes and searches until the server is killed.
    pub async fn work(&mut self, url: &str) {
        while self.step(url).await.is_ok() {}
    }

    /// Sends one random request.
    pub async fn step(&mut self, url: &str) -> Result<(), Gone> {
        let index = if self.random.bool() { SHARED.to_owned() } else { format!("own-{}", self.number) };
        let is_there = self.known[&index].is_some();
        match self.random.u32(..100) {
            0..3 if is_there && index != SHARED => self.delete_index(url, index).await,
            0..10 if !is_there => self.put_index(url, index).await,
            3..30 if is_there => self.delete(url, index).await,
            30..45 if is_there => self.update(url, index).await,
            45..65 if is_there => self.search(url, &index).await,
            _ => self.add(url, index).await,
        }
    }

    async fn add(&mut self, url: &str, index: String) -> Result<(), Gone> {
        let count = if self.random.u32(..8) == 0 { 60 } else { self.random.usize(1..6) };
        let documents: Documents = (0..count).map(|_| (self.any_id(), self.pages())).collect();
        let mut after = self.known[&index].clone().unwrap_or_default();
        after.extend(documents.clone());
        // Adding to a missing index creates it before it stores the documents.
        let possible = vec![Some(self.known[&index].clone().unwrap_or_default()), Some(after)];
        let body = json!({"index_name": index, "documents": self.wire(&documents)});
        self.write(self.http.post(format!("{url}/index")).json(&body), index, possible).await
    }

    async fn update(&mut self, url: &str, index: String) -> Result<(), Gone> {
        let documents: Documents = (0..self.random.usize(1..5)).map(|_| (self.any_id(), self.pages())).collect();
        let mut after = self.known[&index].clone().unwrap_or_default();
        for (doc_id, pages) in &documents {
            after.entry(doc_id.clone()).and_modify(|known| known.clone_from(pages));
        }
        let body = json!({"documents": self.wire(&documents)});
        let request = self.http.post(format!("{url}/indexes/{index}/documents")).json(&body);
        self.write(request, index, vec![Some(after)]).await
    }

    async fn delete(&mut self, url: &str, index: String) -> Result<(), Gone> {
        let doc_ids: Vec<String> = (0..self.random.usize(1..12)).map(|_| self.any_id()).collect();
        let mut after = self.known[&index].clone().unwrap_or_default();
        after.retain(|doc_id, _| !doc_ids.contains(doc_id));
        let body = json!({"doc_ids": doc_ids});
        let request = self.http.post(format!("{url}/indexes/{index}/documents/delete")).json(&body);
        self.write(request, index, vec![Some(after)]).await
    }

    async fn put_index(&mut self, url: &str, index: String) -> Result<(), Gone> {
        let request = self.http.put(format!("{url}/indexes/{index}")).json(&json!({}));
        self.write(request, index, vec![Some(Documents::new())]).await
    }

    async fn delete_index(&mut self, url: &str, index: String) -> Result<(), Gone> {
        self.write(self.http.delete(format!("{url}/indexes/{index}")), index, vec![None]).await
    }

    /// Sends a change. `possible` holds the states that it may leave. The last one is the acknowledged state.
    async fn write(
        &mut self,
        request: reqwest::RequestBuilder,
        index: String,
        mut possible: Vec<Holding>,
    ) -> Result<(), Gone> {
        match reply(request).await {
            Ok(_) => {
                self.acknowledged += 1;
                self.known.insert(index, possible.pop().unwrap());
                Ok(())
            }
            Err(Gone) => {
                self.under_way = Some((index, possible));
                Err(Gone)
            }
        }
    }

    /// Searches its own documents, which no other writer changes, and compares the results.
    async fn search(&mut self, url: &str, index: &str) -> Result<(), Gone> {
        let documents = self.known[index].clone().unwrap_or_default();
        let known = self.random.choice(documents.values()).map(|pages| pages[0].clone());
        let query = known.filter(|_| self.random.bool()).unwrap_or_else(|| self.page(0));
        let filter = json!({"writer": self.number});
        let recall =
            search(&self.http, url, Question { index, query: &query, filter: Some(filter) }, &[&documents]).await?;
        self.recall.add(recall);
        Ok(())
    }

    fn any_id(&mut self) -> String {
        format!("{}-{}", self.number, self.random.usize(..IDS))
    }

    fn pages(&mut self) -> Vec<String> {
        (1..=self.random.usize(1..4)).map(|page| self.page(page)).collect()
    }

    /// A text that was never written before.
    fn page(&mut self, page: usize) -> String {
        self.version += 1;
        format!("writer {} wrote version {} on page {page}", self.number, self.version)
    }

    fn wire(&self, documents: &Documents) -> Vec<Value> {
        let metadata = json!({"split_type": "pages", "writer": self.number});
        let document = |(doc_id, pages): (&String, &Vec<String>)| {
            let text = text(pages);
            json!({"doc_id": doc_id, "text": text, "metadata": metadata})
        };
        documents.iter().map(document).collect()
    }
}

/// The JSON reply to a request. Panics on an error status, and returns `Gone` if no reply arrives.
pub async fn reply(request: reqwest::RequestBuilder) -> Result<Value, Gone> {
    let response = request.send().await.map_err(|_| Gone)?;
    let (url, status) = (response.url().clone(), response.status());
    let text = response.text().await.map_err(|_| Gone)?;
    assert!(status.is_success(), "{url}: {status}: {text}");
    Ok(serde_json::from_str(&text).unwrap())
}

/// A search for the pages nearest to `query`.
pub struct Question<'a> {
    /// Name of the index.
    pub index: &'a str,
    /// The text to search for.
    pub query: &'a str,
    /// The metadata filter, if any.
    pub filter: Option<Value>,
}

/// Searches and compares the results with the expected documents. Results that a graph misses only lower the recall.
pub async fn search(
    http: &reqwest::Client,
    url: &str,
    question: Question<'_>,
    documents: &[&Documents],
) -> Result<Recall, Gone> {
    let Question { index, query, filter } = question;
    let k = 10;
    let stages = json!({"retrieval": "dense"});
    let mut body = json!({"index_name": index, "query": query, "max_node_count": k, "pipeline": stages});
    if let Some(filter) = filter {
        body["metadata_filter"] = filter;
    }
    let found = reply(http.post(format!("{url}/retrieve")).json(&body)).await?;
    let expected = nearest(documents.iter().copied(), query, k);
    let mut similarities = Vec::new();
    for node in found["results"].as_array().unwrap() {
        let (doc_id, text) = (node["doc_id"].as_str().unwrap(), node["text"].as_str().unwrap());
        let is_there = documents
            .iter()
            .any(|documents| documents.get(doc_id).is_some_and(|pages| pages.iter().any(|page| page == text)));
        assert!(is_there, "{index}: a search found a page that does not exist: {doc_id}: {text}");
        let similarity = similarity(query, text);
        assert!((node["score"].as_f64().unwrap() as f32 - similarity).abs() < 1e-3, "{index}: {query}: {node}");
        similarities.push(similarity);
    }
    assert!(similarities.is_sorted_by(|left, right| left >= &(right - 1e-4)), "{index}: {similarities:?}");
    assert_eq!(similarities.len(), expected.len(), "{index}: {query}");
    let worst = expected.last().copied().unwrap_or_default();
    let found = similarities.iter().filter(|similarity| **similarity >= worst - 1e-4).count();
    Ok(Recall { expected: expected.len(), found })
}
