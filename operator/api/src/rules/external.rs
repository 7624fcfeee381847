//! Rules of engines whose indexes are in Weaviate or Qdrant.

use kube::core::Rule;

use super::POSTGRES;

/// The CEL condition for them.
pub(crate) const IS_EXTERNAL: &str = "(has(self.storage) && has(self.storage.vectorDB) && \
                                      has(self.storage.vectorDB.engine) && \
                                      self.storage.vectorDB.engine in ['weaviate','qdrant'])";

/// The list of indexes is in PostgreSQL.
pub(crate) fn needs_postgres() -> Rule {
    let message = format!(
        "postgres.url is needed with storage.vectorDB.engine: weaviate or qdrant, because the list of indexes is in \
         PostgreSQL: write the address of a database there, such as {}, or engine: faiss",
        POSTGRES.1
    );
    Rule::new(format!("!{IS_EXTERNAL} || (has(self.postgres) && has(self.postgres.url))")).message(message.as_str())
}

/// The server copies only what is on its own volume.
pub(crate) fn has_no(section: &str, does: &str) -> Rule {
    let message = format!(
        "{section} is not possible with storage.vectorDB.engine: weaviate or qdrant, because the indexes are in that \
         database and in PostgreSQL: remove it, and {does} with the backups of both databases themselves"
    );
    Rule::new(format!("!{IS_EXTERNAL} || !has(self.{section})")).message(message.as_str())
}

/// The claim that the operator made stays, because it may have indexes. Indexes in Weaviate or Qdrant do not need it.
pub(crate) fn keeps_its_claim() -> Rule {
    Rule::new(format!(
        "!(has(oldSelf.storage) && has(oldSelf.storage.persistentVolume) && \
         has(oldSelf.storage.persistentVolume.size)) || \
         (has(self.storage) && has(self.storage.persistentVolume) && has(self.storage.persistentVolume.size)) || \
         {IS_EXTERNAL}"
    ))
    .message(
        "storage.persistentVolume.size cannot be removed, because the indexes are on that volume: keep it, or create \
         another RAGEngine that names the claim in storage.persistentVolume.persistentVolumeClaim",
    )
}
