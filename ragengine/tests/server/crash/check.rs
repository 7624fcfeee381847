//! Compares a restarted server with the state that its writers expect.

use std::collections::BTreeMap;

use serde_json::json;

use super::model::{Documents, Recall, text};
use super::writer::{Gone, Holding, Question, Writer, reply, search};

const SEARCHES: usize = 6;

/// Checks every acknowledged write, and updates the writers with the outcome of the unacknowledged ones.
pub async fn check(http: &reqwest::Client, url: &str, writers: &mut [Writer]) -> Recall {
    let checked = compare(http, url, writers).await;
    checked.unwrap_or_else(|Gone| panic!("the server does not answer"))
}

async fn compare(http: &reqwest::Client, url: &str, writers: &mut [Writer]) -> Result<Recall, Gone> {
    let names = reply(http.get(format!("{url}/indexes"))).await?;
    let names: Vec<&str> = names.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    for writer in &mut *writers {
        settle(http, url, &names, writer).await?;
    }
    let mut recall = Recall::default();
    for name in names {
        let all: Vec<&Documents> = writers.iter().filter_map(|writer| writer.known.get(name)?.as_ref()).collect();
        let described = reply(http.get(format!("{url}/indexes/{name}"))).await?;
        let documents: usize = all.iter().map(|documents| documents.len()).sum();
        let chunks: usize = all.iter().flat_map(|documents| documents.values()).map(Vec::len).sum();
        assert_eq!((&described["documents"], &described["chunks"]), (&json!(documents), &json!(chunks)), "{name}");
        for number in 0..SEARCHES {
            let query = format!("search {number} of {chunks}");
            recall.add(search(http, url, Question { index: name, query: &query, filter: None }, &all).await?);
        }
    }
    Ok(recall)
}

/// Checks that each index holds what the writer had acknowledged, or one possible result of its unanswered request.
async fn settle(http: &reqwest::Client, url: &str, names: &[&str], writer: &mut Writer) -> Result<(), Gone> {
    let under_way = writer.under_way.take();
    let filter = json!({"writer": writer.number}).to_string();
    for (index, known) in &mut writer.known {
        let stored = if names.contains(&index.as_str()) { Some(list(http, url, index, &filter).await?) } else { None };
        let possible = under_way.iter().filter(|(of, _)| of == index).flat_map(|(_, possible)| possible);
        let found = [&*known].into_iter().chain(possible).find(|holding| texts(holding) == stored).cloned();
        *known = found.unwrap_or_else(|| {
            panic!(
                "{index} holds {stored:?} of writer {}, expected {known:?} or a result of {under_way:?}",
                writer.number
            )
        });
    }
    Ok(())
}

fn texts(holding: &Holding) -> Option<BTreeMap<String, String>> {
    let text = |(doc_id, pages): (&String, &Vec<String>)| (doc_id.clone(), text(pages));
    holding.as_ref().map(|documents| documents.iter().map(text).collect())
}

/// The texts of all documents that match a filter, by id.
async fn list(http: &reqwest::Client, url: &str, index: &str, filter: &str) -> Result<BTreeMap<String, String>, Gone> {
    let mut texts = BTreeMap::new();
    loop {
        let query = [("limit", "100"), ("offset", &texts.len().to_string()), ("metadata_filter", filter)];
        let mut page = reqwest::Url::parse_with_params(&format!("{url}/indexes/{index}/documents"), query).unwrap();
        page.query_pairs_mut().append_pair("max_text_length", "10000");
        let page = reply(http.get(page)).await?;
        for document in page["documents"].as_array().unwrap() {
            let field = |name: &str| document[name].as_str().unwrap().to_owned();
            assert_eq!(texts.insert(field("doc_id"), field("text")), None, "listed twice: {document}");
        }
        if page["total_items"].as_u64() == Some(texts.len() as u64) {
            return Ok(texts);
        }
    }
}
