use ragengine_embedding::Embedding;
use ragengine_traces::{Kind, Span};

use crate::error::ApiError;

/// Runs a future that embeds texts in a span, with OpenTelemetry's conventions for generative AI.
///
/// # Errors
///
/// Those of the future.
pub async fn in_embedding_span<T>(
    embedding: &Embedding,
    embedding_texts: impl Future<Output = Result<T, ApiError>>,
) -> Result<T, ApiError> {
    if !Span::is_recorded() {
        return embedding_texts.await;
    }
    let model = embedding.model_id();
    let span = Span::child(format!("embeddings {model}"), Kind::Internal);
    span.set("gen_ai.operation.name", "embeddings");
    span.set("gen_ai.provider.name", "ragengine");
    span.set("gen_ai.request.model", model.to_owned());
    span.set("gen_ai.embeddings.dimension.count", i64::try_from(embedding.dimensions()).unwrap_or(i64::MAX));
    let embedded = span.follow(embedding_texts).await;
    embedded.as_ref().err().into_iter().for_each(|error| span.failed(error.kind()));
    span.end();
    embedded
}
