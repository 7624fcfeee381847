//! Maps the files of a source to the ids of documents on the server.

/// Separates the path of a file from the key of a document within the file.
const KEY: char = '#';

/// The name of a source, which consists of its owner and its own name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceName {
    owner: String,
    name: String,
}

impl SourceName {
    /// The name of an owner's source.
    pub fn new(owner: &str, name: &str) -> Self {
        Self { owner: owner.to_owned(), name: name.to_owned() }
    }

    /// The name on the server. Neither part contains a dot, so two owners never have the same name.
    pub fn on_server(&self) -> String {
        format!("{}.{}", self.owner, self.name)
    }

    /// The id of a document: of the whole file, or of the part of the file with this key.
    pub fn doc_id(&self, path: &str, key: Option<&str>) -> String {
        let file = format!("{}/{}", self.on_server(), escaped(path));
        match key {
            Some(key) => format!("{file}{KEY}{key}"),
            None => file,
        }
    }

    /// The escaped path of the file of a document. `None` if the id does not belong to this source.
    pub fn file_of<'a>(&self, doc_id: &'a str) -> Option<&'a str> {
        let path = doc_id.strip_prefix(&self.on_server())?.strip_prefix('/')?;
        Some(path.split_once(KEY).map_or(path, |(path, _)| path))
    }
}

/// Whether a source belongs to an owner, by its name on the server.
pub fn belongs_to(source: &str, owner: &str) -> bool {
    source.strip_prefix(owner).is_some_and(|rest| rest.starts_with('.'))
}

/// The name of an owner's source, without the owner.
pub fn own_name<'a>(source: &'a str, owner: &str) -> &'a str {
    source.strip_prefix(owner).and_then(|rest| rest.strip_prefix('.')).unwrap_or(source)
}

/// Escapes a path for use in an id, so that it does not contain the separator.
pub fn escaped(path: &str) -> String {
    path.replace('%', "%25").replace(KEY, "%23")
}

/// Reverses [`escaped`].
pub fn unescaped(escaped: &str) -> String {
    escaped.replace("%23", "#").replace("%25", "%")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_has_the_owner_the_source_the_path_and_the_key() {
        let source = SourceName::new("handbook", "site");
        assert_eq!(source.on_server(), "handbook.site");
        assert_eq!(source.doc_id("docs/a.md", None), "handbook.site/docs/a.md");
        assert_eq!(source.doc_id("faq.csv", Some("7")), "handbook.site/faq.csv#7");
        assert_eq!(source.file_of("handbook.site/faq.csv#7"), Some("faq.csv"));
        assert_eq!(source.file_of("handbook.sites/faq.csv"), None);
    }

    #[test]
    fn an_owner_has_only_its_own_sources() {
        assert!(belongs_to("handbook.site", "handbook"));
        assert!(!belongs_to("handbook-2.site", "handbook"));
        assert!(!belongs_to("handbook", "handbook"));
    }

    proptest! {
        #[test]
        fn two_files_never_share_a_document(
            one in "[a#%/2-5]{1,6}",
            other in "[a#%/2-5]{1,6}",
            key in proptest::option::of("[a#%0-9]{1,4}"),
        ) {
            let source = SourceName::new("o", "s");
            let doc_id = source.doc_id(&one, key.as_deref());
            let file = escaped(&one);
            prop_assert_eq!(source.file_of(&doc_id), Some(file.as_str()));
            prop_assert_eq!(escaped(&one) == escaped(&other), one == other);
            prop_assert_eq!(unescaped(&file), one);
        }
    }
}
