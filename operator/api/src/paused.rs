use kube::api::ObjectMeta;

/// The annotation of a RAGEngine or an Index that is left as it is while the annotation is `true`: nothing of it is made, changed or deleted.
pub const PAUSED_ANNOTATION: &str = "ragengine.dev/paused";

/// Whether a resource is to be left as it is.
pub fn is_paused(metadata: &ObjectMeta) -> bool {
    metadata
        .annotations
        .as_ref()
        .and_then(|annotations| annotations.get(PAUSED_ANNOTATION))
        .is_some_and(|value| value == "true")
}
