use ragengine_faiss::Kind;
use ragengine_settings::VectorIndexKind;
use uuid::Uuid;

use super::{Manifest, SnapshotError};
use crate::vectors::is_built;

/// The properties that a snapshot must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The id of the store.
    pub store: Uuid,
    /// The kind of vector index that was requested.
    pub kind: VectorIndexKind,
    /// The number of values in a vector.
    pub dimensions: usize,
}

impl Identity {
    /// Checks a manifest and returns the kind of the snapshot's vectors.
    ///
    /// # Errors
    ///
    /// [`SnapshotError::Foreign`] if the snapshot belongs to something else.
    pub(super) fn kind_of(self, manifest: &Manifest, next_row: u64) -> Result<Kind, SnapshotError> {
        let foreign = |what: String| Err(SnapshotError::Foreign(what));
        if manifest.store != self.store {
            return foreign("another store".to_owned());
        }
        let kind = manifest.kind.parse().ok().filter(|kind| is_built(self.kind, *kind));
        match kind.filter(|_| manifest.dimensions == self.dimensions as u64) {
            None => foreign(format!("{} with {} dimensions", manifest.kind, manifest.dimensions)),
            Some(_) if manifest.rows.max() >= Some(next_row) => foreign("a later state of the store".to_owned()),
            Some(kind) => Ok(kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity { store: Uuid::from_u128(7), kind: VectorIndexKind::Hnsw { m: 16 }, dimensions: 384 }
    }

    fn manifest(kind: &str) -> Manifest {
        Manifest { store: identity().store, kind: kind.into(), dimensions: 384, rows: [1, 5].into_iter().collect() }
    }

    #[test]
    fn a_snapshot_of_another_store_kind_width_or_later_state_is_rejected() {
        let auto = Identity { kind: VectorIndexKind::Auto, ..identity() };
        for wanted in [identity(), auto] {
            assert_eq!(wanted.kind_of(&manifest("HNSW16"), 6).unwrap(), Kind::Hnsw { m: 16 });
        }
        for (wanted, next_row, kind, words) in [
            (Identity { store: Uuid::from_u128(8), ..identity() }, 6, "HNSW16", "another store"),
            (
                Identity { kind: VectorIndexKind::Hnsw { m: 32 }, ..identity() },
                6,
                "HNSW16",
                "HNSW16 with 384 dimensions",
            ),
            (Identity { dimensions: 2, ..identity() }, 6, "HNSW16", "HNSW16 with 384 dimensions"),
            (auto, 6, "PQ8", "PQ8 with 384 dimensions"),
            (identity(), 5, "HNSW16", "a later state of the store"),
        ] {
            let refused = wanted.kind_of(&manifest(kind), next_row).unwrap_err();
            assert_eq!(refused.to_string(), format!("it belongs to {words}"));
        }
    }
}
