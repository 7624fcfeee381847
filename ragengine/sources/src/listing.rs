use sha2::{Digest, Sha256};

use crate::filter::Filter;
use crate::{Extent, FileError, Item, SourceError, path};

/// How many files may be looked at for each that may be taken.
const SEEN_PER_TAKEN: usize = 20;

/// The path of an error about the whole source.
const ROOT: &str = "/";

/// The files of a source.
#[derive(Debug, Default)]
pub struct Listing {
    /// In order of path, each path once.
    pub items: Vec<Item>,
    /// What could not be listed.
    pub errors: Vec<FileError>,
}

impl Listing {
    /// A revision of all of it, when the listing has one of each. Entries that can never be read are a part of it.
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

/// Gathers the files of a source.
#[derive(Debug)]
pub struct ListingBuilder {
    filter: Filter,
    max_files: usize,
    seen: usize,
    listing: Listing,
}

impl ListingBuilder {
    /// For files that a filter takes.
    pub fn new(filter: Filter, max_files: usize) -> Self {
        Self { filter, max_files, seen: 0, listing: Listing::default() }
    }

    /// Counts something that was looked at, so that a source is left whose folders have no end.
    pub fn see(&mut self) -> Result<(), SourceError> {
        self.seen += 1;
        if self.seen > self.max_files.saturating_mul(SEEN_PER_TAKEN) { Err(self.too_many()) } else { Ok(()) }
    }

    /// Whether a path is taken.
    pub fn takes(&self, path: &str) -> bool {
        self.filter.takes(path)
    }

    /// Notes a folder whose files are not known, unless none of them would be taken.
    pub fn add_unreadable(&mut self, folder: &str, message: impl Into<String>) -> Result<(), SourceError> {
        if self.filter.leaves_out_all_below(folder) {
            return Ok(());
        }
        self.add_failed(FileError { path: format!("{folder}/"), message: message.into(), extent: Extent::Below })
    }

    /// Notes that the listing may be incomplete, and that the missing files are not known.
    pub fn add_incomplete(&mut self, message: impl Into<String>) -> Result<(), SourceError> {
        self.add_failed(FileError { path: ROOT.to_owned(), message: message.into(), extent: Extent::Everything })
    }

    /// Adds a file, if it is taken and its path lies below the root of the source.
    pub fn add(&mut self, item: Item) -> Result<(), SourceError> {
        self.see()?;
        if !self.takes(&item.path) {
            return Ok(());
        }
        match path::check(&item.path) {
            Ok(()) => self.add_checked(item),
            Err(reason) => self.add_error(path::shown(&item.path), reason),
        }
    }

    /// Adds a file, if it is taken and its name can be one.
    pub fn add_named(&mut self, item: Item) -> Result<(), SourceError> {
        self.see()?;
        if !self.takes(&item.path) {
            return Ok(());
        }
        match path::check_name(&item.path) {
            Ok(()) => self.add_checked(item),
            Err(reason) => self.add_error(path::shown(&item.path), reason),
        }
    }

    /// Adds an entry that can never be read under its name.
    pub fn add_error(&mut self, path: impl Into<String>, message: impl Into<String>) -> Result<(), SourceError> {
        self.add_failed(FileError { path: path.into(), message: message.into(), extent: Extent::Itself })
    }

    fn add_failed(&mut self, error: FileError) -> Result<(), SourceError> {
        self.listing.errors.push(error);
        if self.listing.errors.len() > self.max_files { Err(self.too_many()) } else { Ok(()) }
    }

    fn add_checked(&mut self, item: Item) -> Result<(), SourceError> {
        self.listing.items.push(item);
        if self.listing.items.len() > self.max_files { Err(self.too_many()) } else { Ok(()) }
    }

    fn too_many(&self) -> SourceError {
        SourceError::TooManyFiles { max_files: self.max_files }
    }

    /// All of it, in order.
    pub fn finish(self) -> Listing {
        let mut listing = self.listing;
        listing.items.sort_by(|left, right| left.path.cmp(&right.path));
        listing.items.dedup_by(|later, earlier| later.path == earlier.path);
        listing.errors.sort_by(|left, right| left.path.cmp(&right.path));
        listing
    }
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
    fn files_are_in_order_and_once() {
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
    fn a_folder_that_cannot_be_read_is_an_error_if_it_matters() {
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
    fn more_files_than_may_be_are_an_error() {
        let mut taken = builder(2);
        assert!(taken.add(item("a", None)).is_ok() && taken.add(item("b", None)).is_ok());
        assert_eq!(taken.add(item("c", None)).unwrap_err().kind(), "too_many_files");

        let mut left_out = builder(2);
        let mut results = (0..41).map(|_| left_out.add(item("c.no", None)));
        assert!(results.by_ref().take(40).all(|result| result.is_ok()));
        assert!(results.all(|result| result.is_err()));

        let mut errors = builder(1);
        assert!(errors.add_error("a", "x").is_ok() && errors.add_error("b", "x").is_err());
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
    fn an_entry_that_can_never_be_read_is_a_part_of_the_revision() {
        let revision = |odd: &[&str]| {
            let mut builder = builder(10);
            builder.add(item("a", Some("1"))).unwrap();
            odd.iter().for_each(|path| builder.add_error(*path, "it is no path").unwrap());
            builder.finish().revision().unwrap()
        };
        assert_eq!(revision(&["b//c"]), revision(&["b//c"]));
        assert_ne!(revision(&["b//c"]), revision(&[]));
        assert_ne!(revision(&["b//c"]), revision(&["b//d"]));
    }
}
