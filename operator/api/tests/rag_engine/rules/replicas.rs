//! The rules of engines with several pods.

use super::Rule;

/// A specification with its indexes in Weaviate.
macro_rules! weaviate {
    ($more:literal) => {
        concat!(
            "{storage: {vectorDB: {engine: weaviate, url: 'http://w'}}, postgres: {url: 'postgres://db'}, ",
            $more,
            "}"
        )
    };
    ($more:literal, $storage:literal) => {
        concat!(
            "{storage: {vectorDB: {engine: weaviate, url: 'http://w'}, ",
            $storage,
            "}, postgres: {url: 'postgres://db'}, ",
            $more,
            "}"
        )
    };
}

pub const RULES: &[Rule] = &[
    (
        "more than one pod (replicas, autoscaling.maxReplicas) needs storage.vectorDB.engine: weaviate or qdrant",
        "replicas: 0",
        "{replicas: 2, postgres: {url: 'postgres://db'}, sessions: {store: postgres}, feedback: {store: postgres}}",
    ),
    (
        "more than one pod (replicas, autoscaling.maxReplicas) needs storage.vectorDB.engine: weaviate or qdrant",
        "{replicas: 1, autoscaling: {maxReplicas: 1}}",
        "{autoscaling: {maxReplicas: 3}, postgres: {url: 'postgres://db'}, sessions: {store: postgres}, feedback: {store: postgres}}",
    ),
    (
        "more than one pod (replicas, autoscaling.maxReplicas) needs storage.vectorDB.engine: weaviate or qdrant",
        weaviate!("replicas: 1000, sessions: {store: postgres}, feedback: {store: postgres}"),
        "{replicas: 2, storage: {vectorDB: {engine: faiss}}, postgres: {url: 'postgres://db'}, sessions: {store: postgres}, feedback: {store: postgres}}",
    ),
    (
        "more than one pod (replicas, autoscaling.maxReplicas) needs storage.vectorDB.engine: weaviate or qdrant",
        "{replicas: 3, storage: {vectorDB: {engine: qdrant, url: 'http://q'}}, postgres: {url: 'postgres://db'}, sessions: {store: postgres}, feedback: {store: postgres}}",
        "{replicas: 3, storage: {vectorDB: {}}, postgres: {url: 'postgres://db'}, sessions: {store: postgres}, feedback: {store: postgres}}",
    ),
    (
        "more than one pod (replicas, autoscaling.maxReplicas) needs sessions.store",
        weaviate!("replicas: 3, sessions: {store: redis}, redis: {url: 'redis://cache'}, feedback: {store: postgres}"),
        weaviate!("replicas: 2, feedback: {store: postgres}"),
    ),
    (
        "more than one pod (replicas, autoscaling.maxReplicas) needs sessions.store",
        weaviate!("replicas: 1, feedback: {store: postgres}"),
        weaviate!("autoscaling: {maxReplicas: 3}, sessions: {store: memory}, feedback: {store: postgres}"),
    ),
    (
        "more than one pod (replicas, autoscaling.maxReplicas) needs feedback.store: postgres",
        weaviate!("replicas: 2, sessions: {store: postgres}, feedback: {enabled: false}"),
        weaviate!("replicas: 2, sessions: {store: postgres}"),
    ),
    (
        "more than one pod (replicas, autoscaling.maxReplicas) needs feedback.store: postgres",
        weaviate!("autoscaling: {maxReplicas: 3}, sessions: {store: postgres}, feedback: {store: postgres}"),
        weaviate!("replicas: 2, sessions: {store: postgres}, feedback: {enabled: true, store: redb}"),
    ),
    (
        "more than one pod (replicas, autoscaling.maxReplicas) needs feedback.store: postgres",
        weaviate!("replicas: 1, sessions: {store: postgres}"),
        weaviate!("autoscaling: {maxReplicas: 3}, sessions: {store: postgres}, feedback: {}"),
    ),
    (
        "more than one pod (replicas, autoscaling.maxReplicas) needs interactions.store: postgres",
        weaviate!(
            "replicas: 2, sessions: {store: postgres}, feedback: {store: postgres}, interactions: {enabled: true, store: postgres}"
        ),
        weaviate!(
            "replicas: 2, sessions: {store: postgres}, feedback: {store: postgres}, interactions: {enabled: true}"
        ),
    ),
    (
        "more than one pod (replicas, autoscaling.maxReplicas) needs interactions.store: postgres",
        weaviate!(
            "replicas: 2, sessions: {store: postgres}, feedback: {store: postgres}, interactions: {enabled: false}"
        ),
        weaviate!(
            "autoscaling: {maxReplicas: 3}, sessions: {store: postgres}, feedback: {store: postgres}, interactions: {enabled: true, store: redb}"
        ),
    ),
    (
        "more than one pod (replicas, autoscaling.maxReplicas) needs interactions.store: postgres",
        weaviate!("replicas: 2, sessions: {store: postgres}, feedback: {store: postgres}, interactions: {maxChars: 8}"),
        weaviate!(
            "replicas: 0, autoscaling: {maxReplicas: 2}, sessions: {store: postgres}, feedback: {store: postgres}, interactions: {enabled: true}"
        ),
    ),
    (
        "more than one pod (replicas, autoscaling.maxReplicas) cannot share the volume",
        weaviate!("replicas: 1", "persistentVolume: {size: 1Gi}"),
        weaviate!(
            "replicas: 2, sessions: {store: postgres}, feedback: {store: postgres}",
            "persistentVolume: {size: 1Gi}"
        ),
    ),
    (
        "more than one pod (replicas, autoscaling.maxReplicas) cannot share the volume",
        weaviate!("replicas: 1", "persistentVolumeClaim: c"),
        weaviate!(
            "autoscaling: {maxReplicas: 3}, sessions: {store: postgres}, feedback: {store: postgres}",
            "persistentVolumeClaim: c"
        ),
    ),
    (
        "more than one pod (replicas, autoscaling.maxReplicas) cannot share the volume",
        "{storage: {vectorDB: {engine: qdrant, url: 'http://q'}, persistentVolume: {size: 1Gi}}, postgres: {url: 'postgres://db'}}",
        "{replicas: 2, storage: {vectorDB: {engine: qdrant, url: 'http://q'}, persistentVolume: {size: 1Gi}}, postgres: {url: 'postgres://db'}, sessions: {store: postgres}, feedback: {store: postgres}}",
    ),
    (
        "autoscaling.minReplicas must not be more than",
        weaviate!(
            "autoscaling: {minReplicas: 2, maxReplicas: 2, targetCPUUtilizationPercentage: 60}, sessions: {store: postgres}, feedback: {store: postgres}"
        ),
        weaviate!(
            "autoscaling: {minReplicas: 3, maxReplicas: 2}, sessions: {store: postgres}, feedback: {store: postgres}"
        ),
    ),
    (
        "autoscaling.minReplicas must not be more than",
        "autoscaling: {maxReplicas: 1}",
        "autoscaling: {minReplicas: 2, maxReplicas: 1}",
    ),
];
