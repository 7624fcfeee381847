use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::SourceError;

/// Selects paths of a source by `include` and `exclude`.
#[derive(Debug)]
pub struct Filter {
    include: Option<GlobSet>,
    exclude: GlobSet,
}

impl Filter {
    /// Compiles the patterns. `*` does not match a slash, `**` does.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Self, SourceError> {
        let include = if include.is_empty() { None } else { Some(compile(include)?) };
        Ok(Self { include, exclude: compile(exclude)? })
    }

    /// Whether a path is selected.
    pub fn selects(&self, path: &str) -> bool {
        self.include.as_ref().is_none_or(|include| include.is_match(path)) && !self.exclude.is_match(path)
    }

    /// Whether a pattern such as `private/**` excludes every file that the folder may contain.
    pub fn excludes_all_below(&self, folder: &str) -> bool {
        // No file has such a name, so only a pattern for all files matches it.
        self.exclude.is_match(format!("{folder}/\0\0\0/\0\0\0\0/\0\0\0\0\0"))
    }
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
    fn the_error_of_an_invalid_pattern_contains_it() {
        let error = filter(&["*.md", "a[b"], &[]).unwrap_err();
        assert_eq!(error.kind(), "pattern");
        assert!(error.to_string().contains("'a[b'"), "{error}");
        assert!(filter(&[], &["{a"]).is_err());
    }
}
