//! Rules of engines that can have several pods. What their servers keep must be where all of them find it.

use kube::core::Rule;

use super::external::IS_EXTERNAL;

/// The CEL condition for one pod at most.
const IS_ONE: &str = "(self.replicas <= 1 && (!has(self.autoscaling) || self.autoscaling.maxReplicas <= 1))";

fn several_need(condition: &str, message: &str) -> Rule {
    let message = format!("more than one pod (replicas, autoscaling.maxReplicas) {message}");
    Rule::new(format!("{IS_ONE} || {condition}")).message(message.as_str())
}

/// FAISS keeps the indexes on a volume of one pod.
pub(crate) fn external() -> Rule {
    several_need(
        IS_EXTERNAL,
        "needs storage.vectorDB.engine: weaviate or qdrant, because other indexes are on a volume of one pod: write \
         one of these with its url, or replicas: 1 and several RAGEngines to share the load",
    )
}

/// Conversations in the memory of a server are unknown to the others.
pub(crate) fn sessions() -> Rule {
    several_need(
        "(has(self.sessions) && has(self.sessions.store) && self.sessions.store != 'memory')",
        "needs sessions.store, because the next question of a conversation can reach another pod: write store: redis \
         or store: postgres, or replicas: 1",
    )
}

/// Votes are kept in a file by default.
pub(crate) fn feedback() -> Rule {
    several_need(
        "(has(self.feedback) && ((has(self.feedback.enabled) && !self.feedback.enabled) || \
         (has(self.feedback.store) && self.feedback.store == 'postgres')))",
        "needs feedback.store: postgres, because votes are in a file of one pod by default: write it, or feedback: \
         {enabled: false}, or replicas: 1",
    )
}

/// Interactions are kept in a file by default, if at all.
pub(crate) fn interactions() -> Rule {
    several_need(
        "!has(self.interactions) || !has(self.interactions.enabled) || !self.interactions.enabled || \
         (has(self.interactions.store) && self.interactions.store == 'postgres')",
        "needs interactions.store: postgres, because interactions are in a file of one pod by default: write it, or \
         interactions: {enabled: false}, or replicas: 1",
    )
}

/// A volume can be mounted by the pods of one node only.
pub(crate) fn no_volume() -> Rule {
    several_need(
        "!has(self.storage) || (!has(self.storage.persistentVolume) && !has(self.storage.persistentVolumeClaim))",
        "cannot share the volume of storage.persistentVolume or storage.persistentVolumeClaim: remove it, because the \
         indexes are in Weaviate or Qdrant, or write replicas: 1",
    )
}
