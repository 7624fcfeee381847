//! The built-in model. It answers with the sentences of the context that are nearest to the question and writes no text
//! itself.

mod wire;

use ragengine_compute as compute;
use ragengine_embedding::{Embedding, Error, Windows};
use ragengine_pipeline::extract::{Sentence, pick, quote, sentences};
use ragengine_pipeline::stream::Usage;

use super::{Answer, LlmError, StreamReply};

/// The name of the built-in model in replies.
pub const MODEL: &str = "extractive";

/// The context window of the built-in model, in tokens of the embedding model.
pub const WINDOW_TOKENS: u64 = 8192;

/// The answer if no chunk of the index is relevant.
pub const NOTHING_RELEVANT: &str = "The documents do not say anything about this.";

/// The answer if relevant chunks exist but are too long for the context budget.
pub const NOTHING_FITS: &str = "Passages about this were found, but none fits into the context: \
    raise max_tokens or context_token_ratio in the request.";

/// The most sentences that are compared with the question, starting with the nearest chunks. Each costs an embedding.
const MAX_COMPARED: usize = 64;

/// The input of the built-in model.
pub struct Quotable {
    /// The embedding model that made the vectors of the question. It is the index's model, which differs from the
    /// server's while a new generation is built and after a failed rebuild.
    pub embedding: Embedding,
    /// The server's embedding model, which counts the tokens.
    pub counter: Embedding,
    /// The vectors of the question.
    pub question: Windows,
    /// The texts of the selected chunks. The first has number 1.
    pub passages: Vec<String>,
    /// The answer if there are no passages.
    pub otherwise: &'static str,
    /// The number of tokens in the prompt.
    pub prompt_tokens: u64,
    /// Whether a stream ends with the usage.
    pub include_usage: bool,
}

impl Quotable {
    /// Returns the whole answer.
    ///
    /// # Errors
    ///
    /// [`LlmError`] if the sentences cannot be embedded.
    pub(super) async fn complete(self) -> Result<Answer, LlmError> {
        let (sentences, usage) = self.answer().await?;
        Answer::read(None, wire::whole(&sentences, usage).into())
    }

    /// Streams the answer, one sentence per event.
    ///
    /// # Errors
    ///
    /// See [`Self::complete`].
    pub(super) async fn stream(self) -> Result<StreamReply, LlmError> {
        let include_usage = self.include_usage;
        let (sentences, usage) = self.answer().await?;
        Ok(StreamReply::built_in(wire::events(&sentences, include_usage.then_some(usage)), usage))
    }

    async fn answer(self) -> Result<(Vec<String>, Usage), LlmError> {
        let sentences = if self.passages.is_empty() {
            vec![self.otherwise.to_owned()]
        } else {
            nearest(&self.embedding, &self.question, &self.passages).await?
        };
        let (counter, prompt_tokens) = (self.counter, self.prompt_tokens);
        let count = move |_: &_| {
            let completion_tokens = sentences.iter().map(|sentence| counter.count_tokens(sentence) as u64).sum();
            Ok::<_, LlmError>((sentences, Usage { prompt_tokens, completion_tokens }))
        };
        compute::run_on_thread(count).await
    }
}

/// The sentences of the answer in reading order, each with the number of its source.
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

/// Quotes the nearest chunk whole. Used if no chunk contains a sentence, such as code.
fn whole_passages(passages: &[String]) -> Vec<String> {
    passages.first().map(|text| quote(&Sentence { number: 1, text: text.clone() })).into_iter().collect()
}
