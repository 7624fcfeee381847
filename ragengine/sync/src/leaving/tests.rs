use ragengine_client::wire::SourceDocument;
use ragengine_sources::Extent;
use serde_json::Map;

use super::*;
use crate::identity::SourceName;
use crate::revision::Place;

fn reading() -> Reading {
    Reading::of(&Map::new())
}

/// The revision of a file with its own content.
fn revision(number: usize) -> String {
    format!("sha256:{number:064}")
}

/// Files `0`, `1`, …, each of one document, in a revision of its own.
fn known(files: usize) -> Known {
    let source = SourceName::new("o", "s");
    let document = |number: usize| SourceDocument {
        doc_id: source.doc_id(&number.to_string(), None),
        content_hash: String::new(),
        revision: Some(reading().mark(&revision(number), Place::Last { documents: 1 })),
    };
    Known::of(&source, (0..files).map(document).collect())
}

fn staying(files: &[&str], sent: &[(&str, &str)]) -> Staying {
    let mut staying = Staying::default();
    files.iter().for_each(|path| staying.file((*path).to_owned()));
    for (path, revision) in sent {
        staying.document(format!("o.s/{path}"));
        staying.read((*path).to_owned(), read(revision, 1));
    }
    staying
}

fn read(revision: &str, documents: usize) -> FileRead {
    FileRead { revision: revision.to_owned(), documents, is_whole: true }
}

fn delete(paths: &[&str]) -> Leaving {
    let deleted = paths.iter().map(|path| format!("o.s/{path}")).collect();
    Leaving { deleted, ..Leaving::default() }
}

fn held_back(documents: u64) -> Leaving {
    Leaving { held_back: documents, ..Leaving::default() }
}

/// What the server has of files that make a document of each row.
fn known_rows(files: &[(&str, usize)]) -> Known {
    let source = SourceName::new("o", "s");
    let rows = files.iter().flat_map(|(path, rows)| (1..=*rows).map(move |row| (*path, row)));
    let document = |(path, row): (&str, usize)| SourceDocument {
        doc_id: source.doc_id(path, Some(&row.to_string())),
        content_hash: String::new(),
        revision: None,
    };
    Known::of(&source, rows.map(document).collect())
}

/// A file of which the first rows are there.
fn first_rows(path: &str, rows: usize, is_whole: bool) -> Staying {
    let mut staying = Staying::default();
    for row in 1..=rows {
        staying.document(SourceName::new("o", "s").doc_id(path, Some(&row.to_string())));
    }
    staying.read(path.to_owned(), FileRead { is_whole, ..read("new", rows) });
    staying
}

#[test]
fn more_than_half_is_held_back_until_it_is_confirmed() {
    let cases = [
        ("nothing left", known(2), staying(&["0", "1"], &[]), delete(&[])),
        ("a half left", known(2), staying(&["0"], &[]), delete(&["1"])),
        ("more than a half left", known(3), staying(&["0"], &[]), held_back(2)),
        ("all left", known(1), staying(&[], &[]), held_back(1)),
        ("nothing was there", known(0), staying(&[], &[]), delete(&[])),
        ("all moved", known(2), staying(&[], &[("a/0", &revision(0)), ("a/1", &revision(1))]), delete(&["0", "1"])),
        ("all are others", known(2), staying(&[], &[("a", "x"), ("b", "y")]), held_back(2)),
        ("one changed", known(2), staying(&["1"], &[("0", "x")]), delete(&[])),
    ];
    for (what, known, staying, expected) in cases {
        assert_eq!(leaving(&known, &staying, &reading(), Deletions::Guarded), expected, "{what}");
        let confirmed = leaving(&known, &staying, &reading(), Deletions::Confirmed);
        assert_eq!((confirmed.held_back, confirmed.cut_off), (0, vec![]), "{what}");
    }
}

