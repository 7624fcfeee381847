//! The rules of the vector engine, and of the sections that depend on it.

use super::Rule;

pub const RULES: &[Rule] = &[
    (
        "storage.vectorDB.engine must be faiss, weaviate or qdrant",
        "storage: {vectorDB: {engine: faiss}}",
        "storage: {vectorDB: {engine: milvus}}",
    ),
    (
        "storage.vectorDB.engine must be faiss, weaviate or qdrant",
        "storage: {vectorDB: {engine: FAISS}}",
        "storage: {vectorDB: {engine: milvus, url: 'http://milvus:19530', accessSecret: s}}",
    ),
    (
        "storage.vectorDB.engine must be faiss, weaviate or qdrant",
        "{storage: {vectorDB: {engine: weaviate, url: 'https://w:8443/vectors'}}, postgres: {url: 'postgres://db'}}",
        "{storage: {vectorDB: {engine: Weaviate, url: 'http://w'}}, postgres: {url: 'postgres://db'}}",
    ),
    (
        "storage.vectorDB.engine must be faiss, weaviate or qdrant",
        "storage: {vectorDB: {}}",
        "storage: {vectorDB: {engine: ''}}",
    ),
    (
        "storage.vectorDB.engine must be faiss, weaviate or qdrant",
        "{storage: {vectorDB: {engine: qdrant, url: 'https://q:6334'}}, postgres: {url: 'postgres://db'}}",
        "{storage: {vectorDB: {engine: Qdrant, url: 'http://q'}}, postgres: {url: 'postgres://db'}}",
    ),
    (
        "storage.vectorDB.url is needed with engine: weaviate or qdrant",
        "{storage: {vectorDB: {engine: weaviate, url: 'http://w'}}, postgres: {url: 'postgres://db'}}",
        "{storage: {vectorDB: {engine: weaviate}}, postgres: {url: 'postgres://db'}}",
    ),
    (
        "storage.vectorDB.url is needed with engine: weaviate or qdrant",
        "{storage: {vectorDB: {engine: qdrant, url: 'http://q'}}, postgres: {url: 'postgres://db'}}",
        "{storage: {vectorDB: {engine: qdrant}}, postgres: {url: 'postgres://db'}}",
    ),
    (
        "postgres.url is needed with storage.vectorDB.engine: weaviate or qdrant",
        "{storage: {vectorDB: {engine: weaviate, url: 'http://w', accessSecret: s, replicationFactor: 3, shards: 2}}, \
         postgres: {url: 'postgres://db'}}",
        "storage: {vectorDB: {engine: weaviate, url: 'http://w'}}",
    ),
    (
        "postgres.url is needed with storage.vectorDB.engine: weaviate or qdrant",
        "{storage: {vectorDB: {engine: Faiss}}, postgres: {}}",
        "{storage: {vectorDB: {engine: weaviate, url: 'http://w'}}, postgres: {}, redis: {url: 'redis://cache'}}",
    ),
    (
        "postgres.url is needed with storage.vectorDB.engine: weaviate or qdrant",
        "{storage: {vectorDB: {engine: qdrant, url: 'http://q', accessSecret: s, replicationFactor: 3, shards: 2}}, \
         postgres: {url: 'postgres://db'}}",
        "storage: {vectorDB: {engine: qdrant, url: 'http://q'}}",
    ),
    (
        "storage.vectorDB.url, accessSecret, replicationFactor and shards are only used with",
        "storage: {vectorDB: {engine: faiss}}",
        "storage: {vectorDB: {engine: faiss, url: 'http://w'}}",
    ),
    (
        "storage.vectorDB.url, accessSecret, replicationFactor and shards are only used with",
        "storage: {vectorDB: {}}",
        "storage: {vectorDB: {url: 'http://w'}}",
    ),
    (
        "storage.vectorDB.url, accessSecret, replicationFactor and shards are only used with",
        "storage: {}",
        "storage: {vectorDB: {accessSecret: s}}",
    ),
    (
        "storage.vectorDB.url, accessSecret, replicationFactor and shards are only used with",
        "storage: {}",
        "storage: {vectorDB: {engine: Faiss, replicationFactor: 1}}",
    ),
    (
        "storage.vectorDB.url, accessSecret, replicationFactor and shards are only used with",
        "storage: {}",
        "storage: {vectorDB: {shards: 1}}",
    ),
    (
        "storage.vectorDB.url must be",
        "{storage: {vectorDB: {engine: weaviate, url: 'http://[::1]:8080'}}, postgres: {url: 'postgres://db'}}",
        "{storage: {vectorDB: {engine: weaviate, url: 'http://me:secret@w:8080'}}, postgres: {url: 'postgres://db'}}",
    ),
    (
        "storage.vectorDB.url must be",
        "{storage: {vectorDB: {engine: weaviate, url: 'http://w/'}}, postgres: {url: 'postgres://db'}}",
        "{storage: {vectorDB: {engine: weaviate, url: 'http://w?key=k'}}, postgres: {url: 'postgres://db'}}",
    ),
    (
        "storage.vectorDB.url must be",
        "{storage: {vectorDB: {engine: weaviate, url: 'http://w'}}, postgres: {url: 'postgres://db'}}",
        "{storage: {vectorDB: {engine: weaviate, url: 'weaviate:8080'}}, postgres: {url: 'postgres://db'}}",
    ),
    (
        "storage.vectorDB.url must be",
        "{storage: {vectorDB: {engine: qdrant, url: 'http://qdrant.db.svc:6334'}}, postgres: {url: 'postgres://db'}}",
        "{storage: {vectorDB: {engine: qdrant, url: 'grpc://qdrant:6334'}}, postgres: {url: 'postgres://db'}}",
    ),
    (
        "backup is not possible with storage.vectorDB.engine: weaviate or qdrant",
        "{storage: {vectorDB: {engine: faiss}}, backup: {schedule: '0 1 * * *', s3: {bucket: b}}}",
        "{storage: {vectorDB: {engine: weaviate, url: 'http://w'}}, postgres: {url: 'postgres://db'}, \
         backup: {schedule: '0 1 * * *', s3: {bucket: b}}}",
    ),
    (
        "bootstrap is not possible with storage.vectorDB.engine: weaviate or qdrant",
        "{storage: {vectorDB: {engine: faiss}}, bootstrap: {restore: {s3: {bucket: b}}}}",
        "{storage: {vectorDB: {engine: weaviate, url: 'http://w'}}, postgres: {url: 'postgres://db'}, \
         bootstrap: {restore: {s3: {bucket: b}}}}",
    ),
    (
        "backup is not possible with storage.vectorDB.engine: weaviate or qdrant",
        "{storage: {vectorDB: {engine: qdrant, url: 'http://q'}}, postgres: {url: 'postgres://db'}}",
        "{storage: {vectorDB: {engine: qdrant, url: 'http://q'}}, postgres: {url: 'postgres://db'}, \
         backup: {schedule: '0 1 * * *', s3: {bucket: b}}}",
    ),
    (
        "bootstrap is not possible with storage.vectorDB.engine: weaviate or qdrant",
        "{storage: {vectorDB: {engine: qdrant, url: 'http://q'}}, postgres: {url: 'postgres://db'}}",
        "{storage: {vectorDB: {engine: qdrant, url: 'http://q'}}, postgres: {url: 'postgres://db'}, \
         bootstrap: {restore: {s3: {bucket: b}}}}",
    ),
];
