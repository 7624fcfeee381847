use kube::api::ObjectMeta;

/// Annotation that pauses a RAGEngine or an Index: while it is `true`, the operator creates, changes and deletes
/// nothing.
pub const PAUSED_ANNOTATION: &str = "ragengine.dev/paused";

/// Whether [`PAUSED_ANNOTATION`] is `true`.
pub fn is_paused(metadata: &ObjectMeta) -> bool {
    metadata
        .annotations
        .as_ref()
        .and_then(|annotations| annotations.get(PAUSED_ANNOTATION))
        .is_some_and(|value| value == "true")
}