#[test]
fn a_file_that_looks_cut_off_keeps_its_documents_until_that_is_confirmed() {
    let cases = [
        ("a row left", 3, 2, true, 1, 0),
        ("a half left", 4, 2, true, 2, 0),
        ("more than a half left", 3, 1, true, 0, 2),
        ("only the header is there", 3, 0, true, 0, 3),
        ("it ends within a line", 10, 9, false, 0, 1),
        ("a line cannot be read, and nothing is missing", 3, 3, false, 0, 0),
    ];
    for (what, before, rows, is_whole, deleted, held_back) in cases {
        // Other files are there, so that the source as a whole is well.
        let known = known_rows(&[("faq.csv", before), ("other.csv", 1), ("third.csv", 1)]);
        let mut staying = first_rows("faq.csv", rows, is_whole);
        staying.file("other.csv".to_owned());
        staying.file("third.csv".to_owned());
        let found = leaving(&known, &staying, &reading(), Deletions::Guarded);
        assert_eq!((found.deleted.len(), found.held_back), (deleted, held_back), "{what}");
        let named: Vec<_> = found.cut_off.iter().map(|file| (file.escaped_path.as_str(), file.before)).collect();
        let expected = if held_back > 0 { vec![("faq.csv", before)] } else { vec![] };
        assert_eq!(named, expected, "{what}");
        let confirmed = leaving(&known, &staying, &reading(), Deletions::Confirmed);
        assert_eq!((confirmed.deleted.len(), confirmed.held_back), (before - rows, 0), "{what}");
    }
}

#[test]
fn files_that_were_emptied_count_as_lost() {
    let mut staying = staying(&["2"], &[]);
    staying.read("0".to_owned(), read("new", 0));
    let (known, guarded) = (known(4), Deletions::Guarded);
    let found = leaving(&known, &staying, &reading(), guarded);
    // 1 and 3 are gone, 0 is empty: three of four.
    assert_eq!((found.deleted, found.held_back, found.cut_off.len()), (vec![], 3, 1));
}

#[test]
fn a_file_that_was_emptied_into_another_is_not_cut_off() {
    let mut staying = staying(&["1", "2"], &[("a/0", &revision(0))]);
    staying.read("0".to_owned(), read("new", 0));
    assert_eq!(leaving(&known(3), &staying, &reading(), Deletions::Guarded), delete(&["0"]));
}

#[test]
fn an_error_of_the_listing_keeps_what_it_is_about() {
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
        // Keys of objects.
        ("docs/", Extent::Itself, &[]),
        ("docs//", Extent::Itself, &[]),
        ("//", Extent::Itself, &[]),
    ];
    let source = SourceName::new("o", "s");
    let document =
        |path: &str| SourceDocument { doc_id: source.doc_id(path, None), content_hash: String::new(), revision: None };
    for (path, extent, kept) in cases {
        let known = Known::of(&source, paths.map(document).to_vec());
        let mut staying = Staying::default();
        staying.not_listed(&FileError { path: path.to_owned(), message: String::new(), extent });
        let deleted = leaving(&known, &staying, &reading(), Deletions::Confirmed).deleted;
        let expected: Vec<_> =
            paths.iter().filter(|path| !kept.contains(path)).map(|path| source.doc_id(path, None)).collect();
        assert_eq!(deleted, expected, "{path} {extent:?}");
    }
}

#[test]
fn an_object_with_an_odd_key_does_not_show_that_a_source_is_well() {
    let mut staying = Staying::default();
    staying.not_listed(&FileError { path: "0/".to_owned(), message: String::new(), extent: Extent::Below });
    staying.not_listed(&FileError { path: "a//b".to_owned(), message: String::new(), extent: Extent::Itself });
    // One of two is gone, and no file is there.
    assert_eq!(leaving(&known(2), &staying, &reading(), Deletions::Guarded), held_back(1));
}

/// All files of a site may have the time of its last release, and a server may make its tags of that.
#[test]
fn a_file_is_moved_when_its_content_is_elsewhere_and_not_when_its_time_is() {
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
            revision: Some(reading().mark(shared, Place::Last { documents: 1 })),
        };
        let known = Known::of(&source, (0..3).map(document).collect());
        let found = leaving(&known, &staying(&["0"], &[("new", shared)]), &reading(), Deletions::Guarded);
        let expected = if are_moved { delete(&["1", "2"]) } else { held_back(2) };
        assert_eq!(found, expected, "{shared}");
    }
}

#[test]
fn a_file_whose_content_makes_no_document_elsewhere_is_not_moved() {
    let mut staying = staying(&["2"], &[]);
    staying.read("0.csv".to_owned(), read(&revision(0), 0));
    staying.read("1.csv".to_owned(), read(&revision(1), 0));
    assert_eq!(leaving(&known(3), &staying, &reading(), Deletions::Guarded), held_back(2));
}

#[test]
fn what_no_file_can_have_made_leaves() {
    let stranger = SourceDocument { doc_id: "put in by hand".into(), content_hash: String::new(), revision: None };
    let known = Known::of(&SourceName::new("o", "s"), vec![stranger]);
    let leaving = leaving(&known, &Staying::default(), &reading(), Deletions::Guarded);
    assert_eq!(leaving.deleted, ["put in by hand"]);
}
