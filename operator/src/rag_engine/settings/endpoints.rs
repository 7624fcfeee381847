//! The stages of the pipeline of each endpoint.

use ragengine_operator_api::{ChatStages, Endpoints, PipelineStages, QueryStages, RetrieveStages};
use ragengine_settings as settings;

use super::named;

pub(super) fn endpoints(endpoints: Option<&Endpoints>) -> settings::Endpoints {
    let Endpoints { completions, retrieve, query, chat } = endpoints.cloned().unwrap_or_default();
    settings::Endpoints {
        completions: of_completions(completions.unwrap_or_default()),
        retrieve: of_retrieve(retrieve.unwrap_or_default()),
        query: of_query(query.unwrap_or_default()),
        chat: of_chat(chat.unwrap_or_default()),
    }
}

fn of_completions(stages: PipelineStages) -> settings::CompletionsEndpoint {
    let defaults = settings::CompletionsEndpoint::default();
    settings::CompletionsEndpoint {
        condense: named(stages.condense, defaults.condense),
        reformulate: stages.reformulate.unwrap_or(defaults.reformulate),
        acronyms: stages.acronyms.unwrap_or(defaults.acronyms),
        filter_rules: stages.filter_rules.unwrap_or(defaults.filter_rules),
        retrieval: named(stages.retrieval, defaults.retrieval),
        feedback: stages.feedback.unwrap_or(defaults.feedback),
        recency: stages.recency.unwrap_or(defaults.recency),
        rerank: named(stages.rerank, defaults.rerank),
        diversity: named(stages.diversity, defaults.diversity),
        interactions: stages.interactions.unwrap_or(defaults.interactions),
        context_format: named(stages.context_format, defaults.context_format),
        postprocess: stages.postprocess.unwrap_or(defaults.postprocess),
        citations: stages.citations.unwrap_or(defaults.citations),
    }
}

fn of_retrieve(stages: RetrieveStages) -> settings::RetrieveEndpoint {
    let defaults = settings::RetrieveEndpoint::default();
    settings::RetrieveEndpoint {
        acronyms: stages.acronyms.unwrap_or(defaults.acronyms),
        filter_rules: stages.filter_rules.unwrap_or(defaults.filter_rules),
        retrieval: named(stages.retrieval, defaults.retrieval),
    }
}

fn of_query(stages: QueryStages) -> settings::QueryEndpoint {
    let defaults = settings::QueryEndpoint::default();
    settings::QueryEndpoint {
        top_k: stages.top_k.unwrap_or(defaults.top_k),
        context_ratio: stages.context_ratio.unwrap_or(defaults.context_ratio),
        answer_ratio: stages.answer_ratio.unwrap_or(defaults.answer_ratio),
        condense: named(stages.condense, defaults.condense),
        reformulate: stages.reformulate.unwrap_or(defaults.reformulate),
        acronyms: stages.acronyms.unwrap_or(defaults.acronyms),
        filter_rules: stages.filter_rules.unwrap_or(defaults.filter_rules),
        retrieval: named(stages.retrieval, defaults.retrieval),
        feedback: stages.feedback.unwrap_or(defaults.feedback),
        recency: stages.recency.unwrap_or(defaults.recency),
        rerank: named(stages.rerank, defaults.rerank),
        diversity: named(stages.diversity, defaults.diversity),
        interactions: stages.interactions.unwrap_or(defaults.interactions),
        context_format: named(stages.context_format, defaults.context_format),
        postprocess: stages.postprocess.unwrap_or(defaults.postprocess),
        citations: stages.citations.unwrap_or(defaults.citations),
        cache: stages.cache.unwrap_or(defaults.cache),
        events: stages.events.unwrap_or(defaults.events),
    }
}

fn of_chat(stages: ChatStages) -> settings::ChatEndpoint {
    let defaults = settings::ChatEndpoint::default();
    settings::ChatEndpoint {
        top_k: stages.top_k.unwrap_or(defaults.top_k),
        max_context_tokens: stages.max_context_tokens.unwrap_or(defaults.max_context_tokens),
        temperature: stages.temperature.unwrap_or(defaults.temperature),
        max_tokens: stages.max_tokens.unwrap_or(defaults.max_tokens),
        condense: named(stages.condense, defaults.condense),
        reformulate: stages.reformulate.unwrap_or(defaults.reformulate),
        acronyms: stages.acronyms.unwrap_or(defaults.acronyms),
        filter_rules: stages.filter_rules.unwrap_or(defaults.filter_rules),
        retrieval: named(stages.retrieval, defaults.retrieval),
        feedback: stages.feedback.unwrap_or(defaults.feedback),
        recency: stages.recency.unwrap_or(defaults.recency),
        rerank: named(stages.rerank, defaults.rerank),
        diversity: named(stages.diversity, defaults.diversity),
        interactions: stages.interactions.unwrap_or(defaults.interactions),
        context_format: named(stages.context_format, defaults.context_format),
        postprocess: stages.postprocess.unwrap_or(defaults.postprocess),
        citations: stages.citations.unwrap_or(defaults.citations),
        cache: stages.cache.unwrap_or(defaults.cache),
        events: stages.events.unwrap_or(defaults.events),
        models: stages.models,
        model_by_caller: stages.model_by_caller,
    }
}
