use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use super::folder::{Refusal, read};
use super::*;
use crate::small_file::FileError;

fn found(table: &Table, text: &str) -> Option<String> {
    table.find(text.as_bytes()).map(|principal| principal.to_string())
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn a_key_is_the_trimmed_text_of_a_file() {
    let folder =
        folder(&[("ci", "s3cret\n"), ("web.app", " \tother key \r\n"), ("again", "s3cret"), ("..data", "dots")]);
    let (table, refusals) = read(folder.path()).unwrap();
    assert!(refusals.is_empty(), "{refusals:?}");
    for (text, expected) in [
        // Of two keys with one text, the first by name counts.
        ("s3cret", Some("key:again")),
        ("other key", Some("key:web.app")),
        ("s3cret\n", None),
        ("s3cre", None),
        ("s3crets", None),
        ("S3cret", None),
        ("dots", None),
        ("", None),
    ] {
        assert_eq!(found(&table, text).as_deref(), expected, "{text:?}");
    }
    assert_eq!(found(&Table::default(), "s3cret"), None);
}

#[test]
fn files_that_are_no_keys_are_left_out() {
    let long = "k".repeat(4_097);
    let folder = folder(&[("empty", ""), ("blank", " \n\t"), ("long", &long), ("a\nb", "x"), ("good", &long[1..])]);
    fs::create_dir(folder.path().join("folder")).unwrap();
    symlink("nowhere", folder.path().join("gone")).unwrap();
    let (table, refusals) = read(folder.path()).unwrap();
    assert_eq!((table.len(), found(&table, &long[1..]).as_deref()), (1, Some("key:good")));
    let names: Vec<&str> = refusals.keys().map(String::as_str).collect();
    assert_eq!(names, ["a\nb", "blank", "empty", "folder", "long"]);
    assert_eq!([refusals["empty"], refusals["blank"]], [Refusal::Empty; 2]);
    assert_eq!(refusals["long"], Refusal::File(FileError::TooLong { max_bytes: 4_096 }));
    assert_eq!(refusals["folder"], Refusal::File(FileError::NoFile));
}

#[test]
fn keys_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..1_001 {
        fs::write(folder.path().join(format!("k{number:04}")), format!("text {number}")).unwrap();
    }
    let (table, refusals) = read(folder.path()).unwrap();
    assert_eq!((table.len(), refusals["k1000"]), (1_000, Refusal::TooMany));
    assert_eq!(found(&table, "text 999").as_deref(), Some("key:k0999"));
    assert_eq!(found(&table, "text 1000"), None);
}

/// Waits until a key is known or not.
async fn until(keys: &ApiKeys, text: &str, is_known: bool) {
    let limit = Instant::now() + Duration::from_secs(30);
    while keys.check(text).is_ok_and(|found| found.is_some()) != is_known {
        assert!(Instant::now() < limit, "it took too long");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Makes a version of a Secret's volume, and exchanges the link to it at once.
fn publish(volume: &Path, version: &str, files: &[(&str, &str)]) {
    let folder = volume.join(version);
    fs::create_dir(&folder).unwrap();
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
        drop(symlink(Path::new("..data").join(name), volume.join(name)));
    }
    symlink(version, volume.join("..data_tmp")).unwrap();
    fs::rename(volume.join("..data_tmp"), volume.join("..data")).unwrap();
}

#[tokio::test]
async fn a_changed_secret_is_read_again_and_the_last_read_holds_without_the_folder() {
    let parent = tempfile::tempdir().unwrap();
    let volume = parent.path().join("keys");
    let keys = ApiKeys::open(volume.clone()).await;
    assert_eq!(keys.check("one"), Err(NotRead));
    assert!(keys.problem().unwrap().contains("keys"));
    fs::create_dir(&volume).unwrap();
    publish(&volume, "..v1", &[("a", "one"), ("b", "two")]);
    until(&keys, "one", true).await;
    assert_eq!((keys.check("two").unwrap().unwrap().as_str(), keys.problem()), ("key:b", None));
    publish(&volume, "..v2", &[("a", "three")]);
    until(&keys, "three", true).await;
    assert_eq!((keys.check("one"), keys.check("two")), (Ok(None), Ok(None)));
    fs::rename(&volume, parent.path().join("away")).unwrap();
    let limit = Instant::now() + Duration::from_secs(30);
    while keys.problem().is_none() {
        assert!(Instant::now() < limit, "it took too long");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(keys.check("three").unwrap().is_some());
    fs::rename(parent.path().join("away"), &volume).unwrap();
    fs::remove_file(volume.join("a")).unwrap();
    until(&keys, "three", false).await;
    assert_eq!(keys.check("three"), Ok(None));
}

#[test]
#[ignore = "a measurement"]
fn the_time_of_a_check() {
    let mut table = Table::default();
    for number in 0..100 {
        table.add(Principal::key(&number.to_string()).unwrap(), format!("text {number}").as_bytes());
    }
    let began = Instant::now();
    for _ in 0..10_000 {
        assert!(std::hint::black_box(table.find(std::hint::black_box(b"text 50"))).is_some());
    }
    eprintln!("{:?} for each check", began.elapsed() / 10_000);
}
