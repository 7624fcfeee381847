use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::SourceError;

/// Which paths of a source are taken.
#[derive(Debug)]
pub struct Filter {
    include: Option<GlobSet>,
    exclude: GlobSet,
}

impl Filter {
    /// By patterns in which `*` stops at a slash and `**` does not.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Self, SourceError> {
        let include = if include.is_empty() { None } else { Some(compile(include)?) };
        Ok(Self { include, exclude: compile(exclude)? })
    }

    /// Whether a path is taken.
    pub fn takes(&self, path: &str) -> bool {
        self.include.as_ref().is_none_or(|include| include.is_match(path)) && !self.exclude.is_match(path)
    }

    /// Whether patterns such as `private/**` leave out all that a folder may have in it.
    pub fn leaves_out_all_below(&self, folder: &str) -> bool {
        // No file has such a name: only what matches everything matches it.
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
    fn patterns_choose_paths() {
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
            assert_eq!(filter(include, exclude).unwrap().takes(path), *expected, "{path} {include:?} {exclude:?}");
        }
    }

    #[test]
    fn a_pattern_may_leave_out_all_of_a_folder() {
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
            assert_eq!(filter(&[], exclude).unwrap().leaves_out_all_below(folder), *expected, "{folder} {exclude:?}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_named() {
        let error = filter(&["*.md", "a[b"], &[]).unwrap_err();
        assert_eq!(error.kind(), "pattern");
        assert!(error.to_string().contains("'a[b'"), "{error}");
        assert!(filter(&[], &["{a"]).is_err());
    }
}
