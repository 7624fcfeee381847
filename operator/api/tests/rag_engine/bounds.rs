//! Bounds: values outside are rejected, and the server accepts the values at the bounds.

use crate::admission::{engine, refusals, schema};
use crate::every_bound::assert_bounded_and_described;

#[test]
fn values_out_of_bounds_are_rejected() {
    let long_secret = format!("inferenceService: {{accessSecret: {}}}", "s".repeat(254));
    let long_type = format!("compute: {{instanceType: {}}}", "a".repeat(64));
    let many_nodes = format!("compute: {{preferredNodes: [{}]}}", vec!["n"; 65].join(", "));
    let long_word = format!("rerank: {{comparisonWords: [{}]}}", "w".repeat(51));
    let long_index = format!("defaultIndex: {}", "i".repeat(64));
    let long_model = format!("endpoints: {{chat: {{models: [{}]}}}}", "m".repeat(201));
    let long_phrase = format!("citations: {{insufficientPhrases: [{}]}}", "p".repeat(51));
    for (spec, place) in [
        ("replicas: -1", ".spec.replicas"),
        ("replicas: one", ".spec.replicas"),
        ("autoscaling: {}", ".spec.autoscaling"),
        ("autoscaling: {maxReplicas: 0}", ".spec.autoscaling.maxReplicas"),
        ("autoscaling: {minReplicas: 0, maxReplicas: 1}", ".spec.autoscaling.minReplicas"),
        (
            "autoscaling: {maxReplicas: 1, targetCPUUtilizationPercentage: 0}",
            ".spec.autoscaling.targetCPUUtilizationPercentage",
        ),
        ("embedding: {remote: {url: 'http://e'}}", ".spec.embedding.remote"),
        ("embedding: {local: {modelID: ''}}", ".spec.embedding.local.modelID"),
        ("embedding: {local: {pooling: max}}", ".spec.embedding.local.pooling"),
        ("embedding: {local: {gpu: 1}}", ".spec.embedding.local"),
        ("inferenceService: {contextWindowSize: 0}", ".spec.inferenceService.contextWindowSize"),
        ("inferenceService: {models: ['']}", ".spec.inferenceService.models[0]"),
        ("inferenceService: {maxConcurrentRequests: 0}", ".spec.inferenceService.maxConcurrentRequests"),
        ("inferenceService: {maxWaitingRequests: -1}", ".spec.inferenceService.maxWaitingRequests"),
        ("inferenceService: {accessSecret: 'a b'}", ".spec.inferenceService.accessSecret"),
        (&long_secret, ".spec.inferenceService.accessSecret"),
        ("inferenceService: {tokenizer: relative}", ".spec.inferenceService.tokenizer"),
        ("retrieval: {maxDistance: 4.1}", ".spec.retrieval.maxDistance"),
        ("retrieval: {contextTokenRatio: 0.1}", ".spec.retrieval.contextTokenRatio"),
        ("retrieval: {minTopK: 0}", ".spec.retrieval.minTopK"),
        ("endpoints: {completions: {condense: sometimes}}", ".spec.endpoints.completions.condense"),
        ("endpoints: {completions: {rerank: true}}", ".spec.endpoints.completions.rerank"),
        ("rewrite: {model: ''}", ".spec.rewrite.model"),
        ("rerank: {backend: cohere}", ".spec.rerank.backend"),
        ("rerank: {scoreSpread: 1.1}", ".spec.rerank.scoreSpread"),
        ("rerank: {temporalWords: ['?!']}", ".spec.rerank.temporalWords[0]"),
        (&long_word, ".spec.rerank.comparisonWords[0]"),
        ("rerank: {backend: local, local: {maxTokens: 0}}", ".spec.rerank.local.maxTokens"),
        ("feedback: {store: redis}", ".spec.feedback.store"),
        ("redis: {accessSecret: 'a b'}", ".spec.redis.accessSecret"),
        ("redis: {password: p}", ".spec.redis"),
        ("defaultIndex: ''", ".spec.defaultIndex"),
        ("defaultIndex: 'a b'", ".spec.defaultIndex"),
        (&long_index, ".spec.defaultIndex"),
        ("sessions: {store: redb}", ".spec.sessions.store"),
        ("sessions: {expirySeconds: 59}", ".spec.sessions.expirySeconds"),
        ("sessions: {expirySeconds: 31622401}", ".spec.sessions.expirySeconds"),
        ("sessions: {historyRatio: 0.81}", ".spec.sessions.historyRatio"),
        ("sessions: {historyRatio: -0.1}", ".spec.sessions.historyRatio"),
        ("sessions: {historyFormat: table}", ".spec.sessions.historyFormat"),
        ("sessions: {whenDown: wait}", ".spec.sessions.whenDown"),
        ("endpoints: {query: {topK: 0}}", ".spec.endpoints.query.topK"),
        ("endpoints: {query: {topK: 301}}", ".spec.endpoints.query.topK"),
        ("endpoints: {query: {contextRatio: 0.04}}", ".spec.endpoints.query.contextRatio"),
        ("endpoints: {query: {answerRatio: 0.81}}", ".spec.endpoints.query.answerRatio"),
        ("endpoints: {query: {rerank: false}}", ".spec.endpoints.query.rerank"),
        ("endpoints: {query: {diversity: false}}", ".spec.endpoints.query.diversity"),
        ("endpoints: {query: {temperature: 1}}", ".spec.endpoints.query"),
        ("endpoints: {query: {postprocess: 1}}", ".spec.endpoints.query.postprocess"),
        ("endpoints: {completions: {cache: true}}", ".spec.endpoints.completions"),
        ("endpoints: {chat: {topK: 301}}", ".spec.endpoints.chat.topK"),
        ("endpoints: {chat: {maxContextTokens: 99}}", ".spec.endpoints.chat.maxContextTokens"),
        ("endpoints: {chat: {temperature: 2.1}}", ".spec.endpoints.chat.temperature"),
        ("endpoints: {chat: {maxTokens: 0}}", ".spec.endpoints.chat.maxTokens"),
        ("endpoints: {chat: {contextRatio: 0.4}}", ".spec.endpoints.chat"),
        ("endpoints: {chat: {models: ['']}}", ".spec.endpoints.chat.models[0]"),
        (&long_model, ".spec.endpoints.chat.models[0]"),
        ("endpoints: {chat: {modelByCaller: {'user:ann': ''}}}", ".spec.endpoints.chat.modelByCaller.user:ann"),
        ("citations: {fallbackMessage: ' '}", ".spec.citations.fallbackMessage"),
        ("citations: {insufficientPhrases: ['']}", ".spec.citations.insufficientPhrases[0]"),
        (&long_phrase, ".spec.citations.insufficientPhrases[0]"),
        ("cache: {minSimilarity: 1.1}", ".spec.cache.minSimilarity"),
        ("cache: {ttlDays: 0}", ".spec.cache.ttlDays"),
        ("cache: {ttlDays: 366}", ".spec.cache.ttlDays"),
        ("events: {exchange: ''}", ".spec.events.exchange"),
        ("events: {accessSecret: 'a b'}", ".spec.events.accessSecret"),
        ("events: {password: p}", ".spec.events"),
        ("limits: {chatsPerMinutePerCaller: 1000001}", ".spec.limits.chatsPerMinutePerCaller"),
        ("limits: {maxIndexes: 1}", ".spec.limits"),
        ("audit: {enabled: 'on'}", ".spec.audit.enabled"),
        ("tls: {}", ".spec.tls"),
        ("tls: {secretName: ''}", ".spec.tls.secretName"),
        ("tls: {secretName: 'a b'}", ".spec.tls.secretName"),
        ("tls: {secretName: a, certificateFile: /tls.crt}", ".spec.tls"),
        ("tracing: {otlpEndpoint: 'http://c', sampleRatio: 1.1}", ".spec.tracing.sampleRatio"),
        ("tracing: {otlpEndpoint: 'http://c', sampleRatio: -0.1}", ".spec.tracing.sampleRatio"),
        ("tracing: {headers: {}}", ".spec.tracing"),
        ("auth: {modes: [password]}", ".spec.auth.modes[0]"),
        ("auth: {modes: [apiKey, sessionToken, jwt, jwt]}", ".spec.auth.modes"),
        ("auth: {apiKeysSecret: 'a b'}", ".spec.auth.apiKeysSecret"),
        ("auth: {apiKeysFolder: /keys}", ".spec.auth"),
        ("auth: {defaultAccess: {read: [staff]}}", ".spec.auth.defaultAccess.read[0]"),
        ("auth: {defaultAccess: {write: ['user:*']}}", ".spec.auth.defaultAccess.write[0]"),
        ("auth: {sessionToken: {keyPrefix: 'a b'}}", ".spec.auth.sessionToken.keyPrefix"),
        ("auth: {jwt: [{issuer: a, audience: b}]}", ".spec.auth.jwt[0]"),
        ("auth: {jwt: [{issuer: '', audience: b, jwksUrl: 'http://a'}]}", ".spec.auth.jwt[0].issuer"),
        ("ingress: {host: 'http://a'}", ".spec.ingress.host"),
        ("ingress: {host: '*.example'}", ".spec.ingress.host"),
        ("ingress: {className: nginx}", ".spec.ingress"),
        ("httpRoute: {parentRefs: []}", ".spec.httpRoute.parentRefs"),
        ("httpRoute: {parentRefs: [{namespace: a}]}", ".spec.httpRoute.parentRefs[0]"),
        ("httpRoute: {parentRefs: [{name: a}], hostnames: [A]}", ".spec.httpRoute.hostnames[0]"),
        ("interactions: {providerName: 'a b'}", ".spec.interactions.providerName"),
        ("interactions: {maxChars: 0}", ".spec.interactions.maxChars"),
        ("interactions: {maxCharsByModel: {m: 0}}", ".spec.interactions.maxCharsByModel.m"),
        ("interactions: {topK: 1001}", ".spec.interactions.topK"),
        ("interactions: {minSimilarity: -0.1}", ".spec.interactions.minSimilarity"),
        ("interactions: {overlapThreshold: 1.1}", ".spec.interactions.overlapThreshold"),
        ("interactions: {overlapThreshold: often}", ".spec.interactions.overlapThreshold"),
        ("storage: {deletionPolicy: Keep}", ".spec.storage.deletionPolicy"),
        ("storage: {vectorDB: {engine: weaviate, replicationFactor: 8}}", ".spec.storage.vectorDB.replicationFactor"),
        ("storage: {vectorDB: {engine: weaviate, shards: 65}}", ".spec.storage.vectorDB.shards"),
        ("storage: {vectorDB: {engine: weaviate, accessSecret: 'a b'}}", ".spec.storage.vectorDB.accessSecret"),
        ("storage: {vectorDB: {engine: qdrant, replicationFactor: 0}}", ".spec.storage.vectorDB.replicationFactor"),
        ("storage: {vectorDB: {engine: qdrant, shards: 0}}", ".spec.storage.vectorDB.shards"),
        ("image: {pullPolicy: Sometimes}", ".spec.image.pullPolicy"),
        ("image: {tag: 'a b'}", ".spec.image.tag"),
        ("image: {digest: latest}", ".spec.image.digest"),
        ("image: {digest: 'sha256:0A'}", ".spec.image.digest"),
        (
            "networkPolicy: {egress: {to: [{ipBlock: {cidr: everywhere}}]}}",
            ".spec.networkPolicy.egress.to[0].ipBlock.cidr",
        ),
        (
            "networkPolicy: {egress: {to: [{podSelector: {}, ports: [{port: 0}]}]}}",
            ".spec.networkPolicy.egress.to[0].ports[0].port",
        ),
        (
            "networkPolicy: {egress: {to: [{podSelector: {}, ports: [{port: http}]}]}}",
            ".spec.networkPolicy.egress.to[0].ports[0].port",
        ),
        ("cors: {allowedOrigins: ['*']}", ".spec.cors.allowedOrigins[0]"),
        ("cors: {allowedOrigins: ['https://a/b']}", ".spec.cors.allowedOrigins[0]"),
        ("allowedHosts: ['http://a']", ".spec.allowedHosts[0]"),
        ("resources: {requests: {cpu: lots}}", ".spec.resources.requests.cpu"),
        ("resources: {requests: {cpu: 0.5}}", ".spec.resources.requests.cpu"),
        (&many_nodes, ".spec.compute.preferredNodes"),
        ("compute: {instanceType: ''}", ".spec.compute.instanceType"),
        ("compute: {instanceType: 'two words'}", ".spec.compute.instanceType"),
        (&long_type, ".spec.compute.instanceType"),
        ("podTemplate: {nodeSelector: {disk: ssd}}", ".spec.podTemplate"),
        ("guardrails: {configMapRef: {name: }}", ".spec.guardrails.configMapRef.name"),
        ("guardrails: {configMapRef: {}}", ".spec.guardrails.configMapRef"),
        ("guardrail: {enabled: true}", ".spec"),
    ] {
        let found = refusals(&engine(spec), None);
        assert!(found.iter().any(|refusal| refusal.starts_with(&format!("{place}: "))), "{spec}: {found:?}");
    }
}

