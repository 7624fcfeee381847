mod bounds;
mod vector_database;

use crate::from_yaml;

#[test]
fn an_invalid_setting_is_refused_by_name() {
    for (yaml, setting) in [
        ("{listen: '127.0.0.1:5000', adminListen: '127.0.0.1:5000'}", "adminListen"),
        ("{listen: '0.0.0.0:5000', adminListen: '127.0.0.1:5000'}", "adminListen"),
        ("{listen: '127.0.0.1:5000', adminListen: '0.0.0.0:5000'}", "adminListen"),
        ("tls: {certificateFile: /tls/tls.crt}", "tls: must have both"),
        ("tls: {keyFile: /tls/tls.key}", "tls: must have both"),
        ("tracing: {otlpEndpoint: 'collector:4318'}", "tracing.otlpEndpoint: must begin with http://"),
        ("tracing: {otlpEndpoint: 'http://me:secret@collector:4318'}", "tracing.otlpEndpoint: must have no user"),
        ("allowedHosts: ['docs.example:80']", "allowedHosts"),
        ("allowedHosts: ['docs.example:']", "allowedHosts"),
        ("allowedHosts: ['http://docs.example']", "allowedHosts"),
        ("allowedHosts: [docs.example, '*']", "allowedHosts"),
        ("allowedHosts: ['fd00::1']", "allowedHosts"),
        ("cors: {allowedOrigins: ['*']}", "cors.allowedOrigins"),
        ("cors: {allowedOrigins: ['null']}", "cors.allowedOrigins"),
        ("cors: {allowedOrigins: [docs.example]}", "cors.allowedOrigins"),
        ("cors: {allowedOrigins: ['https://docs.example/']}", "cors.allowedOrigins"),
        ("embedding: {local: {modelID: a/b}, remote: {url: 'http://e', model: m}}", "embedding:"),
        ("embedding: {remote: {url: 'ftp://e', model: m}}", "embedding.remote.url"),
        ("embedding: {local: {modelID: ''}}", "embedding.local: modelID must not be empty"),
        ("inferenceService: {url: 'localhost:8000'}", "inferenceService.url"),
        ("inferenceService: {models: [m, '']}", "inferenceService.models"),
        ("retrieval: {filterRules: [{words: ['?!'], filter: {}}]}", "retrieval.filterRules[0]"),
        ("retrieval: {filterRules: [{filter: {a: {$most: 1}}}]}", "retrieval.filterRules[0]"),
        ("{rewrite: {model: small}, inferenceService: {models: [big]}}", "rewrite.model"),
        ("rerank: {backend: endpoint}", "rerank.url: is needed with rerank.backend: endpoint: write"),
        ("rerank: {url: 'http://r/rerank'}", "rerank.url: is only used with rerank.backend: endpoint"),
        ("rerank: {backend: endpoint, url: 'ftp://r/rerank'}", "rerank.url: must begin with http://"),
        ("rerank: {backend: endpoint, url: 'http://me:secret@r/rerank'}", "rerank.url: must not contain a user"),
        ("rerank: {backend: endpoint, url: 'https:///me@r/rerank'}", "rerank.url: must not contain a user"),
        ("{rerank: {model: small}, inferenceService: {models: [big]}}", "rerank.model"),
        ("rerank: {temporalWords: ['?!']}", "rerank.temporalWords"),
        ("rerank: {comparisonWords: ['']}", "rerank.comparisonWords"),
        ("rerank: {backend: local}", "rerank.local: is needed with rerank.backend: local"),
        ("rerank: {local: {modelID: a/b}}", "rerank.local: is only used with rerank.backend: local"),
        ("rerank: {backend: local, local: {modelID: ''}}", "rerank.local: modelID must not be empty"),
        ("rerank: {backend: local, local: {}, model: small}", "rerank.model: is not used with rerank.backend: local"),
        ("redis: {url: 'http://cache:6379'}", "redis.url: must begin with redis://"),
        ("redis: {url: 'redis://:secret@cache:6379'}", "redis.url: must not contain a password"),
        ("redis: {password: {env: P}}", "redis.password: needs redis.url"),
        ("sessions: {store: redis}", "sessions.store: redis needs redis.url"),
        ("sessions: {store: postgres}", "sessions.store: postgres needs postgres.url"),
        ("postgres: {url: 'http://rag@db/rag'}", "postgres.url: must begin with postgres://"),
        ("postgres: {url: 'postgres://rag:secret@db/rag'}", "postgres.url: must not contain a password"),
        ("postgres: {url: 'postgres://rag@db/rag?password=secret'}", "postgres.url: must not contain a password"),
        ("postgres: {password: {env: POSTGRES}}", "postgres.password: needs postgres.url"),
        ("feedback: {store: postgres}", "feedback.store: postgres needs postgres.url"),
        ("interactions: {store: postgres}", "interactions.store: postgres needs postgres.url"),
        ("interactions: {overlapThreshold: often}", "a number such as 0.1, or adaptive"),
        ("auth: {modes: [apiKey, jwt, apiKey], apiKeysFolder: /keys}", "auth.modes: has a mode twice"),
        ("auth: {modes: [apiKey]}", "auth.apiKeysFolder: is needed by the mode apiKey"),
        ("auth: {modes: [sessionToken]}", "auth.modes: sessionToken needs redis.url"),
        ("auth: {modes: [jwt]}", "auth.jwt: is needed by the mode jwt"),
        ("auth: {jwt: [{audience: docs, jwksFile: /jwks}]}", "auth.jwt: must list"),
        ("auth: {jwt: [{issuer: me, jwksFile: /jwks}]}", "auth.jwt: must list"),
        ("auth: {jwt: [{issuer: me, audience: docs}]}", "auth.jwt: must list"),
        ("auth: {jwt: [{issuer: me, audience: docs, jwksFile: /jwks, jwksUrl: 'https://i'}]}", "auth.jwt: must list"),
        ("auth: {jwt: [{issuer: me, audience: docs, jwksUrl: 'ftp://i'}]}", "auth.jwt: must list"),
        ("auth: {jwt: [{issuer: me, audience: docs, jwksUrl: 'https://a:b@i'}]}", "auth.jwt: must list"),
        (
            "auth: {modes: [apiKey], apiKeysFolder: /keys, accessFile: /access, indexes: {docs: {}}}",
            "auth.indexes: must be empty beside auth.accessFile",
        ),
        ("auth: {accessFile: /access}", "auth.modes: is empty"),
        ("auth: {indexes: {docs: {}}}", "auth.modes: is empty"),
        ("auth: {defaultAccess: {read: [me]}}", "auth.modes: is empty"),
        ("auth: {defaultAccess: {read: ['*'], write: ['*']}}", "auth.modes: is empty"),
        (
            "auth: {indexes: {docs: {}}, jwt: [{issuer: me, audience: docs, jwksFile: /jwks, kubernetes: true}]}",
            "auth.modes: is empty",
        ),
        ("guardrails: {enabled: true}", "guardrails.policyFile: is needed"),
        ("events: {url: 'http://broker'}", "events.url: must begin with amqp://"),
        ("events: {url: 'amqp://me:secret@broker'}", "events.url: must not contain a password"),
        ("events: {password: {env: BROKER}}", "events.password: needs events.url"),
        ("endpoints: {completions: {citations: true, contextFormat: source}}", "endpoints.completions.contextFormat"),
        ("endpoints: {query: {citations: true, contextFormat: source}}", "endpoints.query.contextFormat"),
        ("endpoints: {chat: {citations: true, contextFormat: source}}", "endpoints.chat.contextFormat"),
        ("vectorDB: {replicationFactor: 0}", "vectorDB.replicationFactor: must be between 1 and 7"),
        ("vectorDB: {shards: 65}", "vectorDB.shards: must be between 1 and 64"),
        ("bootstrap: {restore: {}}", "bootstrap.restore.place: must have exactly one of s3 and folder"),
        ("bootstrap: {restore: {place: {s3: {}}}}", "bootstrap.restore.place: needs the name of a bucket"),
    ] {
        let message = from_yaml(yaml).unwrap_err().to_string();
        assert!(message.starts_with(setting), "{yaml}: {message}");
    }
}

