use ragengine_client::wire::SourceDocument;
use ragengine_sources::Extent;
use serde_json::Map;

use super::*;
use crate::identity::SourceName;
use crate::revision::Position;

fn fingerprint() -> ReaderFingerprint {
    ReaderFingerprint::of(&Map::new())
}

/// The revision of a file with its own content.
fn revision(number: usize) -> String {
    format!("sha256:{number:064}")
}

/// Files `0`, `1`, …, each with one document and a different revision.
fn indexed(files: usize) -> IndexedFiles {
    let source = SourceName::new("o", "s");
    let document = |number: usize| SourceDocument {
        doc_id: source.doc_id(&number.to_string(), None),
        content_hash: String::new(),
        revision: Some(fingerprint().stored_revision(&revision(number), Position::Last { documents: 1 })),
    };
    IndexedFiles::of(&source, (0..files).map(document).collect())
}

fn current(files: &[&str], sent: &[(&str, &str)]) -> CurrentFiles {
    let mut current = CurrentFiles::default();
    files.iter().for_each(|path| current.file((*path).to_owned()));
    for (path, revision) in sent {
        current.document(format!("o.s/{path}"));
        current.read((*path).to_owned(), read(revision, 1));
    }
    current
}

fn read(revision: &str, documents: usize) -> FileRead {
    FileRead { revision: revision.to_owned(), documents, is_whole: true }
}

fn delete(paths: &[&str]) -> DeletionPlan {
    let deleted = paths.iter().map(|path| format!("o.s/{path}")).collect();
    DeletionPlan { deleted, ..DeletionPlan::default() }
}

fn held_back(documents: u64) -> DeletionPlan {
    DeletionPlan { held_back: documents, ..DeletionPlan::default() }
}

/// The server's documents of files with one document per row.
fn known_rows(files: &[(&str, usize)]) -> IndexedFiles {
    let source = SourceName::new("o", "s");
    let rows = files.iter().flat_map(|(path, rows)| (1..=*rows).map(move |row| (*path, row)));
    let document = |(path, row): (&str, usize)| SourceDocument {
        doc_id: source.doc_id(path, Some(&row.to_string())),
        content_hash: String::new(),
        revision: None,
    };
    IndexedFiles::of(&source, rows.map(document).collect())
}

/// A source with one file, which has only the first rows.
fn first_rows(path: &str, rows: usize, is_whole: bool) -> CurrentFiles {
    let mut current = CurrentFiles::default();
    for row in 1..=rows {
        current.document(SourceName::new("o", "s").doc_id(path, Some(&row.to_string())));
    }
    current.read(path.to_owned(), FileRead { is_whole, ..read("new", rows) });
    current
}

#[test]
fn more_than_half_is_held_back_until_it_is_confirmed() {
    let cases = [
        ("nothing left", indexed(2), current(&["0", "1"], &[]), delete(&[])),
        ("a half left", indexed(2), current(&["0"], &[]), delete(&["1"])),
        ("more than a half left", indexed(3), current(&["0"], &[]), held_back(2)),
        ("all left", indexed(1), current(&[], &[]), held_back(1)),
        ("nothing was there", indexed(0), current(&[], &[]), delete(&[])),
        ("all moved", indexed(2), current(&[], &[("a/0", &revision(0)), ("a/1", &revision(1))]), delete(&["0", "1"])),
        ("all are others", indexed(2), current(&[], &[("a", "x"), ("b", "y")]), held_back(2)),
        ("one changed", indexed(2), current(&["1"], &[("0", "x")]), delete(&[])),
        ("two changed, one missing", indexed(3), current(&[], &[("0", "x"), ("1", "y")]), delete(&["2"])),
    ];
    for (what, indexed, current, expected) in cases {
        assert_eq!(plan_deletions(&indexed, &current, &fingerprint(), DeletionMode::Guarded), expected, "{what}");
        let confirmed = plan_deletions(&indexed, &current, &fingerprint(), DeletionMode::Confirmed);
        assert_eq!(expected.held_back_ids(&confirmed).len() as u64, expected.held_back, "{what}");
        assert_eq!((confirmed.held_back, confirmed.truncated), (0, vec![]), "{what}");
    }
}

#[test]
fn new_files_do_not_release_what_was_held_back() {
    // Two of three files are lost; the synchronisation that held them back sent a new one.
    let (indexed, current) = (indexed(4), current(&["2", "3"], &[]));
    let plan = |mode| plan_deletions(&indexed, &current, &fingerprint(), mode);
    assert_eq!(plan(DeletionMode::HeldBackBefore), held_back(2));
    assert_eq!(plan(DeletionMode::Confirmed), delete(&["0", "1"]));
    let whole = self::current(&["0", "1", "2", "3"], &[]);
    assert_eq!(plan_deletions(&indexed, &whole, &fingerprint(), DeletionMode::HeldBackBefore), delete(&[]));
}

