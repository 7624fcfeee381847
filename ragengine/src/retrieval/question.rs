//! Embedding questions. A question that is longer than the embedding model's limit is split into windows.

mod cut;

use cut::surely_fits;
use ragengine_embedding::MAX_BYTES_PER_QUERY_TOKEN;

use crate::app::App;
use crate::embedding::in_embedding_span;
use crate::error::ApiError;
use ragengine_compute::{self as compute, Waiter};
use ragengine_embedding::{Embedding, Windows};

/// Questions up to this length are counted on the current thread, which is cheaper than a switch.
const COUNTED_AT_ONCE_BYTES: usize = 2 << 10;

/// The origin of a question, for the metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// A chat request.
    Chat,
    /// A `/retrieve` request.
    Retrieve,
}

impl Asker {
    fn label(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Retrieve => "retrieve",
        }
    }
}

/// Embeds a question with the model of the index.
///
/// # Errors
///
/// An error of class `Invalid` when the question has more than `retrieval.maxQuestionWindows` windows, and errors of
/// the model.
pub async fn embed(app: &App, embedding: &Embedding, text: &str, asker: Asker) -> Result<Windows, ApiError> {
    in_embedding_span(embedding, embedded(app, embedding, text, asker)).await
}

async fn embedded(app: &App, embedding: &Embedding, text: &str, asker: Asker) -> Result<Windows, ApiError> {
    let max_tokens = embedding.max_query_tokens();
    if surely_fits(text, max_tokens)
        || (text.len() <= COUNTED_AT_ONCE_BYTES.min(max_tokens * MAX_BYTES_PER_QUERY_TOKEN)
            && embedding.count_tokens(text) <= max_tokens)
    {
        return Ok(embedding.embed_query(text).await?.into());
    }
    let max_windows = app.settings.retrieval.max_question_windows as usize;
    let (counter, text) = (embedding.clone(), text.to_owned());
    // Counting the tokens of a long text is slow.
    let cutting = move |caller: &Waiter| {
        let count = |text: &str| counter.count_tokens(text);
        Ok::<_, ApiError>(cut::cut(&text, max_tokens, max_windows, &count, caller)?)
    };
    let texts = compute::run_on_thread(cutting).await?;
    if texts.len() > 1 {
        app.metrics.long_question(asker.label());
    }
    let vectors = embedding.embed_queries(texts).await?;
    Windows::new(vectors)
        .ok_or_else(|| ApiError::Internal("the vectors of a question have different dimensions".to_owned()))
}
