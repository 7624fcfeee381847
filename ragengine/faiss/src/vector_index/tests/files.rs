use std::fs;

use faiss::index::io::write_index;

use super::*;
use crate::seal;

fn written(index: &VectorIndex) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors.faiss");
    index.write(&path).unwrap();
    (folder, path)
}

fn read_reason(path: &Path, kind: Kind) -> String {
    match VectorIndex::read(path, kind, DIMENSIONS) {
        Err(Error::File { reason, .. }) => reason,
        other => panic!("not refused as a file: {other:?}"),
    }
}

#[test]
fn a_written_index_can_be_read_and_extended() {
    for kind in KINDS {
        for count in [0, 1, 300, 2_000] {
            let mut index = VectorIndex::new(kind, DIMENSIONS).unwrap();
            if count > 0 {
                index = index_of(kind, count);
            }
            let (_folder, path) = written(&index);
            let mut read = VectorIndex::read(&path, kind, DIMENSIONS).unwrap();
            assert_eq!((read.len(), read.kind(), read.dimensions()), (count, kind, DIMENSIONS));
            for query in queries(10) {
                assert_eq!(search(&read, &query, 10, None), search(&index, &query, 10, None), "{kind}, {count} rows");
            }
            let more = clustered(250, DIMENSIONS, 99);
            if count == 0 {
                read.train(&more).unwrap();
            }
            read.add(&more).unwrap();
            assert_eq!(read.len(), count + 250);
            // A quantizer trained with one row gives all rows the same code.
            if count != 1 || kind.stores_exact_vectors() {
                let last = read.reconstruct(count + 249).unwrap();
                assert_eq!(search(&read, &last, 1, None)[0].position, count + 249, "{kind}, {count} rows");
            }
        }
    }
}

#[test]
fn an_older_file_is_replaced() {
    let (_folder, path) = written(&index_of(Kind::Flat, 1_000));
    index_of(Kind::Sq8, 10).write(&path).unwrap();
    assert_eq!(VectorIndex::read(&path, Kind::Sq8, DIMENSIONS).unwrap().len(), 10);
}

#[test]
fn a_cut_or_changed_file_is_refused() {
    for kind in KINDS {
        let (_folder, path) = written(&index_of(kind, 300));
        let whole = fs::read(&path).unwrap();
        let length = whole.len();
        for cut in [0, 1, 47, 48, 49, length / 2, length - 49, length - 48, length - 1] {
            fs::write(&path, &whole[..cut]).unwrap();
            let reason = read_reason(&path, kind);
            assert!(
                reason == "it is too short" || reason.starts_with("it is truncated"),
                "{kind}, {cut} bytes: {reason}"
            );
        }
        // Change a byte in the header, which contains sizes, in the middle, and in the seal.
        for place in (0..60).chain([length / 2, length - 49]).chain(length - 48..length) {
            let mut changed = whole.clone();
            changed[place] ^= 0x40;
            fs::write(&path, changed).unwrap();
            let reason = read_reason(&path, kind);
            assert!(
                reason == "its checksum is wrong" || reason.starts_with("it is truncated"),
                "{kind}, byte {place}: {reason}"
            );
        }
    }
}

#[test]
fn a_file_that_is_not_an_index_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors.faiss");
    let missing = VectorIndex::read(&path, Kind::Flat, DIMENSIONS).unwrap_err();
    assert!(matches!(&missing, Error::Io { .. }) && missing.to_string().contains("vectors.faiss"), "{missing}");
    fs::write(&path, "A text that is longer than the seal, but is nevertheless not an index at all.").unwrap();
    assert!(read_reason(&path, Kind::Flat).contains("was not written by this program"));
    // A file written by FAISS, without the seal.
    write_index(&index_of(Kind::Flat, 10).index, path.to_str().unwrap()).unwrap();
    assert!(read_reason(&path, Kind::Flat).contains("was not written by this program"));
}

#[test]
fn another_kind_or_size_is_refused() {
    for kind in KINDS {
        let (_folder, path) = written(&index_of(kind, 20));
        for other in KINDS.into_iter().chain([Kind::Hnsw { m: 31 }]).filter(|&other| other != kind) {
            let error = VectorIndex::read(&path, other, DIMENSIONS).unwrap_err();
            assert!(
                error.to_string().contains(&format!("contains {kind} of 32 dimensions, not {other} of 32: build")),
                "{error}"
            );
        }
        let error = VectorIndex::read(&path, kind, 31).unwrap_err();
        assert!(matches!(error, Error::OtherIndex { found_dimensions: 32, dimensions: 31, .. }), "{error}");
    }
}