/// The settings file of the server uses the same field names, so each bound can be written into one.
#[test]
fn the_server_accepts_values_at_the_bounds() {
    let remote = "url: 'http://e', model: m, ";
    for (parents, siblings, field) in [
        (vec!["retrieval"], "", "maxDistance"),
        (vec!["retrieval"], "", "contextTokenRatio"),
        (vec!["retrieval"], "", "minTopK"),
        (vec!["retrieval"], "", "tokensPerChunk"),
        (vec!["rerank"], "", "scoreSpread"),
        (vec!["interactions"], "", "maxChars"),
        (vec!["interactions"], "", "maxEntries"),
        (vec!["interactions"], "", "keep"),
        (vec!["interactions"], "", "topK"),
        (vec!["interactions"], "", "minSimilarity"),
        (vec!["interactions"], "", "overlapThreshold"),
        (vec!["sessions"], "", "expirySeconds"),
        (vec!["sessions"], "", "historyRatio"),
        (vec!["endpoints", "query"], "", "topK"),
        (vec!["endpoints", "query"], "", "contextRatio"),
        (vec!["endpoints", "query"], "", "answerRatio"),
        (vec!["endpoints", "chat"], "", "topK"),
        (vec!["endpoints", "chat"], "", "maxContextTokens"),
        (vec!["endpoints", "chat"], "", "temperature"),
        (vec!["endpoints", "chat"], "", "maxTokens"),
        (vec!["cache"], "", "minSimilarity"),
        (vec!["cache"], "", "ttlDays"),
        (vec!["limits"], "", "chatsPerMinutePerCaller"),
        (vec!["tracing"], "otlpEndpoint: 'http://c', ", "sampleRatio"),
        (vec!["inferenceService"], "", "contextWindowSize"),
        (vec!["inferenceService"], "", "timeoutSeconds"),
        (vec!["inferenceService"], "", "maxConcurrentRequests"),
        (vec!["inferenceService"], "", "maxWaitingRequests"),
        (vec!["embedding", "local"], "", "maxTokens"),
        (vec!["embedding", "remote"], remote, "maxTokens"),
        (vec!["embedding", "remote"], remote, "dimensions"),
        (vec!["embedding", "remote"], remote, "batchSize"),
        (vec!["embedding", "remote"], remote, "timeoutSeconds"),
    ] {
        let place: String = parents.iter().map(|parent| format!("/properties/{parent}")).collect();
        let bounds = schema().pointer(&format!("/properties/spec{place}/properties/{field}")).unwrap();
        for bound in ["minimum", "maximum"] {
            let value = match bounds["type"].as_str() {
                Some("integer") => format!("{:.0}", bounds[bound].as_f64().unwrap()),
                _ => bounds[bound].to_string(),
            };
            let settings = parents
                .iter()
                .rev()
                .fold(format!("{siblings}{field}: {value}"), |inner, parent| format!("{parent}: {{{inner}}}"));
            assert_eq!(refusals(&engine(&settings), None), Vec::<String>::new(), "{settings}");
            ragengine_settings::from_yaml(&settings).unwrap_or_else(|error| panic!("{settings}: {error}"));
        }
    }
}

