//! The least and greatest values of the settings.

use crate::from_yaml;

/// Tries each value in the place of `VALUE`. A value that is refused is refused by the setting's name or its group's.
fn check(yaml: &str, accepted: &[impl AsRef<str>], refused: &[impl AsRef<str>]) {
    let group = yaml.split(':').next().unwrap();
    for value in accepted {
        let value = value.as_ref();
        from_yaml(&yaml.replace("VALUE", value)).unwrap_or_else(|error| panic!("{yaml} with {value}: {error}"));
    }
    for value in refused {
        let value = value.as_ref();
        let message = from_yaml(&yaml.replace("VALUE", value)).expect_err(&format!("{yaml} with {value}")).to_string();
        assert!(message.starts_with(group), "{yaml} with {value}: {message}");
    }
}

#[test]
fn a_number_has_a_least_and_a_greatest_value() {
    for (yaml, accepted, refused) in [
        ("embedding: {remote: {url: 'http://e', model: m, batchSize: VALUE}}", "1", "0"),
        ("embedding: {remote: {url: 'http://e', model: m, maxTokens: VALUE}}", "1", "0"),
        ("embedding: {remote: {url: 'http://e', model: m, timeoutSeconds: VALUE}}", "1", "0"),
        ("embedding: {remote: {url: 'http://e', model: m, dimensions: VALUE}}", "1", "0"),
        ("embedding: {local: {queue: VALUE}}", "1", "0"),
        ("embedding: {local: {threads: VALUE}}", "0 1024", "1025"),
        ("embedding: {local: {maxTokens: VALUE}}", "1", "0"),
        ("inferenceService: {contextWindowSize: VALUE}", "1", "0"),
        ("inferenceService: {maxWaitingRequests: VALUE}", "0 1000000", "1000001"),
        ("inferenceService: {queueTimeoutSeconds: VALUE}", "1 86400", "0 86401"),
        ("inferenceService: {timeoutSeconds: VALUE}", "1", "0"),
        ("inferenceService: {connectTimeoutSeconds: VALUE}", "1", "0"),
        ("inferenceService: {idleTimeoutSeconds: VALUE}", "1", "0"),
        ("inferenceService: {maxConcurrentRequests: VALUE}", "1", "0"),
        ("inferenceService: {maxReplyBytes: VALUE}", "1024", "1023"),
        ("inferenceService: {probeSeconds: VALUE}", "0 86400", "86401"),
        ("chat: {keepAliveSeconds: VALUE}", "1", "0"),
        ("retrieval: {maxDistance: VALUE}", "0 4", "-0.1 4.1 .nan"),
        ("retrieval: {contextTokenRatio: VALUE}", "0.2 0.8", "0.1 0.9"),
        ("retrieval: {minTopK: VALUE}", "1 10000", "0 10001"),
        ("retrieval: {maxQuestionWindows: VALUE}", "1 1024", "0 1025"),
        ("retrieval: {denseWeight: VALUE}", "0 1", "-0.1 1.1"),
        ("retrieval: {textWeight: VALUE}", "0 1", "-0.1 1.1"),
        ("retrieval: {denseWeight: 0, textWeight: VALUE}", "0.1", "0"),
        ("retrieval: {minSimilarity: VALUE}", "0 1", "-0.1 1.1"),
        ("retrieval: {mmrLambda: VALUE}", "0 1", "-0.1 1.1"),
        ("retrieval: {duplicateSimilarity: VALUE}", "0 1", "-0.1 1.1"),
        ("retrieval: {tokensPerChunk: VALUE}", "1", "0"),
        ("rerank: {scoreSpread: VALUE}", "0 1", "-0.1 1.1 .nan"),
        ("rerank: {backend: local, local: {maxTokens: VALUE}}", "1", "0"),
        ("sessions: {expirySeconds: VALUE}", "60 31622400", "59 31622401"),
        ("sessions: {historyRatio: VALUE}", "0 0.8", "-0.1 0.9 .nan"),
        ("interactions: {maxEntries: VALUE}", "1 1000", "0 1001"),
        ("interactions: {keep: VALUE}", "1 1000", "0 1001"),
        ("interactions: {topK: VALUE}", "1 1000", "0 1001"),
        ("interactions: {maxChars: VALUE}", "1 10000000", "0 10000001"),
        ("interactions: {maxCharsByModel: {gpt-5: VALUE}}", "1 10000000", "0 10000001"),
        ("interactions: {minSimilarity: VALUE}", "0 1", "-0.1 1.1"),
        ("interactions: {overlapThreshold: VALUE}", "0 1", "-0.1 1.1"),
        ("cache: {minSimilarity: VALUE}", "0 1", "-0.1 1.1"),
        ("cache: {ttlDays: VALUE}", "1 365", "0 366"),
        ("endpoints: {query: {topK: VALUE}}", "1 300", "0 301"),
        ("endpoints: {query: {contextRatio: VALUE}}", "0.05 0.8", "0 0.9"),
        ("endpoints: {query: {answerRatio: VALUE}}", "0.05 0.8", "0 0.9"),
        ("endpoints: {chat: {topK: VALUE}}", "1 300", "0 301"),
        ("endpoints: {chat: {maxContextTokens: VALUE}}", "100 100000000", "99 100000001"),
        ("endpoints: {chat: {temperature: VALUE}}", "0 2", "-0.1 2.1"),
        ("endpoints: {chat: {maxTokens: VALUE}}", "1 100000000", "0 100000001"),
        ("chunking: {maxTokens: VALUE}", "16", "15"),
        ("chunking: {overlapTokens: VALUE}", "0 1000", ""),
        ("chunking: {maxTokens: 100, overlapTokens: VALUE}", "0 99", "100 101"),
        ("search: {threads: VALUE}", "0 1024", "1025"),
        ("search: {efSearch: VALUE}", "1 65536", "0 65537"),
        ("search: {nProbe: VALUE}", "1 16384", "0 16385"),
        ("auth: {previousTokenSeconds: VALUE}", "0 86400", "86401"),
        ("limits: {maxConnections: VALUE}", "1", "0"),
        ("limits: {maxBodyBytes: VALUE}", "1024", "1023"),
        ("limits: {maxReadBodyBytes: VALUE}", "1024", "1023"),
        ("limits: {maxEmbeddingTokens: VALUE}", "1", "0"),
        ("limits: {maxBodyBytes: 2048, maxBodiesBytes: VALUE}", "2048 1099511627776", "2047 1099511627777"),
        ("limits: {maxRunningReads: VALUE}", "1 1000000", "0 1000001"),
        ("limits: {maxRunningChats: VALUE}", "1 1000000", "0 1000001"),
        ("limits: {maxRunningWrites: VALUE}", "1 1000000", "0 1000001"),
        ("limits: {maxWaitingReads: VALUE}", "0 1000000", "1000001"),
        ("limits: {maxWaitingChats: VALUE}", "0 1000000", "1000001"),
        ("limits: {maxWaitingWrites: VALUE}", "0 1000000", "1000001"),
        ("limits: {chatsPerMinutePerCaller: VALUE}", "0 1000000", "1000001"),
        ("limits: {readTimeoutSeconds: VALUE}", "1 86400", "0 86401"),
        ("limits: {writeTimeoutSeconds: VALUE}", "1 86400", "0 86401"),
        ("limits: {sendTimeoutSeconds: VALUE}", "1 86400", "0 86401"),
        ("limits: {cutTimeoutSeconds: VALUE}", "1 86400", "0 86401"),
        ("limits: {bodyTimeoutSeconds: VALUE}", "1", "0"),
        ("limits: {maxDocuments: VALUE}", "1", "0"),
        ("limits: {maxDocumentBytes: VALUE}", "1", "0"),
        ("limits: {maxIndexes: VALUE}", "1", "0"),
        ("tracing: {sampleRatio: VALUE}", "0 1", "-0.1 1.1 .nan"),
    ] {
        let values = |text: &'static str| text.split_whitespace().collect::<Vec<_>>();
        check(yaml, &values(accepted), &values(refused));
    }
}