#[test]
fn a_file_that_may_be_truncated_keeps_its_documents_until_it_is_confirmed() {
    let cases = [
        ("a row left", 3, 2, true, 1, 0),
        ("a half left", 4, 2, true, 2, 0),
        ("more than a half left", 3, 1, true, 0, 2),
        ("only the header is there", 3, 0, true, 0, 3),
        ("it ends within a line", 10, 9, false, 0, 1),
        ("a line cannot be read, and nothing is missing", 3, 3, false, 0, 0),
    ];
    for (what, before, rows, is_whole, deleted, held_back) in cases {
        // With the other files, the source as a whole is not suspicious.
        let indexed = known_rows(&[("faq.csv", before), ("other.csv", 1), ("third.csv", 1)]);
        let mut current = first_rows("faq.csv", rows, is_whole);
        current.file("other.csv".to_owned());
        current.file("third.csv".to_owned());
        let found = plan_deletions(&indexed, &current, &fingerprint(), DeletionMode::Guarded);
        assert_eq!((found.deleted.len(), found.held_back), (deleted, held_back), "{what}");
        let named: Vec<_> = found.truncated.iter().map(|file| (file.escaped_path.as_str(), file.before)).collect();
        let expected = if held_back > 0 { vec![("faq.csv", before)] } else { vec![] };
        assert_eq!(named, expected, "{what}");
        let confirmed = plan_deletions(&indexed, &current, &fingerprint(), DeletionMode::Confirmed);
        assert_eq!((confirmed.deleted.len(), confirmed.held_back), (before - rows, 0), "{what}");
        assert_eq!(found.held_back_ids(&confirmed).len() as u64, held_back, "{what}");
    }
}

#[test]
fn files_that_were_emptied_count_as_lost() {
    let mut current = current(&["2"], &[]);
    current.read("0".to_owned(), read("new", 0));
    let (indexed, guarded) = (indexed(4), DeletionMode::Guarded);
    let found = plan_deletions(&indexed, &current, &fingerprint(), guarded);
    // 1 and 3 are missing, 0 is empty: three of four files are lost.
    assert_eq!((found.deleted, found.held_back, found.truncated.len()), (vec![], 3, 1));
}

#[test]
fn an_emptied_file_whose_content_moved_is_not_truncated() {
    let mut current = current(&["1", "2"], &[("a/0", &revision(0))]);
    current.read("0".to_owned(), read("new", 0));
    assert_eq!(plan_deletions(&indexed(3), &current, &fingerprint(), DeletionMode::Guarded), delete(&["0"]));
}

#[test]
fn an_error_of_the_listing_keeps_the_documents_it_is_about() {
    let paths = ["a/1", "a/2", "ab", "docs", "docs/x", "far/p?q=/", "n%1"];
    let cases: [(&str, Extent, &[&str]); 11] = [
        ("a/", Extent::Below, &["a/1", "a/2"]),
        ("docs/", Extent::Below, &["docs", "docs/x"]),
        ("/", Extent::Below, &paths),
        ("/", Extent::Everything, &paths),
        ("a/1", Extent::Itself, &["a/1"]),
        ("docs", Extent::Itself, &["docs"]),
        ("far/p?q=/", Extent::Itself, &["far/p?q=/"]),
        ("n%1", Extent::Itself, &["n%1"]),
        // Keys of S3 objects.
        ("docs/", Extent::Itself, &[]),
        ("docs//", Extent::Itself, &[]),
        ("//", Extent::Itself, &[]),
    ];
    let source = SourceName::new("o", "s");
    let document =
        |path: &str| SourceDocument { doc_id: source.doc_id(path, None), content_hash: String::new(), revision: None };
    for (path, extent, kept) in cases {
        let indexed = IndexedFiles::of(&source, paths.map(document).to_vec());
        let mut current = CurrentFiles::default();
        current.not_listed(
            &SourceName::new("o", "s"),
            &FileError { path: path.to_owned(), message: String::new(), extent },
        );
        let deleted = plan_deletions(&indexed, &current, &fingerprint(), DeletionMode::Confirmed).deleted;
        let expected: Vec<_> =
            paths.iter().filter(|path| !kept.contains(path)).map(|path| source.doc_id(path, None)).collect();
        assert_eq!(deleted, expected, "{path} {extent:?}");
    }
}

