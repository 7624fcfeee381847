use sha2::{Digest, Sha256};

use crate::filter::Filter;
use crate::{Extent, FileError, Item, SourceError, path};

/// The maximum number of listed entries per permitted file.
const ENTRIES_PER_FILE: usize = 20;

/// The maximum number of entries whose errors are kept. The names of more could need all of the memory.
const MAX_ERRORS: usize = 10_000;

/// The path of an error about the whole source.
const ROOT: &str = "/";

/// The files of a source.
#[derive(Debug, Default)]
pub struct Listing {
    /// The files, ordered by path. Each path occurs once.
    pub items: Vec<Item>,
    /// The entries that could not be listed, ordered by path.
    pub errors: Vec<FileError>,
}

impl Listing {
    /// A hash of the listing, or `None` if a file has no revision. The hash includes entries that can never be read.
    pub fn revision(&self) -> Option<String> {
        let mut hasher = Sha256::new();
        let mut add = |parts: [&str; 2]| {
            for part in parts {
                hasher.update((part.len() as u64).to_be_bytes());
                hasher.update(part);
            }
        };
        for item in &self.items {
            add([&item.path, item.revision.as_ref()?]);
        }
        for error in self.errors.iter().filter(|error| error.extent == Extent::Itself) {
            add([&error.path, &error.message]);
        }
        Some(format!("sha256:{}", hex::encode(hasher.finalize())))
    }
}

/// Collects the files of a source, and enforces the limits.
#[derive(Debug)]
pub struct ListingBuilder {
    filter: Filter,
    max_files: usize,
    seen: usize,
    listing: Listing,
}

impl ListingBuilder {
    /// Accepts files that match the filter, at most `max_files`.
    pub fn new(filter: Filter, max_files: usize) -> Self {
        Self { filter, max_files, seen: 0, listing: Listing::default() }
    }

    /// Counts an entry, so that listing a source with endless folders ends with an error.
    pub fn count_entry(&mut self) -> Result<(), SourceError> {
        self.seen += 1;
        if self.seen > self.max_files.saturating_mul(ENTRIES_PER_FILE) { Err(self.too_many()) } else { Ok(()) }
    }

    /// Whether a path matches the filter.
    pub fn selects(&self, path: &str) -> bool {
        self.filter.selects(path)
    }

    /// Adds the error of a folder that cannot be read, unless the filter excludes all files below it.
    pub fn add_unreadable(&mut self, folder: &str, message: impl Into<String>) -> Result<(), SourceError> {
        if self.filter.excludes_all_below(folder) {
            return Ok(());
        }
        self.add_failed(FileError { path: format!("{folder}/"), message: message.into(), extent: Extent::Below })
    }

    /// Checks the number of folders that wait to be listed, so that they do not exhaust the memory.
    pub fn check_waiting(&self, folders: usize) -> Result<(), SourceError> {
        if folders > self.max_files { Err(self.too_many()) } else { Ok(()) }
    }

    /// Adds the error of a folder whose path is too long for any file below it, unless the filter excludes them all.
    pub fn add_too_long(&mut self, folder: &str) -> Result<(), SourceError> {
        if self.filter.excludes_all_below(folder) {
            return Ok(());
        }
        self.add_error(format!("{}/", path::shown(folder)), "its path is too long for any file below it: shorten it")
    }

    /// Adds an error because the listing may be incomplete and the missing files are not known.
    pub fn add_incomplete(&mut self, message: impl Into<String>) -> Result<(), SourceError> {
        self.add_failed(FileError { path: ROOT.to_owned(), message: message.into(), extent: Extent::Everything })
    }

    /// Adds a file if it matches the filter. If its path could lead out of the root of the source, adds an error.
    pub fn add(&mut self, item: Item) -> Result<(), SourceError> {
        self.count_entry()?;
        if !self.selects(&item.path) {
            return Ok(());
        }
        match path::check(&item.path) {
            Ok(()) => self.add_checked(item),
            Err(reason) => self.add_error(path::shown(&item.path), reason),
        }
    }

    /// Adds a file that is identified by a name, such as a URL, if it matches the filter. If the name is invalid, adds
    /// an error.
    pub fn add_named(&mut self, item: Item) -> Result<(), SourceError> {
        self.count_entry()?;
        if !self.selects(&item.path) {
            return Ok(());
        }
        match path::check_name(&item.path) {
            Ok(()) => self.add_checked(item),
            Err(reason) => self.add_error(path::shown(&item.path), reason),
        }
    }

    /// Adds the error of an entry that can never be read with its name.
    pub fn add_error(&mut self, path: impl Into<String>, message: impl Into<String>) -> Result<(), SourceError> {
        self.add_failed(FileError { path: path.into(), message: message.into(), extent: Extent::Itself })
    }

    fn add_failed(&mut self, error: FileError) -> Result<(), SourceError> {
        match self.listing.errors.len() {
            0..MAX_ERRORS => self.listing.errors.push(error),
            MAX_ERRORS => self.listing.errors.push(too_many_errors()),
            _ => {}
        }
        if self.listing.errors.len() > self.max_files { Err(self.too_many()) } else { Ok(()) }
    }

    fn add_checked(&mut self, item: Item) -> Result<(), SourceError> {
        self.listing.items.push(item);
        if self.listing.items.len() > self.max_files { Err(self.too_many()) } else { Ok(()) }
    }

    fn too_many(&self) -> SourceError {
        SourceError::TooManyFiles { max_files: self.max_files }
    }