fn letters(count: usize) -> String {
    "x".repeat(count)
}

/// A list of different items. `N` in an item becomes its number.
fn list(count: usize, item: &str) -> String {
    format!("[{}]", items(count, item))
}

fn map(count: usize, item: &str) -> String {
    format!("{{{}}}", items(count, item))
}

fn items(count: usize, item: &str) -> String {
    (0..count).map(|number| item.replace('N', &number.to_string())).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_text_has_a_greatest_length() {
    for (yaml, greatest) in [
        ("stateNamespace: VALUE", 317),
        ("defaultIndex: VALUE", 200),
        ("interactions: {providerName: VALUE}", 200),
        ("auth: {sessionToken: {keyPrefix: VALUE}}", 200),
        ("auth: {modes: [apiKey], apiKeysFolder: /keys, defaultAccess: {read: [VALUE]}}", 600),
        ("auth: {modes: [apiKey], apiKeysFolder: /keys, defaultAccess: {write: [VALUE]}}", 600),
        ("auth: {modes: [apiKey], apiKeysFolder: /keys, indexes: {docs: {read: [VALUE]}}}", 600),
        ("auth: {modes: [apiKey], apiKeysFolder: /keys, indexes: {VALUE: {}}}", 200),
        ("auth: {jwt: [{issuer: VALUE, audience: docs, jwksFile: /jwks}]}", 200),
        ("auth: {jwt: [{issuer: me, audience: VALUE, jwksFile: /jwks}]}", 200),
        ("events: {exchange: VALUE}", 127),
        ("citations: {fallbackMessage: VALUE}", 1000),
        ("citations: {insufficientPhrases: [VALUE]}", 200),
        ("retrieval: {filterRules: [{words: [VALUE], filter: {}}]}", 200),
        ("rewrite: {acronyms: {VALUE: expansion}}", 200),
        ("rewrite: {acronyms: {ABO: VALUE}}", 200),
        ("rerank: {temporalWords: [VALUE]}", 200),
        ("rerank: {comparisonWords: [VALUE]}", 200),
        ("endpoints: {chat: {models: [VALUE]}}", 200),
        ("endpoints: {chat: {modelByCaller: {VALUE: small}}}", 200),
        ("endpoints: {chat: {modelByCaller: {me: VALUE}}}", 200),
    ] {
        check(yaml, &["x".to_owned(), letters(greatest)], &["''".to_owned(), letters(greatest + 1)]);
    }
    check("stateNamespace: VALUE", &["team-a.docs"], &["two words", "ä"]);
    check("auth: {sessionToken: {keyPrefix: VALUE}}", &["'session:'"], &["two words", "ä"]);
    check("events: {exchange: VALUE}", &["docs.amq."], &["amq.docs"]);
    check("citations: {fallbackMessage: VALUE}", &["no"], &["' '"]);
}

#[test]
fn a_list_has_a_greatest_length() {
    for (yaml, greatest, item) in [
        ("auth: {modes: [apiKey], apiKeysFolder: /keys, defaultAccess: {read: VALUE}}", 1000, "rN"),
        ("auth: {modes: [apiKey], apiKeysFolder: /keys, defaultAccess: {write: VALUE}}", 1000, "rN"),
        ("auth: {jwt: VALUE}", 20, "{issuer: N, audience: docs, jwksFile: /jwks}"),
        ("citations: {insufficientPhrases: VALUE}", 100, "pN"),
        ("retrieval: {filterRules: VALUE}", 100, "{filter: {}}"),
        ("retrieval: {filterRules: [{words: VALUE, filter: {}}]}", 100, "wN"),
        ("rerank: {temporalWords: VALUE}", 100, "wN"),
        ("rerank: {comparisonWords: VALUE}", 100, "wN"),
        ("endpoints: {chat: {models: VALUE}}", 1000, "mN"),
    ] {
        check(yaml, &[list(greatest, item)], &[list(greatest + 1, item)]);
    }
    for (yaml, greatest, item) in [
        ("rewrite: {acronyms: VALUE}", 200, "aN: expansion"),
        ("auth: {modes: [apiKey], apiKeysFolder: /keys, indexes: VALUE}", 10_000, "iN: {}"),
        ("endpoints: {chat: {modelByCaller: VALUE}}", 1000, "cN: small"),
    ] {
        check(yaml, &[map(greatest, item)], &[map(greatest + 1, item)]);
    }
}
