//! The models that rewrite questions and put chunks in order.

use ragengine_operator_api::{LocalReranker, Rerank, Rewrite};
use ragengine_settings as settings;

use super::{Access, named, score};

pub(super) fn rewrite(rewrite: Option<&Rewrite>) -> settings::Rewrite {
    let Rewrite { model, acronyms } = rewrite.cloned().unwrap_or_default();
    settings::Rewrite { model, acronyms }
}

pub(super) fn rerank(rerank: Option<&Rerank>) -> settings::Rerank {
    let Rerank { backend, url, model, access_secret, local, score_spread, temporal_words, comparison_words } =
        rerank.cloned().unwrap_or_default();
    let defaults = settings::Rerank::default();
    settings::Rerank {
        backend: named(backend, defaults.backend),
        url,
        model,
        api_key: access_secret.map(|_| Access::Reranker.file()),
        local: local.map(local_reranker),
        score_spread: score(score_spread, defaults.score_spread),
        temporal_words: temporal_words.unwrap_or(defaults.temporal_words),
        comparison_words: comparison_words.unwrap_or(defaults.comparison_words),
    }
}

fn local_reranker(local: LocalReranker) -> settings::LocalReranker {
    let LocalReranker { model_id, revision, hub_url, model_access_secret, max_tokens } = local;
    let hub_token = model_access_secret.map(|_| Access::RerankerHub.file());
    settings::LocalReranker { model_id, revision, hub_url, hub_token, max_tokens }
}
