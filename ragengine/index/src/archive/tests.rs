use proptest::prelude::*;

use super::entry::Entry;
use super::*;
use crate::record::{ChunkRecord, DocumentRecord, IndexRecord};

/// An index with vectors of two values. Each document has the given number of chunks.
pub fn rows(chunks: &[u32]) -> (IndexHeader, Vec<Row>) {
    let (mut rows, mut next_row) = (Vec::new(), 10);
    for (number, chunks) in (5..).zip(chunks) {
        let text = format!("text of {number}");
        let record = DocumentRecord {
            doc_id: format!("d{number}"),
            metadata: r#"{"team":"people"}"#.to_owned(),
            source: (number % 2 == 0).then(|| "s".to_owned()),
            content_hash: format!("h{number}"),
            first_row: next_row,
            chunks: *chunks,
            text_bytes: text.len() as u64,
        };
        let revision = (number % 2 == 1).then(|| format!("r{number}"));
        rows.push(Row::Document { number, record, text, revision });
        for ordinal in 0..*chunks {
            let hash = [u8::try_from(number + u64::from(ordinal)).unwrap(); 32];
            let record =
                ChunkRecord { document: number, ordinal, heading: None, text: format!("{number}.{ordinal}"), hash };
            rows.push(Row::Chunk { record, vector: vec![0.6, 0.8], page: (ordinal % 2 == 1).then_some(ordinal) });
        }
        // Rows of deleted documents are never reused.
        next_row += u64::from(*chunks) + 3;
    }
    let json = r#"{"sync_id":"1","phase":"complete","started_at":"t"}"#;
    let sync: ragengine_client::wire::SourceSync = serde_json::from_str(json).unwrap();
    rows.push(Row::Sync { source: "s".to_owned(), json: serde_json::to_string(&sync).unwrap() });
    let header = IndexHeader {
        record: IndexRecord::of_two_dimensions(),
        documents: chunks.len() as u64,
        chunks: chunks.iter().map(|chunks| u64::from(*chunks)).sum(),
        next_document: 50,
        next_row: 5_000_000,
        embedding: None,
    };
    (header, rows)
}

pub fn archive(indexes: &[(&str, IndexHeader, Vec<Row>)]) -> Vec<u8> {
    let names = indexes.iter().map(|(name, ..)| (*name).to_owned()).collect();
    let manifest = Manifest { created_at: "2026-01-02T03:04:05Z".to_owned(), ..Manifest::new("data", names) };
    let mut archive = ArchiveWriter::begin(Vec::new(), &manifest).unwrap();
    for (name, header, rows) in indexes {
        archive.index(name, header).unwrap();
        rows.iter().for_each(|row| archive.row(row).unwrap());
    }
    archive.end().unwrap()
}

fn index(name: &'static str, chunks: &[u32]) -> (&'static str, IndexHeader, Vec<Row>) {
    let (header, rows) = rows(chunks);
    (name, header, rows)
}

fn sample() -> Vec<u8> {
    archive(&[index("a", &[2, 0, 3]), index("empty", &[]), index("b.2_c-d", &[1])])
}

/// All pieces of an archive, if it is complete.
fn pieces(bytes: &[u8]) -> Result<Vec<Piece>, ArchiveError> {
    let mut pieces = Vec::new();
    read(bytes, MAX_BLOCK_BYTES, |piece| {
        pieces.push(piece);
        Ok::<(), ArchiveError>(())
    })?;
    Ok(pieces)
}

fn kind(bytes: &[u8]) -> &'static str {
    pieces(bytes).err().map_or("ok", |error| error.kind())
}

#[test]
fn a_written_archive_is_read() {
    let pieces = pieces(&sample()).unwrap();
    let names = |piece: &Piece| match piece {
        Piece::Manifest(manifest) => format!("{:?}", manifest.indexes),
        Piece::Index(name, header) => format!("{name}: {}, {}", header.documents, header.chunks),
        Piece::Rows(rows) => format!("{} rows", rows.len()),
    };
    let seen: Vec<String> = pieces.iter().map(names).collect();
    let manifest = r#"["a", "empty", "b.2_c-d"]"#;
    assert_eq!(seen, [manifest, "a: 3, 5", "9 rows", "empty: 0, 0", "1 rows", "b.2_c-d: 1, 1", "3 rows"]);
    assert!(matches!(&pieces[2], Piece::Rows(read) if *read == rows(&[2, 0, 3]).1));
}

