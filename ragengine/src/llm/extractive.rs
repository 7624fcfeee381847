//! The built-in model: it answers with the sentences of the context that are nearest to the question, and never invents.

use ragengine_embedding::Error;
use ragengine_pipeline::extract::{Sentence, pick, quote, sentences};

use crate::embedding::{Embedding, Windows};

/// Its name in replies.
pub const MODEL: &str = "extractive";

/// Its context window in tokens of the embedding model.
pub const WINDOW_TOKENS: u64 = 8192;

/// What it says when nothing in the index is near enough.
pub const NOTHING_RELEVANT: &str = "The documents do not say anything about this.";

/// What it says when something is near enough but too long for the context budget.
pub const NOTHING_FITS: &str = "Passages about this were found, but none fits into the context: raise max_tokens or context_token_ratio in the request.";

/// Sentences that are compared with the question, from the nearest chunks on. Each costs an embedding.
const MAX_COMPARED: usize = 64;

/// The sentences of the answer, each with the number of its source, in reading order.
///
/// `passages` are the texts of the selected chunks; the first has number 1.
///
/// # Errors
///
/// When the sentences cannot be embedded.
pub async fn answer(embedding: &Embedding, question: &Windows, passages: &[&str]) -> Result<Vec<String>, Error> {
    let numbered = (1..).zip(passages);
    let compared: Vec<Sentence> =
        numbered.flat_map(|(number, text)| sentences(number, text)).take(MAX_COMPARED).collect();
    let vectors = embedding.embed_queries(compared.iter().map(|sentence| sentence.text.clone()).collect()).await?;
    let similarity = |vector: &Vec<f32>| {
        let mixed = || Error::BadReply(format!("a sentence has {} values, and the question has others", vector.len()));
        question.similarity(vector).ok_or_else(mixed)
    };
    let similarities = vectors.iter().map(similarity).collect::<Result<Vec<f32>, _>>()?;
    let picked: Vec<String> =
        pick(&compared, &similarities).into_iter().map(|position| quote(&compared[position])).collect();
    Ok(if picked.is_empty() { whole_passages(passages) } else { picked })
}

/// Chunks without a sentence, such as code: the nearest is quoted whole.
fn whole_passages(passages: &[&str]) -> Vec<String> {
    passages.first().map(|text| quote(&Sentence { number: 1, text: (*text).to_owned() })).into_iter().collect()
}
