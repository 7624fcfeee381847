//! A question on its way to an index: it becomes a vector, or several when it is longer than what the model reads at once.

mod cut;

use cut::surely_fits;
use ragengine_embedding::MAX_BYTES_PER_QUERY_TOKEN;

use crate::app::App;
use crate::error::ApiError;
use ragengine_compute::{self as compute, Waiter};
use ragengine_embedding::{Embedding, Windows};

/// A question this short is counted at once: handing it to another thread would cost more.
const COUNTED_AT_ONCE_BYTES: usize = 2 << 10;

/// Who asks: the label of the metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// A chat.
    Chat,
    /// A retrieval.
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

/// The vectors of a question, by the model of the index that is asked.
///
/// # Errors
///
/// [`ApiError::Meaning`] when it is longer than `retrieval.maxQuestionWindows` windows, or what the model says.
pub async fn embed(app: &App, embedding: &Embedding, text: &str, asker: Asker) -> Result<Windows, ApiError> {
    let max_tokens = embedding.max_query_tokens();
    if surely_fits(text, max_tokens)
        || (text.len() <= COUNTED_AT_ONCE_BYTES.min(max_tokens * MAX_BYTES_PER_QUERY_TOKEN)
            && embedding.count_tokens(text) <= max_tokens)
    {
        return Ok(embedding.embed_query(text).await?.into());
    }
    let max_windows = app.settings.retrieval.max_question_windows as usize;
    let (counter, text) = (embedding.clone(), text.to_owned());
    // Counting the tokens of a long text takes a while.
    let cutting = move |caller: &Waiter| {
        let count = |text: &str| counter.count_tokens(text);
        Ok::<_, ApiError>(cut::cut(&text, max_tokens, max_windows, &count, caller)?)
    };
    let texts = compute::elsewhere(cutting).await?;
    if texts.len() > 1 {
        app.metrics.long_question(asker.label());
    }
    let vectors = embedding.embed_queries(texts).await?;
    Windows::new(vectors).ok_or_else(|| ApiError::Internal("a question has no vectors of one width".to_owned()))
}