#[test]
fn a_long_index_is_split_into_blocks_and_a_long_row_has_one_block() {
    let (mut header, mut rows) = rows(&[40]);
    (header.record.dimensions, header.documents) = (100_000, 1);
    for row in &mut rows {
        if let Row::Chunk { vector, .. } = row {
            *vector = vec![0.5; 100_000];
        }
    }
    let bytes = archive(&[("a", header.clone(), rows.clone())]);
    // Wider than any model's vectors. The archive is rejected for that, so the rest is checked with a narrower one.
    assert_eq!(kind(&bytes), "archive_damaged");
    for row in &mut rows {
        if let Row::Chunk { vector, .. } = row {
            vector.truncate(50_000);
        }
    }
    header.record.dimensions = 50_000;
    let mut blocks = Vec::new();
    let bytes = archive(&[("a", header, rows.clone())]);
    for piece in pieces(&bytes).unwrap() {
        if let Piece::Rows(rows) = piece {
            blocks.push(rows);
        }
    }
    assert_eq!((blocks.len(), blocks.concat() == rows), (8, true));
    let limited = read(bytes.as_slice(), 500_000, |_| Ok::<(), ArchiveError>(()));
    assert!(matches!(limited, Err(ArchiveError::Damaged(reason)) if reason.contains("indexes/a/00000001")));
}

#[test]
fn rows_are_passed_on_in_small_batches_however_short_they_are() {
    let (mut header, rows) = rows(&[0; 20_000]);
    header.next_document = 30_000;
    let mut read = Vec::new();
    for piece in pieces(&archive(&[("a", header, rows.clone())])).unwrap() {
        if let Piece::Rows(rows) = piece {
            let bytes: u64 = rows.iter().map(Row::bytes).sum();
            assert!(bytes < 2 << 20, "{bytes} bytes in {} rows", rows.len());
            read.extend(rows);
        }
    }
    assert!(read == rows);
}

/// Archives of earlier versions stay readable. If this fails, the layout has changed, and FORMAT must change, too.
#[test]
fn an_archive_of_this_format_is_always_read() {
    let kept = include_bytes!("fixtures/format-1.tar");
    assert_eq!(pieces(kept).unwrap()[1..], pieces(&sample()).unwrap()[1..]);
}

#[test]
fn every_missing_part_is_noticed() {
    let whole = sample();
    let last = whole.iter().rposition(|byte| *byte != 0).unwrap();
    for length in 0..=last {
        let found = kind(&whole[..length]);
        let expected = if length < 1024 { "archive_foreign" } else { "archive_broken_off" };
        assert!(found == expected || (length < 2048 && found == "archive_broken_off"), "{length}: {found}");
    }
    assert_eq!(kind(&whole), "ok");
}

/// Flipping a bit of padding has no effect.
#[test]
fn every_flipped_bit_is_noticed() {
    let whole = sample();
    let written = pieces(&whole).unwrap();
    for place in 0..whole.len() {
        let mut changed = whole.clone();
        changed[place] ^= 0x10;
        if let Ok(read) = pieces(&changed) {
            assert_eq!(read, written, "byte {place}");
        }
    }
}

