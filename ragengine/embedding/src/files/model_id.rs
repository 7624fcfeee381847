//! Parses model ids: a directory, or `organisation/name`.

use std::path::PathBuf;

use super::Error;

/// Hugging Face's limit for a name.
const MAX_SEGMENT_CHARS: usize = 96;

/// A parsed model id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ModelId {
    /// A local directory.
    Directory(PathBuf),
    /// A repository on a hub.
    Repository {
        /// The part before the slash.
        organisation: String,
        /// The part after the slash.
        name: String,
    },
}

/// Parses a model id. It becomes part of paths and URLs, so that only plain names are allowed.
pub(super) fn parse(model_id: &str) -> Result<ModelId, Error> {
    if model_id.starts_with('/') || model_id.starts_with("./") {
        return Ok(ModelId::Directory(PathBuf::from(model_id)));
    }
    let refused = |reason| Error::ModelId { model_id: model_id.chars().take(200).collect(), reason };
    let (organisation, name) = model_id.split_once('/').ok_or_else(|| refused("it has no slash"))?;
    for segment in [organisation, name] {
        check_segment(segment).map_err(refused)?;
    }
    Ok(ModelId::Repository { organisation: organisation.to_owned(), name: name.to_owned() })
}

/// Checks one part of a model id, which becomes the name of a directory.
pub(super) fn check_segment(segment: &str) -> Result<(), &'static str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    match segment {
        "" => Err("a part of it is empty"),
        _ if segment.len() > MAX_SEGMENT_CHARS => Err("a part of it is longer than 96 characters"),
        _ if !segment.chars().all(plain) => Err("it has characters other than letters, digits, . _ - and one /"),
        _ if segment.starts_with('.') || segment.contains("..") => Err("a part of it begins with a dot or has two"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_and_directories() {
        let repository = ModelId::Repository {
            organisation: "sentence-transformers".to_owned(),
            name: "all-MiniLM-L6-v2".to_owned(),
        };
        assert_eq!(parse("sentence-transformers/all-MiniLM-L6-v2").unwrap(), repository);
        for directory in ["/models/mine", "./mine"] {
            assert_eq!(parse(directory).unwrap(), ModelId::Directory(PathBuf::from(directory)));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let refused = [
            "",
            "..",
            "name",
            "a/b/c",
            "a/",
            "../a",
            "a/..",
            "..a/b",
            "a/.hidden",
            "a/b..c",
            "a b/c",
            "a/b?x=1",
            "a/b#c",
            "a/b%2e",
            "a\\b/c",
            "ä/b",
            "a/b\0",
            "https://a/b",
        ];
        for model_id in refused {
            assert!(matches!(parse(model_id), Err(Error::ModelId { .. })), "{model_id:?}");
        }
        assert!(parse(&format!("a/{}", "b".repeat(97))).is_err());
    }

    proptest! {
        #[test]
        fn an_accepted_name_stays_below_its_directory(model_id in "\\PC{0,12}/\\PC{0,12}|[./a]{0,8}") {
            if let Ok(ModelId::Repository { organisation, name }) = parse(&model_id) {
                let path = PathBuf::from("/models").join(&organisation).join(&name);
                let parts: Vec<_> = path.components().map(|c| c.as_os_str().to_owned()).collect();
                prop_assert_eq!(parts.len(), 4);
                prop_assert!(path.starts_with("/models"));
            }
        }
    }
}
