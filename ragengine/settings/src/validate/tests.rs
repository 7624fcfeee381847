use crate::from_yaml;

#[test]
fn an_invalid_setting_is_refused_by_name() {
    for (yaml, setting) in [
        ("{listen: '127.0.0.1:5000', adminListen: '127.0.0.1:5000'}", "adminListen"),
        ("{listen: '0.0.0.0:5000', adminListen: '127.0.0.1:5000'}", "adminListen"),
        ("tls: {certificateFile: /tls/tls.crt}", "tls: must have both"),
        ("tls: {keyFile: /tls/tls.key}", "tls: must have both"),
        ("tracing: {otlpEndpoint: 'collector:4318'}", "tracing.otlpEndpoint: must begin with http://"),
        ("tracing: {otlpEndpoint: 'http://me:secret@collector:4318'}", "tracing.otlpEndpoint: must have no user"),
        ("tracing: {sampleRatio: 1.5}", "tracing.sampleRatio"),
        ("tracing: {sampleRatio: .nan}", "tracing.sampleRatio"),
        ("allowedHosts: ['docs.example:80']", "allowedHosts"),
        ("allowedHosts: ['http://docs.example']", "allowedHosts"),
        ("allowedHosts: [docs.example, '*']", "allowedHosts"),
        ("allowedHosts: ['fd00::1']", "allowedHosts"),
        ("cors: {allowedOrigins: ['*']}", "cors.allowedOrigins"),
        ("cors: {allowedOrigins: ['null']}", "cors.allowedOrigins"),
        ("cors: {allowedOrigins: [docs.example]}", "cors.allowedOrigins"),
        ("cors: {allowedOrigins: ['https://docs.example/']}", "cors.allowedOrigins"),
        ("embedding: {local: {modelID: a/b}, remote: {url: 'http://e', model: m}}", "embedding:"),
        ("embedding: {remote: {url: 'ftp://e', model: m}}", "embedding.remote.url"),
        ("embedding: {remote: {url: 'http://e', model: m, batchSize: 0}}", "embedding.remote"),
        ("inferenceService: {maxConcurrentRequests: 0}", "inferenceService"),
        ("inferenceService: {maxReplyBytes: 10}", "inferenceService.maxReplyBytes"),
        ("inferenceService: {probeSeconds: 86401}", "inferenceService.probeSeconds"),
        ("auth: {previousTokenSeconds: 86401}", "auth.previousTokenSeconds"),
        ("chat: {keepAliveSeconds: 0}", "chat.keepAliveSeconds"),
        ("embedding: {remote: {url: 'http://e', model: m, timeoutSeconds: 0}}", "embedding.remote"),
        ("embedding: {remote: {url: 'http://e', model: m, dimensions: 0}}", "embedding.remote"),
        ("embedding: {local: {queue: 0}}", "embedding.local"),
        ("embedding: {local: {threads: 5000}}", "embedding.local"),
        ("search: {threads: 5000}", "search.threads"),
        ("limits: {maxDocumentBytes: 0}", "limits.maxDocumentBytes"),
        ("limits: {cutTimeoutSeconds: 0}", "limits.cutTimeoutSeconds"),
        ("inferenceService: {url: 'localhost:8000'}", "inferenceService.url"),
        ("inferenceService: {contextWindowSize: 0}", "inferenceService.contextWindowSize"),
        ("inferenceService: {models: [m, '']}", "inferenceService.models"),
        ("inferenceService: {maxWaitingRequests: 1000001}", "inferenceService.maxWaitingRequests"),
        ("inferenceService: {queueTimeoutSeconds: 0}", "inferenceService.queueTimeoutSeconds"),
        ("inferenceService: {timeoutSeconds: 0}", "inferenceService"),
        ("retrieval: {maxDistance: 4.5}", "retrieval.maxDistance"),
        ("retrieval: {maxDistance: .nan}", "retrieval.maxDistance"),
        ("retrieval: {contextTokenRatio: 0.1}", "retrieval.contextTokenRatio"),
        ("retrieval: {minTopK: 0}", "retrieval.minTopK"),
        ("retrieval: {maxQuestionWindows: 0}", "retrieval.maxQuestionWindows"),
        ("retrieval: {maxQuestionWindows: 1025}", "retrieval.maxQuestionWindows"),
        ("retrieval: {filterRules: [{words: [''], filter: {}}]}", "retrieval.filterRules"),
        ("retrieval: {filterRules: [{words: ['?!'], filter: {}}]}", "retrieval.filterRules[0]"),
        ("retrieval: {filterRules: [{filter: {a: {$most: 1}}}]}", "retrieval.filterRules[0]"),
        ("rewrite: {acronyms: {ABO: ''}}", "rewrite.acronyms"),
        ("{rewrite: {model: small}, inferenceService: {models: [big]}}", "rewrite.model"),
        ("rerank: {backend: endpoint}", "rerank.url: is needed with rerank.backend: endpoint: write"),
        ("rerank: {url: 'http://r/rerank'}", "rerank.url: is only used with rerank.backend: endpoint"),
        ("rerank: {backend: endpoint, url: 'ftp://r/rerank'}", "rerank.url: must begin with http://"),
        ("rerank: {backend: endpoint, url: 'http://me:secret@r/rerank'}", "rerank.url: must not contain a user"),
        ("rerank: {backend: endpoint, url: 'https:///me@r/rerank'}", "rerank.url: must not contain a user"),
        ("{rerank: {model: small}, inferenceService: {models: [big]}}", "rerank.model"),
        ("rerank: {scoreSpread: 1.5}", "rerank.scoreSpread"),
        ("rerank: {scoreSpread: .nan}", "rerank.scoreSpread"),
        ("rerank: {temporalWords: ['?!']}", "rerank.temporalWords"),
        ("rerank: {comparisonWords: ['']}", "rerank.comparisonWords"),
        ("rerank: {backend: local}", "rerank.local: is needed with rerank.backend: local"),
        ("rerank: {local: {modelID: a/b}}", "rerank.local: is only used with rerank.backend: local"),
        ("rerank: {backend: local, local: {modelID: ''}}", "rerank.local: modelID must not be empty"),
        ("rerank: {backend: local, local: {maxTokens: 0}}", "rerank.local: modelID must not be empty"),
        ("rerank: {backend: local, local: {}, model: small}", "rerank.model: is not used with rerank.backend: local"),
        ("stateNamespace: ''", "stateNamespace"),
        ("defaultIndex: ''", "defaultIndex"),
        ("redis: {url: 'http://cache:6379'}", "redis.url: must begin with redis://"),
        ("redis: {url: 'redis://:secret@cache:6379'}", "redis.url: must not contain a password"),
        ("redis: {password: {env: P}}", "redis.password: needs redis.url"),
        ("sessions: {store: redis}", "sessions.store: redis needs redis.url"),
        ("sessions: {store: postgres}", "sessions.store: postgres needs postgres.url"),
        ("sessions: {expirySeconds: 59}", "sessions.expirySeconds"),
        ("sessions: {historyRatio: 0.9}", "sessions.historyRatio"),
        ("sessions: {historyRatio: .nan}", "sessions.historyRatio"),
        ("endpoints: {query: {topK: 0}}", "endpoints.query.topK"),
        ("endpoints: {query: {topK: 301}}", "endpoints.query.topK"),
        ("endpoints: {query: {contextRatio: 0}}", "endpoints.query: contextRatio"),
        ("endpoints: {query: {answerRatio: 0.9}}", "endpoints.query: contextRatio"),
        ("stateNamespace: two words", "stateNamespace"),
        ("postgres: {url: 'http://rag@db/rag'}", "postgres.url: must begin with postgres://"),
        ("postgres: {url: 'postgres://rag:secret@db/rag'}", "postgres.url: must not contain a password"),
        ("postgres: {url: 'postgres://rag@db/rag?password=secret'}", "postgres.url: must not contain a password"),
        ("postgres: {password: {env: POSTGRES}}", "postgres.password: needs postgres.url"),
        ("feedback: {store: postgres}", "feedback.store: postgres needs postgres.url"),
        ("interactions: {store: postgres}", "interactions.store: postgres needs postgres.url"),
        ("interactions: {providerName: ''}", "interactions.providerName"),
        ("interactions: {topK: 1001}", "interactions: maxEntries, keep and topK"),
        ("interactions: {maxChars: 0}", "interactions: maxChars"),
        ("interactions: {minSimilarity: 1.5}", "interactions.minSimilarity"),
        ("interactions: {overlapThreshold: 1.5}", "interactions.overlapThreshold"),
        ("interactions: {overlapThreshold: often}", "a number such as 0.1, or adaptive"),
        ("retrieval: {tokensPerChunk: 0}", "retrieval.tokensPerChunk"),
        ("chunking: {maxTokens: 3}", "chunking.maxTokens"),
        ("chunking: {maxTokens: 100, overlapTokens: 100}", "chunking.overlapTokens"),
        ("search: {efSearch: 0}", "search.efSearch"),
        ("search: {nProbe: 0}", "search.nProbe"),
        ("search: {nProbe: 16385}", "search.nProbe"),
        ("limits: {maxConnections: 0}", "limits.maxConnections"),
        ("limits: {maxBodyBytes: 1}", "limits.maxBodyBytes"),
        ("limits: {maxReadBodyBytes: 1}", "limits.maxReadBodyBytes"),
        ("limits: {maxEmbeddingTokens: 0}", "limits.maxEmbeddingTokens"),
        ("limits: {bodyTimeoutSeconds: 0}", "limits.bodyTimeoutSeconds"),
        ("limits: {maxBodiesBytes: 2000}", "limits.maxBodiesBytes"),
        ("limits: {maxBodiesBytes: 2000000000000}", "limits.maxBodiesBytes"),
        ("limits: {maxRunningReads: 0}", "limits.maxRunningReads"),
        ("limits: {maxRunningChats: 0}", "limits.maxRunningChats"),
        ("limits: {maxRunningWrites: 1000001}", "limits.maxRunningWrites"),
        ("limits: {maxWaitingReads: 1000001}", "limits.maxWaitingReads"),
        ("limits: {maxWaitingChats: 1000001}", "limits.maxWaitingChats"),
        ("limits: {maxWaitingWrites: 1000001}", "limits.maxWaitingWrites"),
        ("limits: {readTimeoutSeconds: 0}", "limits.readTimeoutSeconds"),
        ("limits: {writeTimeoutSeconds: 86401}", "limits.writeTimeoutSeconds"),
        ("limits: {sendTimeoutSeconds: 0}", "limits.sendTimeoutSeconds"),
        ("limits: {maxDocuments: 0}", "limits.maxDocuments"),
        ("limits: {maxIndexes: 0}", "limits.maxIndexes"),
    ] {
        let message = from_yaml(yaml).unwrap_err().to_string();
        assert!(message.starts_with(setting), "{yaml}: {message}");
    }
}

#[test]
fn hosts_and_origins_are_accepted() {
    let settings = from_yaml(
        "{listen: '127.0.0.1:5000', adminListen: '127.0.0.2:5000', allowedHosts: [docs.example, '[fd00::1]', 10.0.0.1],
         cors: {allowedOrigins: ['https://chat.example', 'http://localhost:3000', 'chrome-extension://abc']}}",
    );
    let settings = settings.unwrap();
    assert_eq!((settings.allowed_hosts.len(), settings.cors.allowed_origins.len()), (3, 3));
    from_yaml("{listen: '127.0.0.1:0', adminListen: '127.0.0.1:0'}").unwrap();
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
    let words: Vec<String> = (0..101).map(|number| format!("w{number}")).collect();
    let message = from_yaml(&format!("rerank: {{temporalWords: [{}]}}", words.join(", "))).unwrap_err().to_string();
    assert!(message.starts_with("rerank.temporalWords: must be at most 100"), "{message}");
    let message = from_yaml("rerank: {backend: local}").unwrap_err().to_string();
    assert!(message.contains("local"), "{message}");
    let secret = from_yaml("rerank: {apiKey: sk-secret}").unwrap_err().to_string();
    assert!(!secret.contains("sk-secret"), "{secret}");
}