#[test]
fn foreign_newer_and_overlong_archives_are_rejected() {
    let whole = sample();
    let twice = [whole.clone(), whole.clone()].concat();
    let tar_of = |name: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        let mut tar = tar::Builder::new(Vec::new());
        tar.append_data(&mut header, name, bytes).unwrap();
        tar.into_inner().unwrap()
    };
    let long = tar_of(&"x".repeat(200), b"");
    for (bytes, expected) in [
        (Vec::new(), "archive_foreign"),
        (b"hello".to_vec(), "archive_foreign"),
        (vec![0; 10_240], "archive_foreign"),
        (b"<html>".repeat(1000), "archive_foreign"),
        (tar_of("notes.txt", b"hello"), "archive_foreign"),
        (tar_of("ragengine.json", b"hello"), "archive_foreign"),
        (tar_of("ragengine.json", br#"{"format": 9, "anything": []}"#), "archive_newer"),
        (tar_of("ragengine.json", br#"{"format": 1}"#), "archive_damaged"),
        (long, "archive_foreign"),
        (twice, "archive_damaged"),
    ] {
        assert_eq!(kind(&bytes), expected, "{}", String::from_utf8_lossy(&bytes[..bytes.len().min(40)]));
    }
}

#[test]
fn names_of_entries_are_parsed_strictly() {
    for entry in [Entry::Manifest, Entry::End, Entry::Header("a".into()), Entry::Block("a-b.c".into(), 12)] {
        assert_eq!(Entry::parse(entry.name().as_bytes()), Some(entry));
    }
    for name in [
        "",
        "/",
        "end.json/",
        "./end.json",
        "indexes",
        "indexes/",
        "indexes//index.json",
        "indexes/../index.json",
        "indexes/a/../index.json",
        "indexes/a/",
        "indexes/a/1",
        "indexes/a/+0000001",
        "indexes/a/00000001/",
        "/indexes/a/00000001",
        "indexes/a\0/index.json",
        "indexes/ä/index.json",
        "indexes/%2e%2e/index.json",
        "indexes/a/000000001",
    ] {
        assert_eq!(Entry::parse(name.as_bytes()), None, "{name:?}");
    }
    assert_eq!(Entry::parse(b"indexes/\xff/index.json"), None);
}

/// Inconsistent rows with a correct checksum.
#[test]
fn inconsistent_rows_are_rejected() {
    type Tampering = fn(&mut IndexHeader, &mut Vec<Row>);
    fn document(rows: &mut [Row], place: usize) -> (&mut u64, &mut DocumentRecord) {
        match &mut rows[place] {
            Row::Document { number, record, .. } => (number, record),
            row => panic!("{row:?}"),
        }
    }
    fn chunk(rows: &mut [Row], place: usize) -> (&mut ChunkRecord, &mut Vec<f32>) {
        match &mut rows[place] {
            Row::Chunk { record, vector, .. } => (record, vector),
            row => panic!("{row:?}"),
        }
    }
    // The rows: document 5, its chunks 0 and 1, document 6, its chunk 0, the record of a source.
    let cases: [(&str, Tampering); 25] = [
        ("", |_, _| {}),
        ("number of documents", |header, _| header.documents += 1),
        ("number of documents", |header, _| header.chunks -= 1),
        ("invalid vector width", |header, _| header.record.dimensions = 0),
        ("", |header, _| header.next_row = 1 << 48),
        ("more numbers than were ever used", |header, _| header.next_row = (1 << 48) + 1),
        ("more numbers than were ever used", |header, _| header.next_document = u64::MAX),
        ("more numbers than were ever used", |header, rows| {
            (*header, *rows) = self::rows(&[]);
            header.next_row = u64::MAX;
        }),
        ("a document is out of place", |header, _| header.next_document = 6),
        ("a document is out of place", |header, _| header.next_row = 10),
        ("a document is out of place", |_, rows| *document(rows, 3).0 = 5),
        ("a document is out of place", |_, rows| document(rows, 3).1.first_row = u64::MAX - 1),
        ("a document has no rows", |_, rows| document(rows, 3).1.first_row = u64::MAX),
        ("have the same rows", |_, rows| document(rows, 3).1.first_row = 11),
        ("length of a document's text", |_, rows| document(rows, 3).1.text_bytes += 1),
        ("the metadata of document 'd6': must be", |_, rows| document(rows, 3).1.metadata = "[]".into()),
        ("the metadata of document 'd6': has more than 10000 values", |_, rows| {
            document(rows, 3).1.metadata = format!(r#"{{"x":[{}]}}"#, vec!["10"; 10_000].join(","));
        }),
        ("the metadata of document 'd6': recursion limit", |_, rows| {
            document(rows, 3).1.metadata = format!(r#"{{"x":{}{}}}"#, "[".repeat(500), "]".repeat(500));
        }),
        ("chunks of a document are missing", |_, rows| drop(rows.remove(2))),
        ("a chunk is out of place", |_, rows| drop(rows.remove(0))),
        ("a chunk is out of place", |_, rows| rows.swap(1, 2)),
        ("a chunk is out of place", |_, rows| chunk(rows, 1).0.document = 6),
        ("a vector has the wrong width", |_, rows| chunk(rows, 1).1.push(0.0)),
        ("a vector has the wrong width", |_, rows| chunk(rows, 1).1[0] = f32::NAN),
        ("the record of a source", |_, rows| rows[5] = Row::Sync { source: "s".into(), json: "{}".into() }),
    ];
    for (words, change) in cases {
        let (mut header, mut rows) = rows(&[2, 1]);
        change(&mut header, &mut rows);
        let said = pieces(&archive(&[("a", header, rows)])).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(said.contains(words) && words.is_empty() == said.is_empty(), "{words}: {said}");
    }
}

#[test]
fn a_failing_source_is_not_reported_as_a_damaged_archive() {
    struct Failing<'a>(&'a [u8]);
    impl std::io::Read for Failing<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "nothing came")),
                read => Ok(read),
            }
        }
    }
    let whole = sample();
    for length in [0, 100, 600, 3000, whole.len() - 5000] {
        let error = read(Failing(&whole[..length]), MAX_BLOCK_BYTES, |_| Ok::<(), ArchiveError>(())).unwrap_err();
        assert!(
            matches!(&error, ArchiveError::Read(error) if error.to_string() == "nothing came"),
            "{length}: {error}"
        );
    }
}

