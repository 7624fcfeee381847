//! The built-in model: it answers with the sentences of the context that are nearest to the question, and never invents.

mod wire;

use ragengine_compute as compute;
use ragengine_embedding::{Embedding, Error, Windows};
use ragengine_pipeline::extract::{Sentence, pick, quote, sentences};
use ragengine_pipeline::stream::Usage;

use super::{Answer, LlmError, StreamReply};

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

/// What an answer is made of.
pub struct Quotable {
    /// The model of the question's vectors: that of the index, which is not the server's while its next generation is built, or after that was
    /// given up.
    pub embedding: Embedding,
    /// The server's own, whose tokens are counted.
    pub counter: Embedding,
    /// The question.
    pub question: Windows,
    /// The texts of the selected chunks; the first has number 1.
    pub passages: Vec<String>,
    /// What is said where there is none.
    pub otherwise: &'static str,
    /// The tokens of the prompt.
    pub prompt_tokens: u64,
    /// Whether a stream ends with the usage.
    pub include_usage: bool,
}

impl Quotable {
    /// The answer, whole.
    ///
    /// # Errors
    ///
    /// When the sentences cannot be embedded.
    pub(super) async fn complete(self) -> Result<Answer, LlmError> {
        let (sentences, usage) = self.answer().await?;
        Answer::read(None, wire::whole(&sentences, usage).into())
    }

    /// The answer, sentence by sentence.
    ///
    /// # Errors
    ///
    /// As [`Self::complete`].
    pub(super) async fn stream(self) -> Result<StreamReply, LlmError> {
        let include_usage = self.include_usage;
        let (sentences, usage) = self.answer().await?;
        Ok(StreamReply::built_in(wire::events(&sentences, include_usage.then_some(usage)), usage))
    }

    async fn answer(self) -> Result<(Vec<String>, Usage), LlmError> {
        let sentences = match self.passages.is_empty() {
            true => vec![self.otherwise.to_owned()],
            false => nearest(&self.embedding, &self.question, &self.passages).await?,
        };
        let (counter, prompt_tokens) = (self.counter, self.prompt_tokens);
        let count = move |_: &_| {
            let completion_tokens = sentences.iter().map(|sentence| counter.count_tokens(sentence) as u64).sum();
            Ok::<_, LlmError>((sentences, Usage { prompt_tokens, completion_tokens }))
        };
        compute::run_on_thread(count).await
    }
}

/// The sentences of the answer, each with the number of its source, in reading order.
async fn nearest(embedding: &Embedding, question: &Windows, passages: &[String]) -> Result<Vec<String>, Error> {
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
fn whole_passages(passages: &[String]) -> Vec<String> {
    passages.first().map(|text| quote(&Sentence { number: 1, text: text.clone() })).into_iter().collect()
}
