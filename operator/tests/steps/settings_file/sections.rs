//! Values that the definition admits, for the sections of reranking and of the stores.

use proptest::prelude::*;
use ragengine_operator_api::{
    Cache, ChatStages, Citations, Condensing, Diversity, Endpoints, Events, Feedback, HistoryFormat, Interactions,
    LocalReranker, PipelineStages, Postgres, QueryStages, Redis, Rerank, RerankBackend, Reranking, RetrievalMode,
    Rewrite, SessionStore, Sessions, StateStore, Tls, Tracing, WhenDown,
};
use serde_json::{Value, json};

use super::{decimal, name};

/// The sections, with a database or a Redis server wherever a store needs one.
#[derive(Debug, Clone)]
pub struct Sections {
    pub rewrite: Option<Rewrite>,
    pub rerank: Option<Rerank>,
    pub postgres: Option<Postgres>,
    pub redis: Option<Redis>,
    pub default_index: Option<String>,
    pub sessions: Option<Sessions>,
    pub feedback: Option<Feedback>,
    pub interactions: Option<Interactions>,
    pub endpoints: Option<Endpoints>,
    pub cache: Option<Cache>,
    pub citations: Option<Citations>,
    pub events: Option<Events>,
    pub tracing: Option<Tracing>,
    pub tls: Option<Tls>,
}