    /// Sorts the listing, and removes duplicate paths.
    pub fn finish(self) -> Listing {
        let mut listing = self.listing;
        listing.items.sort_by(|left, right| left.path.cmp(&right.path));
        listing.items.dedup_by(|later, earlier| later.path == earlier.path);
        listing.errors.sort_by(|left, right| left.path.cmp(&right.path));
        listing
    }
}

/// Stands for all further errors. Which entries they are about is not known, so all documents are kept.
fn too_many_errors() -> FileError {
    let message = format!("more than {MAX_ERRORS} entries cannot be read: exclude them, or correct them");
    FileError { path: ROOT.to_owned(), message, extent: Extent::Everything }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder(max_files: usize) -> ListingBuilder {
        ListingBuilder::new(Filter::new(&[], &["*.no".into()]).unwrap(), max_files)
    }

    fn item(path: &str, revision: Option<&str>) -> Item {
        Item { path: path.into(), revision: revision.map(Into::into), size_bytes: None }
    }

    #[test]
    fn files_are_sorted_without_duplicates() {
        let mut builder = builder(10);
        for path in ["b", "a", "b", "c.no", "../x", "a/b"] {
            builder.add(item(path, None)).unwrap();
        }
        let listing = builder.finish();
        let paths: Vec<_> = listing.items.iter().map(|item| item.path.as_str()).collect();
        assert_eq!(paths, ["a", "a/b", "b"]);
        assert_eq!(listing.errors.len(), 1);
        assert_eq!(listing.errors[0].path, "../x");
    }

    #[test]
    fn an_unreadable_folder_is_an_error_unless_it_is_excluded() {
        let filter = Filter::new(&[], &["private/**".into()]).unwrap();
        let mut builder = ListingBuilder::new(filter, 10);
        builder.add_unreadable("private", "not allowed").unwrap();
        builder.add_unreadable("public", "not allowed").unwrap();
        builder.add_incomplete("cut off").unwrap();
        let errors = builder.finish().errors;
        let found: Vec<_> = errors.iter().map(|error| (error.path.as_str(), error.extent)).collect();
        assert_eq!(found, [("/", Extent::Everything), ("public/", Extent::Below)]);
    }

    #[test]
    fn a_folder_with_a_long_path_is_an_error_unless_it_is_excluded() {
        let filter = Filter::new(&[], &["private/**".into()]).unwrap();
        let mut builder = ListingBuilder::new(filter, 10);
        let long = "a".repeat(5000);
        builder.add_too_long(&format!("private/{long}")).unwrap();
        builder.add_too_long(&long).unwrap();
        let errors = builder.finish().errors;
        let [error] = &errors[..] else { panic!("{errors:?}") };
        assert_eq!((error.extent, error.path.chars().count()), (Extent::Itself, 402));
    }

    #[test]
    fn too_many_files_are_an_error() {
        let mut taken = builder(2);
        assert!(taken.add(item("a", None)).is_ok() && taken.add(item("b", None)).is_ok());
        assert_eq!(taken.add(item("c", None)).unwrap_err().kind(), "too_many_files");

        let mut left_out = builder(2);
        let mut results = (0..41).map(|_| left_out.add(item("c.no", None)));
        assert!(results.by_ref().take(40).all(|result| result.is_ok()));
        assert!(results.all(|result| result.is_err()));

        let waiting = builder(2);
        assert!(waiting.check_waiting(2).is_ok() && waiting.check_waiting(3).is_err());

        let mut errors = builder(1);
        assert!(errors.add_error("a", "x").is_ok() && errors.add_error("b", "x").is_err());
    }

    #[test]
    fn the_errors_of_a_listing_have_a_bound() {
        let mut builder = builder(100_000);
        (0..MAX_ERRORS + 5).for_each(|number| builder.add_error(format!("{number}"), "x").unwrap());
        let errors = builder.finish().errors;
        let of_all: Vec<_> = errors.iter().filter(|error| error.extent == Extent::Everything).collect();
        assert_eq!((errors.len(), of_all.len()), (MAX_ERRORS + 1, 1));
        assert!(of_all[0].message.contains("more than 10000 entries"), "{}", of_all[0].message);
    }

    #[test]
    fn a_listing_has_a_revision_when_each_file_has_one() {
        let revision = |items: &[(&str, Option<&str>)]| {
            let mut builder = builder(10);
            for (path, revision) in items {
                builder.add(item(path, *revision)).unwrap();
            }
            builder.finish().revision()
        };
        let base = revision(&[("a", Some("1")), ("b", Some("2"))]);
        assert!(base.is_some());
        assert_eq!(base, revision(&[("b", Some("2")), ("a", Some("1"))]));
        for other in [
            &[("a", Some("1")), ("b", Some("3"))],
            &[("a", Some("1")), ("c", Some("2"))],
            &[("a", Some("1b")), ("b", Some("2"))],
        ] {
            assert_ne!(base, revision(other));
        }
        assert_eq!(revision(&[("a", Some("1")), ("b", None)]), None);
    }

    #[test]
    fn an_entry_that_can_never_be_read_is_part_of_the_revision() {
        let revision = |odd: &[&str]| {
            let mut builder = builder(10);
            builder.add(item("a", Some("1"))).unwrap();
            odd.iter().for_each(|path| builder.add_error(*path, "it is not a path").unwrap());
            builder.finish().revision().unwrap()
        };
        assert_eq!(revision(&["b//c"]), revision(&["b//c"]));
        assert_ne!(revision(&["b//c"]), revision(&[]));
        assert_ne!(revision(&["b//c"]), revision(&["b//d"]));
    }
}
