//! Values that the definition admits, for the sections of reranking and of the stores.

use proptest::prelude::*;
use ragengine_operator_api::{
    Condensing, Endpoints, Feedback, Interactions, LocalReranker, PipelineStages, Postgres, Rerank, RerankBackend,
    Reranking, Rewrite, StateStore,
};
use serde_json::{Value, json};

use super::{decimal, name};

/// The sections, with a database wherever a store needs one.
#[derive(Debug, Clone)]
pub struct Sections {
    pub rewrite: Option<Rewrite>,
    pub rerank: Option<Rerank>,
    pub postgres: Option<Postgres>,
    pub feedback: Option<Feedback>,
    pub interactions: Option<Interactions>,
    pub endpoints: Option<Endpoints>,
}

pub fn sections() -> impl Strategy<Value = Sections> {
    let postgres = prop::option::of((database_url(), name()))
        .prop_map(|postgres| postgres.map(|(url, access_secret)| Postgres { url: Some(url), access_secret }));
    (rewrite(), prop::option::of(rerank()), postgres, endpoints()).prop_flat_map(
        |(rewrite, rerank, postgres, endpoints)| {
            let has_database = postgres.is_some();
            (prop::option::of(feedback(has_database)), prop::option::of(interactions(has_database))).prop_map(
                move |(feedback, interactions)| Sections {
                    rewrite: rewrite.clone(),
                    rerank: rerank.clone(),
                    postgres: postgres.clone(),
                    feedback,
                    interactions,
                    endpoints: endpoints.clone(),
                },
            )
        },
    )
}

fn flag() -> impl Strategy<Value = Option<bool>> {
    prop::option::of(any::<bool>())
}

fn one_of<T: Clone + std::fmt::Debug + 'static>(choices: &[T]) -> impl Strategy<Value = Option<T>> + use<T> {
    prop::option::of(prop::sample::select(choices.to_vec()))
}

fn share() -> impl Strategy<Value = Option<f64>> {
    prop::option::of(decimal(0..=10_000))
}

fn model() -> impl Strategy<Value = Option<String>> {
    prop::option::of("\\PC{1,256}")
}

fn database_url() -> impl Strategy<Value = String> {
    let user = "([^:/?#@ \\pC]{1,8}@)?";
    let host = "([A-Za-z0-9._-]{1,12}|\\[[0-9A-Fa-f:.]{1,12}\\])(:[0-9]{1,5})?(/[^?#\\pC]{0,8})?";
    let parameters = "([?](sslmode=(disable|verify-full)(&|&sslrootcert=[^&#\\pC]{0,8})?)?)?";
    (user, host, parameters).prop_map(|(user, host, parameters)| format!("postgres://{user}{host}{parameters}"))
}

fn words() -> impl Strategy<Value = Option<Vec<String>>> {
    prop::option::of(prop::collection::vec("\\PC{0,24}[\\p{L}\\p{N}]\\PC{0,25}", 0..4))
}

fn rewrite() -> impl Strategy<Value = Option<Rewrite>> {
    prop::option::of(model().prop_map(|model| Rewrite { model, ..Rewrite::default() }))
}

fn rerank() -> impl Strategy<Value = Rerank> {
    let of_kind = prop_oneof![
        model().prop_map(|model| Rerank { model, ..Rerank::default() }),
        model().prop_map(|model| Rerank { backend: Some(RerankBackend::Llm), model, ..Rerank::default() }),
        ("https?://[^/?#@\\pC]{1,12}(/[^\\pC]{0,8})?", model(), name()).prop_map(|(url, model, access_secret)| {
            Rerank { backend: Some(RerankBackend::Endpoint), url: Some(url), model, access_secret, ..Rerank::default() }
        }),
        local().prop_map(|local| Rerank {
            backend: Some(RerankBackend::Local),
            local: Some(local),
            ..Rerank::default()
        }),
    ];
    (of_kind, share(), words(), words()).prop_map(|(rerank, score_spread, temporal_words, comparison_words)| Rerank {
        score_spread,
        temporal_words,
        comparison_words,
        ..rerank
    })
}

fn local() -> impl Strategy<Value = LocalReranker> {
    ("\\PC{1,24}", "\\PC{1,24}", name(), prop::option::of(1..=1_000_000_u32)).prop_map(
        |(model_id, revision, model_access_secret, max_tokens)| LocalReranker {
            model_id,
            revision,
            model_access_secret,
            max_tokens,
            ..LocalReranker::default()
        },
    )
}

fn store(has_database: bool) -> impl Strategy<Value = Option<StateStore>> {
    one_of(if has_database { &[StateStore::Redb, StateStore::Postgres] } else { &[StateStore::Redb] })
}

fn feedback(has_database: bool) -> impl Strategy<Value = Feedback> {
    (flag(), store(has_database)).prop_map(|(enabled, store)| Feedback { enabled, store })
}

fn interactions(has_database: bool) -> impl Strategy<Value = Interactions> {
    let flags = (flag(), flag(), flag());
    let count = || prop::option::of(1..=1000_u32);
    let chars = || 1..=10_000_000_u32;
    let by_model = prop::option::of(prop::collection::btree_map("(gpt-4o|gemini-pro|\\PC{0,8})", chars(), 0..4));
    let threshold = prop_oneof![decimal(0..=10_000).prop_map(Value::from), Just(json!("adaptive"))];
    let texts = (prop::option::of("[!-~]{1,200}"), prop::option::of(chars()), by_model);
    (flags, store(has_database), texts, (count(), count(), count()), share(), prop::option::of(threshold)).prop_map(
        |(flags, store, (provider_name, max_chars, max_chars_by_model), counts, min_similarity, overlap_threshold)| {
            Interactions {
                enabled: flags.0,
                store,
                anonymous: flags.1,
                provider_name,
                max_chars,
                max_chars_by_model,
                include_metadata: flags.2,
                max_entries: counts.0,
                keep: counts.1,
                top_k: counts.2,
                min_similarity,
                overlap_threshold,
            }
        },
    )
}

fn endpoints() -> impl Strategy<Value = Option<Endpoints>> {
    let condense = one_of(&[Condensing::Never, Condensing::FollowUp, Condensing::Always]);
    let rerank = one_of(&[Reranking::Never, Reranking::Conditional, Reranking::Always]);
    let stages = (condense, rerank, flag(), flag(), flag()).prop_map(
        |(condense, rerank, reformulate, feedback, interactions)| PipelineStages {
            condense,
            reformulate,
            feedback,
            rerank,
            interactions,
            ..PipelineStages::default()
        },
    );
    prop::option::of(stages.prop_map(|stages| Endpoints { completions: Some(stages), retrieve: None }))
}