/// The server counts bytes, and the definition characters.
#[test]
fn the_server_accepts_the_longest_texts() {
    let words = format!("[{}]", vec!["\u{10400}".repeat(50); 100].join(", "));
    let issuers = "modes: [jwt], jwt: [{issuer: 'https://i', audience: a, jwksUrl: 'https://i/keys'}]";
    for settings in [
        format!("rerank: {{temporalWords: {words}, comparisonWords: {words}}}"),
        format!("interactions: {{providerName: {}}}", "p".repeat(200)),
        format!("defaultIndex: {}", "i".repeat(63)),
        format!("endpoints: {{chat: {{models: [{}]}}}}", "m".repeat(200)),
        format!("citations: {{insufficientPhrases: {words}, fallbackMessage: {}}}", "\u{10400}".repeat(250)),
        format!("events: {{url: 'amqp://a', exchange: {}}}", "e".repeat(127)),
        format!("auth: {{sessionToken: {{keyPrefix: {}}}}}", "p".repeat(200)),
        format!(
            "auth: {{{issuers}, defaultAccess: {{read: ['serviceAccount:{}/{}']}}}}",
            "a".repeat(63),
            "b".repeat(253)
        ),
        format!("auth: {{{issuers}, defaultAccess: {{write: ['user:{}']}}}}", "a".repeat(327)),
        "interactions: {overlapThreshold: adaptive, maxCharsByModel: {a: 1, b: 10000000}}".to_owned(),
    ] {
        assert_eq!(refusals(&engine(&settings), None), Vec::<String>::new(), "{settings}");
        ragengine_settings::from_yaml(&settings).unwrap_or_else(|error| panic!("{settings}: {error}"));
    }
}

#[test]
fn every_field_of_spec_has_bounds_and_a_description() {
    assert_bounded_and_described(&schema()["properties"]["spec"], "spec");
}
