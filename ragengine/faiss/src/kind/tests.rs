use super::*;

#[test]
fn each_kind_has_one_spelling_and_its_properties() {
    // kind, spelling, exact, exact vectors, training
    let table = [
        (Kind::Flat, "Flat", true, true, false),
        (Kind::Hnsw { m: 4 }, "HNSW4", false, true, false),
        (Kind::Hnsw { m: 32 }, "HNSW32", false, true, false),
        (Kind::HnswSq8 { m: 32 }, "HNSW32_SQ8", false, false, true),
        (Kind::HnswSq8 { m: 64 }, "HNSW64_SQ8", false, false, true),
        (Kind::Sq8, "SQ8", false, false, true),
        (Kind::Ivf { lists: 4 }, "IVF4,Flat", false, true, true),
        (Kind::Ivf { lists: 16_384 }, "IVF16384,Flat", false, true, true),
    ];
    for (kind, spelling, exact, exact_vectors, training) in table {
        assert_eq!(kind.to_string(), spelling);
        assert_eq!(spelling.parse(), Ok(kind));
        assert_eq!(kind.is_exact(), exact, "{spelling}");
        assert_eq!(kind.stores_exact_vectors(), exact_vectors, "{spelling}");
        assert_eq!(kind.needs_training(), training, "{spelling}");
    }
}

#[test]
fn other_texts_are_refused_with_a_list_of_the_kinds() {
    let table = [
        "",
        "flat",
        "FLAT",
        " Flat",
        "HNSW",
        "HNSW3",
        "HNSW65",
        "HNSW032",
        "HNSW+32",
        "HNSW-4",
        "HNSW99999",
        "HNSW32_SQ4",
        "HNSW32,Flat",
        "HNSW_SQ8",
        "HNSW3_SQ8",
        "SQ4",
        "IVF3,Flat",
        "IVF16385,Flat",
        "IVF064,Flat",
        "IVF64",
        "IVF,Flat",
        "IVF64,PQ8",
        "IVF64_HNSW32,Flat",
        "PQ8",
    ];
    for text in table {
        let error = text.parse::<Kind>().unwrap_err();
        assert_eq!(error.given, text);
        assert!(
            error.to_string().contains("or SQ8, with M from 4 to 64, or IVF<N>,Flat, with N from 4 to 16384"),
            "{error}"
        );
    }
}
