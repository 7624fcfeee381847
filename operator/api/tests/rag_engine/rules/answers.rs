//! The rules of citations, guardrails and events.

use super::Rule;

pub const RULES: &[Rule] = &[
    (
        "endpoints.completions.contextFormat must not be source",
        "endpoints: {completions: {contextFormat: source}}",
        "endpoints: {completions: {contextFormat: source, citations: true}}",
    ),
    (
        "endpoints.completions.contextFormat must not be source",
        "endpoints: {completions: {citations: true, contextFormat: numbered}}",
        "endpoints: {completions: {citations: true, contextFormat: source, postprocess: true}}",
    ),
    (
        "endpoints.query.contextFormat must not be source",
        "endpoints: {query: {contextFormat: source, citations: false}}",
        "endpoints: {query: {contextFormat: source, citations: true}}",
    ),
    (
        "endpoints.query.contextFormat must not be source",
        "endpoints: {query: {citations: true}}",
        "endpoints: {query: {contextFormat: source, citations: true, topK: 5}}",
    ),
    (
        "endpoints.chat.contextFormat must not be source",
        "endpoints: {chat: {contextFormat: source, citations: false}}",
        "endpoints: {chat: {contextFormat: source}}",
    ),
    (
        "endpoints.chat.contextFormat must not be source",
        "endpoints: {chat: {contextFormat: numbered, citations: true}}",
        "endpoints: {chat: {contextFormat: source, citations: true}}",
    ),
    (
        "guardrails.enabled needs guardrails.configMapRef",
        "guardrails: {enabled: true, configMapRef: {name: policy}}",
        "guardrails: {enabled: true}",
    ),
    (
        "guardrails.enabled needs guardrails.configMapRef",
        "guardrails: {configMapRef: {name: policy}}",
        "{guardrails: {enabled: true}, replicas: 0}",
    ),
    ("events.accessSecret needs events.url", "events: {}", "events: {accessSecret: s}"),
    (
        "events.accessSecret needs events.url",
        "events: {url: 'amqp://rag@rabbitmq.events.svc:5672', accessSecret: s}",
        "{events: {accessSecret: s}, redis: {url: 'redis://cache'}}",
    ),
    (
        "events.url must be",
        "events: {url: 'amqps://rag@rabbitmq.events.svc:5671/search', accessSecret: s}",
        "events: {url: 'amqp://rag:password@rabbitmq.events.svc'}",
    ),
    ("events.url must be", "events: {url: 'amqp://rabbitmq'}", "events: {url: 'amqp://:password@rabbitmq'}"),
    ("events.url must be", "events: {url: 'amqp://rabbitmq/'}", "events: {url: 'http://rabbitmq:5672'}"),
    ("events.url must be", "events: {url: 'amqps://[::1]:5671'}", "events: {url: 'amqps://rabbitmq?verify=none'}"),
    ("events.url must be", "events: {url: 'amqp://a/%2f'}", "events: {url: 'amqp://rabbitmq,evil:5672'}"),
    ("events.url must be", "events: {url: 'amqp://ann%40x@a'}", "events: {url: 'amqp://a/b/c'}"),
    ("events.exchange must not begin", "events: {exchange: search.amq.events}", "events: {exchange: amq.topic}"),
];
