//! The server image that the operator is configured with.

use std::fmt;
use std::str::FromStr;

use ragengine_operator_api::Image;

/// The prefix of a digest, and the number of hexadecimal digits after it.
const DIGEST: (&str, usize) = ("sha256:", 64);

/// An image with a version: `repository:tag`, `repository@sha256:…` or `repository:tag@sha256:…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerImage {
    repository: String,
    tag: Option<String>,
    digest: Option<String>,
}

/// Why a text is not such an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAnImage {
    /// The tag and the digest are missing.
    #[error("the image must have a tag or a digest, for example ragengine:0.1.0")]
    NoVersion,
    /// The digest after the `@` is invalid.
    #[error("a digest must be sha256: and 64 digits 0-9 or a-f, for example ragengine@sha256:{}", "0".repeat(DIGEST.1))]
    Digest,
}

impl FromStr for ServerImage {
    type Err = NotAnImage;

    fn from_str(text: &str) -> Result<Self, NotAnImage> {
        let (name, digest) = text.split_once('@').map_or((text, None), |(name, digest)| (name, Some(digest)));
        if digest.is_some_and(|digest| !is_digest(digest)) {
            return Err(NotAnImage::Digest);
        }
        // The colon of a registry's port is followed by a slash.
        let tagged = name.rsplit_once(':').filter(|(_, tag)| !tag.contains('/'));
        let (repository, tag) = tagged.map_or((name, None), |(repository, tag)| (repository, Some(tag)));
        let has_version = tag.map_or(digest.is_some(), |tag| !tag.is_empty());
        if repository.is_empty() || !has_version {
            return Err(NotAnImage::NoVersion);
        }
        let owned = |part: Option<&str>| part.map(str::to_owned);
        Ok(Self { repository: repository.to_owned(), tag: owned(tag), digest: owned(digest) })
    }
}

impl fmt::Display for ServerImage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { repository, tag, digest } = self;
        let part =
            |sign: &str, part: &Option<String>| part.as_ref().map_or_else(String::new, |part| format!("{sign}{part}"));
        write!(formatter, "{repository}{}{}", part(":", tag), part("@", digest))
    }
}

impl ServerImage {
    /// The image of an engine: the fields of its resource, completed by this image. A digest takes precedence over a
    /// tag.
    pub fn of_engine(&self, image: &Image) -> String {
        let repository = image.repository.as_deref().unwrap_or(&self.repository);
        match (&image.digest, tag_of(image)) {
            (Some(digest), _) => format!("{repository}@{digest}"),
            (None, Some(tag)) => format!("{repository}:{tag}"),
            (None, None) => self.in_repository(repository),
        }
    }

    /// In another repository the digest may differ, where the image was copied or rebuilt, so the tag is used if there
    /// is one.
    fn in_repository(&self, repository: &str) -> String {
        let digest = self.digest.clone().filter(|_| self.tag.is_none() || repository == self.repository);
        Self { repository: repository.to_owned(), tag: self.tag.clone(), digest }.to_string()
    }

    /// Whether an engine runs the operator's own version, as far as its resource shows.
    pub fn is_of_engine(&self, image: &Image) -> bool {
        match (&image.digest, tag_of(image)) {
            (Some(_), _) => image.digest == self.digest,
            (None, Some(tag)) => Some(tag) == self.tag.as_deref(),
            (None, None) => true,
        }
    }
}

/// The tag, unless it is empty.
fn tag_of(image: &Image) -> Option<&str> {
    image.tag.as_deref().filter(|tag| !tag.is_empty())
}

fn is_digest(text: &str) -> bool {
    let digits = text.strip_prefix(DIGEST.0).unwrap_or_default();
    digits.len() == DIGEST.1 && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest() -> String {
        format!("sha256:{}", "0a".repeat(32))
    }

    #[test]
    fn an_image_has_a_tag_or_a_digest_or_both() {
        let digest = digest();
        for text in ["ragengine:0.1.0", "registry:5000/ragengine:edge"] {
            for text in [text.to_owned(), format!("{text}@{digest}")] {
                assert_eq!(text.parse::<ServerImage>().map(|image| image.to_string()), Ok(text));
            }
        }
        let by_digest = format!("registry:5000/ragengine@{digest}");
        assert_eq!(by_digest.parse::<ServerImage>().map(|image| image.to_string()), Ok(by_digest));
        for text in
            ["ragengine", "ragengine:", ":0.1.0", "registry:5000/ragengine", "", &format!("ragengine:@{digest}")]
        {
            assert_eq!(text.parse::<ServerImage>(), Err(NotAnImage::NoVersion), "{text}");
        }
        for text in ["ragengine@", "ragengine:1@sha256:0a", &format!("ragengine@{}", digest.to_uppercase())] {
            assert_eq!(text.parse::<ServerImage>(), Err(NotAnImage::Digest), "{text}");
        }
    }

    #[test]
    fn the_resource_takes_precedence_and_a_digest_over_a_tag() {
        let digest = digest();
        let other = format!("sha256:{}", "b".repeat(64));
        let image = |repository: Option<&str>, tag: Option<&str>, digest: Option<&str>| Image {
            repository: repository.map(str::to_owned),
            tag: tag.map(str::to_owned),
            digest: digest.map(str::to_owned),
            ..Image::default()
        };
        let both: ServerImage = format!("own:1@{digest}").parse().unwrap();
        let pinned: ServerImage = format!("own@{digest}").parse().unwrap();
        for (operators, engines, runs, is_own) in [
            (&both, image(None, None, None), format!("own:1@{digest}"), true),
            (&both, image(None, Some(""), None), format!("own:1@{digest}"), true),
            (&both, image(Some("own"), None, None), format!("own:1@{digest}"), true),
            (&both, image(Some("copy"), None, None), "copy:1".to_owned(), true),
            (&both, image(None, Some("1"), None), "own:1".to_owned(), true),
            (&both, image(None, Some("2"), None), "own:2".to_owned(), false),
            (&both, image(Some("copy"), Some("2"), Some(&other)), format!("copy@{other}"), false),
            (&both, image(None, None, Some(&digest)), format!("own@{digest}"), true),
            (&pinned, image(Some("copy"), None, None), format!("copy@{digest}"), true),
            (&pinned, image(None, Some("1"), None), "own:1".to_owned(), false),
        ] {
            assert_eq!(
                (operators.of_engine(&engines), operators.is_of_engine(&engines)),
                (runs, is_own),
                "{engines:?}"
            );
        }
    }
}