#[test]
fn settings_that_agree_are_accepted() {
    for yaml in [
        "{listen: '127.0.0.1:5000', adminListen: '127.0.0.2:5000'}",
        "{listen: '127.0.0.1:5000', adminListen: '127.0.0.1:5001'}",
        "{listen: '127.0.0.1:0', adminListen: '127.0.0.1:0'}",
        "allowedHosts: [docs.example, '[fd00::1]', 10.0.0.1]",
        "cors: {allowedOrigins: ['https://chat.example', 'http://localhost:3000', 'chrome-extension://abc']}",
        "tls: {certificateFile: /tls/tls.crt, keyFile: /tls/tls.key}",
        "tracing: {otlpEndpoint: 'http://collector:4318'}",
        "{redis: {url: 'redis://cache:6379', password: {env: P}}, sessions: {store: redis}}",
        "redis: {url: 'rediss://cache:6379'}",
        "{postgres: {url: 'postgres://rag@db/rag?sslmode=require', password: {env: P}}, feedback: {store: postgres},
          interactions: {store: postgres}, sessions: {store: postgres}}",
        "postgres: {url: 'postgresql://rag@db/rag'}",
        "inferenceService: {url: 'https://llm', models: [big, small]}",
        "retrieval: {filterRules: [{words: [price list], filter: {kind: price}}]}",
        "interactions: {overlapThreshold: adaptive}",
        "{auth: {modes: [sessionToken]}, redis: {url: 'redis://cache'}}",
        "auth: {modes: [apiKey, jwt], apiKeysFolder: /keys, jwt: [{issuer: me, audience: docs, jwksUrl: 'https://i'}]}",
        "auth: {modes: [apiKey], apiKeysFolder: /keys, accessFile: /access}",
        "auth: {modes: [apiKey], apiKeysFolder: /keys, indexes: {docs: {read: ['*'], write: [me]}}}",
        "auth: {defaultAccess: {read: ['*'], write: []}}",
        // The rules name the operator, which is known without a mode.
        "auth: {accessFile: /access, jwt: [{issuer: me, audience: docs, jwksFile: /jwks, kubernetes: true}]}",
        "guardrails: {enabled: true, policyFile: /policy}",
        "events: {url: 'amqp://me@broker:5672', password: {env: BROKER}}",
        "events: {url: 'amqps://broker'}",
        "endpoints: {chat: {citations: false, contextFormat: source}, query: {citations: true}}",
        "bootstrap: {restore: {place: {folder: /backups}}}",
        "bootstrap: {restore: {place: {s3: {bucket: backups}}}}",
    ] {
        from_yaml(yaml).unwrap_or_else(|error| panic!("{yaml}: {error}"));
    }
}