#[test]
fn unsupported_faiss_indexes_are_refused_even_with_a_seal() {
    let rows = clustered(300, DIMENSIONS, 1);
    // description, metric
    for (description, metric) in [
        ("SQ4", MetricType::L2),
        ("IVF4,FlatDedup", MetricType::L2),
        ("IVF4,SQ8", MetricType::L2),
        ("IVF4_HNSW8,Flat", MetricType::L2),
        ("IVF4,Flat", MetricType::InnerProduct),
        ("IDMap,Flat", MetricType::L2),
        ("LSH", MetricType::L2),
        ("HNSW8_PQ4np", MetricType::L2),
        ("Flat", MetricType::InnerProduct),
        ("HNSW8", MetricType::InnerProduct),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors.faiss");
        let mut other = index_factory(DIMENSIONS as u32, description, metric).unwrap();
        other.train(&rows).unwrap();
        write_index(&other, path.to_str().unwrap()).unwrap();
        seal::seal(&path, fs::metadata(&path).unwrap().len()).unwrap();
        let reason = read_reason(&path, Kind::Flat);
        let expected = ["not one of Flat", "the metric is not", "its quantizer does not fit", "its lists are damaged"];
        assert!(expected.iter().any(|part| reason.contains(part)), "{description}: {reason}");
    }
}

/// A link beyond the graph would access memory outside it.
#[test]
fn a_graph_with_invalid_links_is_refused_even_with_a_seal() {
    let index = index_of(Kind::Hnsw { m: 4 }, 300);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors.faiss");
    write_index(&index.index, path.to_str().unwrap()).unwrap();
    let whole = fs::read(&path).unwrap();
    // The vectors come last: a header of 45 bytes and the data. Before them is the graph, which ends with 5 numbers.
    let graph_end = whole.len() - 300 * DIMENSIONS * 4 - 45;
    let mut refused = 0;
    let places: Vec<usize> = (0..graph_end / 4).map(|word| graph_end - 4 * (word + 1)).take(1_500).collect();
    for &place in &places {
        let mut wild = whole.clone();
        wild[place..place + 4].copy_from_slice(&1_000_000_i32.to_le_bytes());
        fs::write(&path, wild).unwrap();
        seal::seal(&path, whole.len() as u64).unwrap();
        match VectorIndex::read(&path, Kind::Hnsw { m: 4 }, DIMENSIONS) {
            Err(Error::File { .. }) => refused += 1,
            Err(other) => panic!("{other}"),
            // A number that searches do not use as an offset (efConstruction, the end of a list …).
            Ok(read) => assert_eq!(search(&read, &queries(1)[0], 300, None).len(), 300),
        }
    }
    println!("{refused} of {} refused", places.len());
    assert!(refused * 5 > places.len() * 4, "only {refused} of {} invalid numbers were refused", places.len());
}

/// A row beyond the index would be returned to the caller, and a duplicate row would be found twice.
#[test]
fn lists_with_invalid_rows_are_refused_even_with_a_seal() {
    let kind = Kind::Ivf { lists: 4 };
    let index = index_of(kind, 300);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors.faiss");
    write_index(&index.index, path.to_str().unwrap()).unwrap();
    let whole = fs::read(&path).unwrap();
    // The rows of the last list are at the end.
    for wild in [-1_i64, 300, i64::MAX, 0, 1, 2] {
        let mut changed = whole.clone();
        let place = changed.len() - 8;
        let last = i64::from_le_bytes(changed[place..].try_into().unwrap());
        assert!((3..300).contains(&last), "{last}");
        changed[place..].copy_from_slice(&wild.to_le_bytes());
        fs::write(&path, changed).unwrap();
        seal::seal(&path, whole.len() as u64).unwrap();
        assert!(read_reason(&path, kind).contains("its lists are damaged"), "{wild}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    // For a small file, the error occurs when FAISS closes it, and FAISS does not report it.
    let small = index_of(Kind::Flat, 1).write(Path::new("/dev/full")).unwrap_err();
    assert!(small.to_string().contains("only 0 of") && small.to_string().contains("is the disk full?"), "{small}");
    let large = index_of(GRAPH, 2_000).write(Path::new("/dev/full")).unwrap_err();
    assert!(matches!(large, Error::Faiss(_)), "{large}");
    let nowhere = index_of(Kind::Flat, 1).write(Path::new("/nowhere/at/all")).unwrap_err();
    assert!(nowhere.to_string().contains("/nowhere/at/all"), "{nowhere}");
}