proptest! {
    #[test]
    fn any_bytes_are_an_archive_or_an_error(bytes: Vec<u8>, place in 0_usize..12_000, whole: bool) {
        let mut archive = if whole { sample() } else { Vec::new() };
        let place = place.min(archive.len());
        archive.splice(place..(place + bytes.len()).min(archive.len()), bytes);
        drop(pieces(&archive));
    }
}

/// Invalid settings are skipped without being built in memory, however long they are.
#[test]
fn invalid_embedding_settings_are_skipped() {
    let header = serde_json::to_string(&rows(&[1]).0).unwrap();
    let long = serde_json::json!({"remote": {"url": "http://e/".repeat(10_000), "model": "m"}});
    for said in [
        format!("[{}]", vec!["0"; 1 << 20].join(",")),
        format!("{}{}", "[".repeat(10_000), "]".repeat(10_000)),
        "1e999".to_owned(),
        long.to_string(),
    ] {
        let header = format!(r#"{},"embedding":{said}}}"#, header.strip_suffix('}').unwrap());
        assert_eq!(serde_json::from_str::<IndexHeader>(&header).unwrap().embedding, None);
    }
}

#[test]
fn a_manifest_has_a_bounded_number_of_indexes() {
    let manifest = |count: usize| {
        let names = (0..count).map(|number| format!("i{number}")).collect();
        serde_json::from_str::<Manifest>(&serde_json::to_string(&Manifest::new("data", names)).unwrap())
    };
    assert_eq!(manifest(100_000).unwrap().indexes.len(), 100_000);
    assert!(manifest(100_001).unwrap_err().to_string().contains("more than 100000 items"));
}

#[test]
fn unknown_fields_in_the_embedding_settings_are_skipped() {
    let embedding = Some(ragengine_settings::Embedding::default().source());
    let header = IndexHeader { embedding, ..rows(&[1]).0 };
    let mut json = serde_json::to_value(&header).unwrap();
    for (said, expected) in [
        (Some(serde_json::json!({"remote": {"url": "http://e", "model": "m", "newer": 1}})), None),
        (Some(serde_json::json!("words")), None),
        (None, None),
        (Some(serde_json::to_value(&header.embedding).unwrap()), header.embedding.clone()),
    ] {
        match said {
            Some(said) => json["embedding"] = said,
            None => drop(json.as_object_mut().unwrap().remove("embedding")),
        }
        let read: IndexHeader = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(read, IndexHeader { embedding: expected, ..header.clone() });
    }
}