#[test]
fn every_invalid_setting_is_reported_at_once() {
    let message = from_yaml("retrieval: {minTopK: 0, maxDistance: 9}").unwrap_err().to_string();
    assert_eq!(message.lines().count(), 2, "{message}");
}

#[test]
fn models_for_side_tasks_are_accepted() {
    for yaml in [
        "{rewrite: {model: small}, rerank: {model: small}}",
        "{rewrite: {model: small}, rerank: {model: big}, inferenceService: {model: big, models: [small]}}",
        // A reranker has its own models.
        "{rerank: {backend: endpoint, url: 'http://r/rerank?to=a@b', model: cross}, inferenceService: {models: [big]}}",
        "rerank: {backend: endpoint, url: 'https://r/rerank', apiKey: {env: RERANK_KEY}}",
        "rerank: {temporalWords: [], comparisonWords: [either or]}",
    ] {
        from_yaml(yaml).unwrap_or_else(|error| panic!("{yaml}: {error}"));
    }
    let message = from_yaml("rerank: {backend: local}").unwrap_err().to_string();
    assert!(message.contains("local"), "{message}");
    let secret = from_yaml("rerank: {apiKey: sk-secret}").unwrap_err().to_string();
    assert!(!secret.contains("sk-secret"), "{secret}");
}