pub fn sections() -> impl Strategy<Value = Sections> {
    let postgres = prop::option::of((database_url(), name()))
        .prop_map(|postgres| postgres.map(|(url, access_secret)| Postgres { url: Some(url), access_secret }));
    let redis = prop::option::of((redis_url(), name()))
        .prop_map(|redis| redis.map(|(url, access_secret)| Redis { url: Some(url), access_secret }));
    let default_index = prop::option::of("[a-zA-Z0-9]([a-zA-Z0-9._-]{0,61}[a-zA-Z0-9])?");
    let models = (rewrite(), prop::option::of(rerank()));
    let answers = (prop::option::of(cache()), prop::option::of(citations()), prop::option::of(events()));
    let transport = (prop::option::of(tracing()), name());
    (models, (postgres, redis), endpoints(), default_index, answers, transport).prop_flat_map(
        |((rewrite, rerank), (postgres, redis), endpoints, default_index, (cache, citations, events), transport)| {
            let (tracing, certificate) = transport;
            let (has_database, has_redis) = (postgres.is_some(), redis.is_some());
            let stores = (
                prop::option::of(feedback(has_database)),
                prop::option::of(interactions(has_database)),
                prop::option::of(sessions_of_query(has_database, has_redis)),
            );
            stores.prop_map(move |(feedback, interactions, sessions)| Sections {
                rewrite: rewrite.clone(),
                rerank: rerank.clone(),
                postgres: postgres.clone(),
                redis: redis.clone(),
                default_index: default_index.clone(),
                sessions,
                feedback,
                interactions,
                endpoints: endpoints.clone(),
                cache,
                citations: citations.clone(),
                events: events.clone(),
                tracing: tracing.clone(),
                tls: certificate.clone().map(|secret_name| Tls { secret_name }),
            })
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

fn redis_url() -> impl Strategy<Value = String> {
    "rediss?://([^:/?#@ \\pC]{1,8}@)?([A-Za-z0-9._-]{1,12}|\\[[0-9A-Fa-f:.]{1,12}\\])(:[0-9]{1,5})?(/[0-9]{0,5})?"
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

fn sessions_of_query(has_database: bool, has_redis: bool) -> impl Strategy<Value = Sessions> {
    let stores =
        [(true, SessionStore::Memory), (has_database, SessionStore::Postgres), (has_redis, SessionStore::Redis)];
    let stores: Vec<_> = stores.into_iter().filter(|(is_there, _)| *is_there).map(|(_, store)| store).collect();
    let format = one_of(&[HistoryFormat::Messages, HistoryFormat::Section]);
    let when_down = one_of(&[WhenDown::Answer, WhenDown::Refuse]);
    let (expiry, ratio) = (prop::option::of(60..=31_622_400_u32), prop::option::of(decimal(0..=8_000)));
    (one_of(&stores), expiry, ratio, format, when_down).prop_map(
        |(store, expiry_seconds, history_ratio, history_format, when_down)| Sessions {
            store,
            expiry_seconds,
            history_ratio,
            history_format,
            when_down,
        },
    )
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

fn cache() -> impl Strategy<Value = Cache> {
    (flag(), share(), prop::option::of(1..=365_u32)).prop_map(|(enabled, min_similarity, ttl_days)| Cache {
        enabled,
        min_similarity,
        ttl_days,
    })
}

fn citations() -> impl Strategy<Value = Citations> {
    let phrases = prop::option::of(prop::collection::vec("\\PC{0,24}[\\p{L}\\p{N}]\\PC{0,25}", 0..4));
    (prop::option::of("\\PC{0,99}[\\p{L}\\p{N}]\\PC{0,99}"), phrases, flag()).prop_map(
        |(fallback_message, insufficient_phrases, verify)| Citations { fallback_message, insufficient_phrases, verify },
    )
}

fn events() -> impl Strategy<Value = Events> {
    let url =
        "amqps?://([^:/?#@ \\pC]{1,8}@)?([A-Za-z0-9._-]{1,12}|\\[[0-9A-Fa-f:.]{1,12}\\])(:[0-9]{1,5})?(/[a-z%]{0,8})?";
    (url, name(), prop::option::of("[b-z][A-Za-z0-9_.:-]{0,20}")).prop_map(|(url, access_secret, exchange)| Events {
        url: Some(url),
        access_secret,
        exchange,
    })
}

fn tracing() -> impl Strategy<Value = Tracing> {
    ("https?://[a-z]{1,8}(:[0-9]{1,5})?(/[a-z%]{0,8})?", share())
        .prop_map(|(url, sample_ratio)| Tracing { otlp_endpoint: Some(url), sample_ratio })
}

fn chat() -> impl Strategy<Value = ChatStages> {
    let numbers = (prop::option::of(1..=300_u32), prop::option::of(100..=100_000_000_u32));
    let model = "[!-~]{1,200}";
    let models = (prop::collection::vec(model, 0..3), prop::collection::btree_map("user:[a-z]{1,9}", model, 0..3));
    let flags = (flag(), flag(), flag(), flag());
    (numbers, prop::option::of(decimal(0..=20_000)), models, flags).prop_map(
        |((top_k, max_context_tokens), temperature, (models, model_by_caller), flags)| ChatStages {
            top_k,
            max_context_tokens,
            temperature,
            models,
            model_by_caller,
            postprocess: flags.0,
            citations: flags.1,
            cache: flags.2,
            events: flags.3,
            ..ChatStages::default()
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
    let of_chats = prop::option::of(stages);
    let all = (of_chats, prop::option::of(query()), prop::option::of(chat()));
    prop::option::of(all.prop_map(|(completions, query, chat)| Endpoints { completions, retrieve: None, query, chat }))
}

fn query() -> impl Strategy<Value = QueryStages> {
    let ratio = || prop::option::of(decimal(500..=8_000));
    let modes = (
        one_of(&[Condensing::Never, Condensing::FollowUp, Condensing::Always]),
        one_of(&[Reranking::Never, Reranking::Conditional, Reranking::Always]),
        one_of(&[RetrievalMode::Dense, RetrievalMode::Text, RetrievalMode::Hybrid, RetrievalMode::Rrf]),
        one_of(&[Diversity::None, Diversity::Duplicates, Diversity::Mmr]),
    );
    let flags = (flag(), flag(), flag(), flag());
    (prop::option::of(1..=300_u32), ratio(), ratio(), modes, flags).prop_map(
        |(top_k, context_ratio, answer_ratio, (condense, rerank, retrieval, diversity), flags)| QueryStages {
            top_k,
            context_ratio,
            answer_ratio,
            condense,
            rerank,
            retrieval,
            diversity,
            acronyms: flags.0,
            filter_rules: flags.1,
            feedback: flags.2,
            recency: flags.3,
            ..QueryStages::default()
        },
    )
}
