use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::SourceError;

/// Selects paths of a source by `include` and `exclude`.
#[derive(Debug)]
pub struct Filter {
    include: Option<GlobSet>,
    exclude: GlobSet,
    /// What a selected path begins with: for each pattern of `include`, the part before its first wildcard. Empty
    /// without `include`.
    beginnings: Vec<String>,
}

impl Filter {
    /// Compiles the patterns. `*` does not match a slash, `**` does.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Self, SourceError> {
        let beginnings = include.iter().map(|pattern| beginning(pattern).to_owned()).collect();
        let include = if include.is_empty() { None } else { Some(compile(include)?) };
        Ok(Self { include, exclude: compile(exclude)?, beginnings })
    }

    /// Whether a path is selected.
    pub fn selects(&self, path: &str) -> bool {
        self.include.as_ref().is_none_or(|include| include.is_match(path)) && !self.exclude.is_match(path)
    }

    /// Whether no file that the folder may contain is selected: no pattern of `include` leads into it, or a pattern such
    /// as `private/**` excludes them all.
    pub fn excludes_all_below(&self, folder: &str) -> bool {
        let folder = format!("{folder}/");
        let leads_into = |beginning: &String| beginning.starts_with(&folder) || folder.starts_with(beginning.as_str());
        let is_outside = self.include.is_some() && !self.beginnings.iter().any(leads_into);
        // No file has such a name, so only a pattern for all files matches it.
        is_outside || self.exclude.is_match(format!("{folder}\0\0\0/\0\0\0\0/\0\0\0\0\0"))
    }
}

/// The part of a pattern before its first wildcard.
fn beginning(pattern: &str) -> &str {
    pattern.find(['*', '?', '[', '{', '\\']).map_or(pattern, |end| &pattern[..end])
}

fn compile(patterns: &[String]) -> Result<GlobSet, SourceError> {
    let refused = |pattern: &str, error: &globset::Error| SourceError::Pattern {
        pattern: pattern.to_owned(),
        reason: error.kind().to_string(),
    };
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let glob =
            GlobBuilder::new(pattern).literal_separator(true).build().map_err(|error| refused(pattern, &error))?;
        set.add(glob);
    }
    set.build().map_err(|error| refused(&patterns.join(", "), &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(include: &[&str], exclude: &[&str]) -> Result<Filter, SourceError> {
        let owned = |patterns: &[&str]| patterns.iter().map(|pattern| (*pattern).to_owned()).collect::<Vec<_>>();
        Filter::new(&owned(include), &owned(exclude))
    }

    #[test]
    fn patterns_select_paths() {
        let cases: &[(&[&str], &[&str], &str, bool)] = &[
            (&[], &[], "a/b.md", true),
            (&["*.md"], &[], "a.md", true),
            (&["*.md"], &[], "a/b.md", false),
            (&["**/*.md"], &[], "b.md", true),
            (&["**/*.md"], &[], "a/b/c.md", true),
            (&["docs/**/*.md"], &[], "docs/a.md", true),
            (&["docs/**/*.md"], &[], "docs/x/y/a.md", true),
            (&["docs/**/*.md"], &[], "other/docs/a.md", false),
            (&["docs/**"], &[], "docs/a/b.txt", true),
            (&["*.{md,txt}"], &[], "a.txt", true),
            (&["*.{md,txt}"], &[], "a.html", false),
            (&["a?.md"], &[], "ab.md", true),
            (&["a?b.md"], &[], "a/b.md", false),
            (&["*.md"], &[], "A.MD", false),
            (&[], &["**/draft*"], "x/draft-1.md", false),
            (&["**/*.md"], &["docs/old/**"], "docs/old/a.md", false),
            (&["**/*.md"], &["docs/old/**"], "docs/new/a.md", true),
        ];
        for (include, exclude, path, expected) in cases {
            assert_eq!(filter(include, exclude).unwrap().selects(path), *expected, "{path} {include:?} {exclude:?}");
        }
    }

    #[test]
    fn a_pattern_may_exclude_a_whole_folder() {
        let cases: &[(&[&str], &str, bool)] = &[
            (&[], "private", false),
            (&["private/**"], "private", true),
            (&["private/**"], "private/sub", true),
            (&["**/private/**"], "a/private", true),
            (&["private/**"], "a/private", false),
            (&["private/**"], "priv", false),
            (&["private/*"], "private", false),
            (&["private/?/?"], "private", false),
            (&["private/**/*.md"], "private", false),
        ];
        for (exclude, folder, expected) in cases {
            assert_eq!(filter(&[], exclude).unwrap().excludes_all_below(folder), *expected, "{folder} {exclude:?}");
        }
    }

    #[test]
    fn a_folder_may_be_outside_all_included_ones() {
        let cases: &[(&[&str], &str, bool)] = &[
            (&[], "other", false),
            (&["docs/**"], "other", true),
            (&["docs/**"], "docs", false),
            (&["docs/**"], "docs/old", false),
            (&["docs/**"], "docs-old", true),
            (&["docs/**"], "doc", true),
            (&["docs/guides/*.md"], "docs", false),
            (&["docs/guides/*.md"], "docs/other", true),
            (&["doc*/a.md"], "docs", false),
            (&["**/*.md"], "any", false),
            (&["{docs,guides}/*.md"], "any", false),
            (&["docs/**", "*.md"], "any", false),
            (&["docs/a.md"], "docs", false),
            (&["docs/a.md"], "docs/b", true),
        ];
        for (include, folder, expected) in cases {
            assert_eq!(filter(include, &[]).unwrap().excludes_all_below(folder), *expected, "{folder} {include:?}");
        }
    }

    #[test]
    fn the_error_of_an_invalid_pattern_contains_it() {
        let error = filter(&["*.md", "a[b"], &[]).unwrap_err();
        assert_eq!(error.kind(), "pattern");
        assert!(error.to_string().contains("'a[b'"), "{error}");
        assert!(filter(&[], &["{a"]).is_err());
    }
}