#[test]
fn a_file_with_a_shortened_path_is_kept_if_its_folder_could_not_be_listed() {
    let source = SourceName::new("o", "s");
    let folder = "f".repeat(255);
    let path = format!("{folder}/{}/{}.md", "##".repeat(50), "x".repeat(30));
    let document = SourceDocument { doc_id: source.doc_id(&path, None), content_hash: String::new(), revision: None };
    let indexed = IndexedFiles::of(&source, vec![document.clone()]);
    let deep = format!("{folder}/{}/", "##".repeat(50));
    let cases = [
        (format!("{folder}/"), Extent::Below, true),
        (deep, Extent::Below, true),
        (path, Extent::Itself, true),
        ("other/".to_owned(), Extent::Below, false),
    ];
    for (path, extent, is_kept) in cases {
        let mut current = CurrentFiles::default();
        current.not_listed(&source, &FileError { path: path.clone(), message: String::new(), extent });
        let deleted = plan_deletions(&indexed, &current, &fingerprint(), DeletionMode::Confirmed).deleted;
        let expected = if is_kept { vec![] } else { vec![document.doc_id.clone()] };
        assert_eq!(deleted, expected, "{path}");
    }
}

#[test]
fn a_file_that_could_not_be_listed_is_not_lost() {
    for (path, extent) in [("0", Extent::Itself), ("0/", Extent::Below)] {
        let mut current = current(&["1"], &[]);
        current.not_listed(
            &SourceName::new("o", "s"),
            &FileError { path: path.to_owned(), message: String::new(), extent },
        );
        // One of three files is missing.
        assert_eq!(
            plan_deletions(&indexed(3), &current, &fingerprint(), DeletionMode::Guarded),
            delete(&["2"]),
            "{path}"
        );
    }
}

#[test]
fn an_object_with_an_invalid_key_does_not_count_as_a_file() {
    let mut current = CurrentFiles::default();
    current.not_listed(
        &SourceName::new("o", "s"),
        &FileError { path: "0/".to_owned(), message: String::new(), extent: Extent::Below },
    );
    current.not_listed(
        &SourceName::new("o", "s"),
        &FileError { path: "a//b".to_owned(), message: String::new(), extent: Extent::Itself },
    );
    // One of two files is missing, and no other file exists.
    assert_eq!(plan_deletions(&indexed(2), &current, &fingerprint(), DeletionMode::Guarded), held_back(1));
}

/// All files of a site may have the time of its last release, and some servers derive their ETags from it.
#[test]
fn a_file_counts_as_moved_by_its_content_and_not_by_its_time() {
    let digest = "etag:\"d41d8cd98f00b204e9800998ecf8427e\"";
    let cases = [
        ("modified:Sun, 06 Nov 1994 08:49:37 GMT", false),
        ("modified:784111777;7", false),
        ("etag:\"2ebd1ec1-7\"", false),
        (digest, true),
        (&revision(1), true),
    ];
    for (shared, are_moved) in cases {
        let source = SourceName::new("o", "s");
        let document = |number: usize| SourceDocument {
            doc_id: source.doc_id(&number.to_string(), None),
            content_hash: String::new(),
            revision: Some(fingerprint().stored_revision(shared, Position::Last { documents: 1 })),
        };
        let indexed = IndexedFiles::of(&source, (0..3).map(document).collect());
        let found =
            plan_deletions(&indexed, &current(&["0"], &[("new", shared)]), &fingerprint(), DeletionMode::Guarded);
        let expected = if are_moved { delete(&["1", "2"]) } else { held_back(2) };
        assert_eq!(found, expected, "{shared}");
    }
}

#[test]
fn a_file_whose_content_has_no_documents_elsewhere_is_not_moved() {
    let mut current = current(&["2"], &[]);
    current.read("0.csv".to_owned(), read(&revision(0), 0));
    current.read("1.csv".to_owned(), read(&revision(1), 0));
    assert_eq!(plan_deletions(&indexed(3), &current, &fingerprint(), DeletionMode::Guarded), held_back(2));
}

#[test]
fn a_document_that_no_file_can_have_is_deleted() {
    let unrelated = SourceDocument { doc_id: "put in by hand".into(), content_hash: String::new(), revision: None };
    let indexed = IndexedFiles::of(&SourceName::new("o", "s"), vec![unrelated]);
    let plan = plan_deletions(&indexed, &CurrentFiles::default(), &fingerprint(), DeletionMode::Guarded);
    assert_eq!(plan.deleted, ["put in by hand"]);
}

#[test]
fn a_source_that_looks_broken_keeps_all_documents() {
    let source = SourceName::new("o", "s");
    let document =
        |doc_id: &str| SourceDocument { doc_id: doc_id.to_owned(), content_hash: String::new(), revision: None };
    let indexed = IndexedFiles::of(&source, ["o.s/0", "put in by hand", "by hand too"].map(document).to_vec());
    let plan = plan_deletions(&indexed, &CurrentFiles::default(), &fingerprint(), DeletionMode::Guarded);
    assert_eq!(plan, held_back(3));
}

#[test]
fn an_id_is_recorded_once() {
    let mut current = CurrentFiles::default();
    assert!(current.document("o.s/0".to_owned()));
    assert!(!current.document("o.s/0".to_owned()));
}
