//! The kind of FAISS index that a rebuild makes.

use ragengine_faiss::Kind;
use ragengine_settings::VectorIndexKind;

/// From this many rows on, `auto` keeps one byte per value instead of four. A graph over whole vectors would need
/// gigabytes.
const COMPRESSED_FROM_ROWS: usize = 500_000;

/// The neighbours of a row in graphs that `auto` makes.
const AUTO_M: u16 = 32;

/// The kind for a number of rows: flat if there are few, or too few to train the requested kind.
pub fn kind_for(wanted: VectorIndexKind, rows: usize, exact_below_rows: usize) -> Kind {
    let kind = match wanted {
        VectorIndexKind::Flat => Kind::Flat,
        VectorIndexKind::Sq8 => Kind::Sq8,
        VectorIndexKind::Hnsw { m } => Kind::Hnsw { m },
        VectorIndexKind::HnswSq8 { m } => Kind::HnswSq8 { m },
        VectorIndexKind::Ivf { lists } => Kind::Ivf { lists },
        VectorIndexKind::Auto if rows < COMPRESSED_FROM_ROWS => Kind::Hnsw { m: AUTO_M },
        VectorIndexKind::Auto => Kind::HnswSq8 { m: AUTO_M },
    };
    if rows >= exact_below_rows.max(kind.min_training_rows()).max(1) { kind } else { Kind::Flat }
}

/// Whether rows of this kind satisfy the requested kind. A choice that `auto` made for fewer rows is kept until a
/// rebuild is due for another reason.
pub fn is_built(wanted: VectorIndexKind, kind: Kind) -> bool {
    match wanted {
        VectorIndexKind::Auto => kind != Kind::Flat,
        named => kind.to_string() == named.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> VectorIndexKind {
        text.parse().unwrap()
    }

    #[test]
    fn a_kind_is_spelled_as_faiss_spells_it() {
        for name in ["Flat", "SQ8", "HNSW4", "HNSW32", "HNSW64_SQ8", "IVF4,Flat", "IVF16384,Flat"] {
            let made = kind_for(kind(name), usize::MAX, 0);
            assert_eq!(made.to_string(), name);
            assert!(is_built(kind(name), made), "{name}");
        }
    }

    #[test]
    fn each_number_of_rows_has_its_kind() {
        // The requested kind, the number of rows, the resulting kind.
        let table = [
            ("HNSW16", 0, "Flat"),
            ("HNSW16", 9_999, "Flat"),
            ("HNSW16", 10_000, "HNSW16"),
            ("HNSW16", 5_000_000, "HNSW16"),
            // 39 rows for each list.
            ("IVF1024,Flat", 39_935, "Flat"),
            ("IVF1024,Flat", 39_936, "IVF1024,Flat"),
            ("IVF4,Flat", 9_999, "Flat"),
            ("auto", 9_999, "Flat"),
            ("auto", 10_000, "HNSW32"),
            ("auto", 499_999, "HNSW32"),
            ("auto", 500_000, "HNSW32_SQ8"),
        ];
        for (wanted, rows, expected) in table {
            assert_eq!(kind_for(kind(wanted), rows, 10_000).to_string(), expected, "{wanted}, {rows} rows");
        }
        assert_eq!(kind_for(kind("HNSW32"), 0, 0), Kind::Flat, "a graph of nothing");
    }

    #[test]
    fn an_earlier_choice_of_auto_is_kept() {
        let auto = VectorIndexKind::Auto;
        assert!(!is_built(auto, Kind::Flat) && is_built(auto, Kind::Hnsw { m: 32 }) && is_built(auto, Kind::Sq8));
        assert!(!is_built(kind("HNSW32"), Kind::Hnsw { m: 16 }) && !is_built(kind("HNSW32"), Kind::Flat));
        assert!(is_built(kind("Flat"), Kind::Flat));
    }
}
