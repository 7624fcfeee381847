//! The rules of authentication, and of clients from outside of the cluster.

use super::Rule;

pub const RULES: &[Rule] = &[
    (
        "auth.modes: apiKey needs auth.apiKeysSecret",
        "auth: {modes: [apiKey], apiKeysSecret: keys}",
        "auth: {modes: [apiKey]}",
    ),
    (
        "auth.modes: apiKey needs auth.apiKeysSecret",
        "auth: {modes: [jwt]}",
        "auth: {modes: [jwt, apiKey], jwt: [{issuer: a, audience: b, jwksUrl: 'http://a'}]}",
    ),
    (
        "auth.modes: sessionToken needs redis.url",
        "{auth: {modes: [sessionToken]}, redis: {url: 'redis://cache'}}",
        "auth: {modes: [sessionToken]}",
    ),
    (
        "auth.modes: sessionToken needs redis.url",
        "{auth: {modes: [jwt], sessionToken: {keyPrefix: 's:'}}, redis: {}}",
        "{auth: {modes: [jwt, sessionToken]}, redis: {}}",
    ),
    (
        "auth.modes cannot be used with auth.writes: open",
        "auth: {modes: [jwt], writes: token}",
        "auth: {modes: [jwt], writes: open}",
    ),
    (
        "auth.modes cannot be used with auth.writes: open",
        "auth: {modes: [], writes: open}",
        "auth: {modes: [apiKey], apiKeysSecret: keys, writes: open}",
    ),
    (
        "auth.jwt[].audience must not be",
        "auth: {modes: [jwt], jwt: [{issuer: 'https://a', audience: search, jwksUrl: 'https://a/keys'}]}",
        "auth: {modes: [jwt], jwt: [{issuer: 'https://a', audience: ragengine-operator, jwksUrl: 'https://a/keys'}]}",
    ),
    (
        "auth.jwt[].jwksUrl must be",
        "auth: {jwt: [{issuer: 'https://a', audience: search, jwksUrl: 'http://dex.auth.svc:5556/keys'}]}",
        "auth: {jwt: [{issuer: 'https://a', audience: search, jwksUrl: 'https://u:p@a/keys'}]}",
    ),
    (
        "ingress needs auth.modes",
        "{ingress: {host: docs.example}, auth: {modes: [jwt]}}",
        "ingress: {host: docs.example}",
    ),
    (
        "ingress needs auth.modes",
        "{ingress: {host: docs.example, className: nginx}, allowAnonymous: true}",
        "{ingress: {host: docs.example}, auth: {modes: []}, allowAnonymous: false}",
    ),
    (
        "httpRoute needs auth.modes",
        "{httpRoute: {parentRefs: [{name: public}]}, auth: {modes: [jwt]}}",
        "httpRoute: {parentRefs: [{name: public}]}",
    ),
    (
        "httpRoute needs auth.modes",
        "{httpRoute: {parentRefs: [{name: public}], hostnames: [docs.example]}, allowAnonymous: true}",
        "{httpRoute: {parentRefs: [{name: public}]}, allowAnonymous: false}",
    ),
];
