use ragengine_operator_api::RagEngineSpec;

/// A sentence for each field that is set but has no effect, with the setting that applies instead.
pub(super) fn of(spec: &RagEngineSpec) -> Vec<String> {
    let fields = [model_image, model_image_pull_secret];
    fields.into_iter().filter_map(|field| field(spec)).collect()
}

fn model_image(spec: &RagEngineSpec) -> Option<String> {
    let local = spec.embedding.as_ref()?.local.as_ref()?;
    let (image, model) = (local.image.as_ref()?, &local.model_id);
    Some(format!("embedding.local.image ({image}) has no effect: the model is embedding.local.modelID, {model}"))
}

fn model_image_pull_secret(spec: &RagEngineSpec) -> Option<String> {
    let secret = spec.embedding.as_ref()?.local.as_ref()?.image_pull_secret.as_ref()?;
    Some(format!(
        "embedding.local.imagePullSecret ({secret}) has no effect: \
         podTemplate.spec.imagePullSecrets names the Secrets for the server's image"
    ))
}
