//! The repository, and commits to its only branch.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context as _, ensure};
use ragengine_e2e::changes::{Changes, Content};
use ragengine_e2e::source::{BRANCH, REPOSITORY};

use crate::content::bytes;

/// A bare repository.
pub struct Repository {
    work: PathBuf,
}

/// git must not hold a large file in memory, and must support clients that omit blobs.
const SETTINGS: [(&str, &str); 2] = [("core.bigFileThreshold", "1m"), ("uploadpack.allowFilter", "true")];

/// The whole environment of every git process, so that settings of the machine have no effect.
pub fn environment(work: &Path) -> Vec<(String, String)> {
    let fixed = [
        ("HOME", work.display().to_string()),
        ("PATH", "/usr/bin:/bin".to_owned()),
        ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
        ("GIT_CONFIG_COUNT", SETTINGS.len().to_string()),
    ];
    let settings = SETTINGS.iter().enumerate().flat_map(|(number, (name, value))| {
        [
            (format!("GIT_CONFIG_KEY_{number}"), (*name).to_owned()),
            (format!("GIT_CONFIG_VALUE_{number}"), (*value).to_owned()),
        ]
    });
    fixed.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(settings).collect()
}

impl Repository {
    /// Creates an empty repository.
    pub fn make(work: &Path) -> anyhow::Result<Self> {
        let repository = Self { work: work.to_owned() };
        let branch = format!("--initial-branch={BRANCH}");
        let path = work.join(REPOSITORY).display().to_string();
        let made = repository.git().args(["init", "--quiet", "--bare", "--template=", &branch, &path]).output()?;
        succeeded("git init", &made)?;
        Ok(repository)
    }

    /// Commits changes to the branch and returns the commit's id.
    pub fn commit(&self, changes: &Changes) -> anyhow::Result<String> {
        let before = self.head()?;
        let import = self
            .git_here()
            .args(["fast-import", "--quiet", "--date-format=now"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut import = import.context("git fast-import")?;
        let written = write(&mut import, before.as_deref(), changes);
        // git's own error comes first: invalid input shows up here only as a broken pipe.
        succeeded("git fast-import", &import.wait_with_output()?)?;
        written?;
        self.head()?.context("the branch has no commit after a commit")
    }

    fn head(&self) -> anyhow::Result<Option<String>> {
        let found =
            self.git_here().args(["rev-parse", "--quiet", "--verify", &format!("refs/heads/{BRANCH}")]).output()?;
        let id = String::from_utf8(found.stdout)?.trim().to_owned();
        Ok(Some(id).filter(|id| !id.is_empty()))
    }

    fn git(&self) -> Command {
        let mut git = Command::new("git");
        git.env_clear().envs(environment(&self.work));
        git
    }

    fn git_here(&self) -> Command {
        let mut git = self.git();
        git.arg("--git-dir").arg(self.work.join(REPOSITORY));
        git
    }
}

/// Writes a commit in the format of <https://git-scm.com/docs/git-fast-import>.
fn write(import: &mut Child, before: Option<&str>, changes: &Changes) -> anyhow::Result<()> {
    let mut to = BufWriter::new(import.stdin.take().context("git fast-import has no input")?);
    writeln!(to, "commit refs/heads/{BRANCH}\ncommitter Tests <tests@example.com> now\ndata 0")?;
    if let Some(before) = before {
        writeln!(to, "from {before}")?;
    }
    for path in &changes.remove {
        writeln!(to, "D {path}")?;
    }
    for (path, content) in &changes.put {
        put(&mut to, path, content)?;
    }
    writeln!(to)?;
    Ok(to.flush()?)
}

fn put(to: &mut impl Write, path: &str, content: &Content) -> anyhow::Result<()> {
    match content {
        Content::Submodule(commit) => writeln!(to, "M 160000 {commit} {path}")?,
        Content::Link(target) => writeln!(to, "M 120000 inline {path}\ndata {}\n{target}", target.len())?,
        _ => {
            let bytes = bytes(content)?;
            writeln!(to, "M 100644 inline {path}\ndata {}", bytes.length)?;
            bytes.write_to(to)?;
            writeln!(to)?;
        }
    }
    Ok(())
}

fn succeeded(what: &str, output: &Output) -> anyhow::Result<()> {
    ensure!(
        output.status.success(),
        "{what} ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_has_what_was_put_and_not_what_was_removed() {
        let work = std::env::temp_dir().join(format!("ragengine-e2e-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&work).unwrap();
        let repository = Repository::make(&work).unwrap();
        let first = repository.commit(&Changes::texts([("a.md", "A"), ("sub/b c.md", "B")])).unwrap();
        let link = Content::Link("/etc/passwd".to_owned());
        let large = Content::Repeated { line: "x\n".to_owned(), bytes: 3 << 20 };
        let second = Changes::texts([("a.md", "A2")]).and_remove(&["sub/b c.md", "never.md"]).and_put("link", link);
        let second = second.and_put("module", Content::Submodule(first.clone())).and_put("large.txt", large);
        repository.commit(&second).unwrap();
        let tree = repository.git_here().args(["ls-tree", "-r", "--long", BRANCH]).output().unwrap();
        let tree = String::from_utf8(tree.stdout).unwrap();
        let listed = tree.lines().map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            format!("{} {} {}", words[0], words[3], words[4])
        });
        let wanted = ["100644 2 a.md", "100644 3145728 large.txt", "120000 11 link", "160000 - module"];
        assert_eq!(listed.collect::<Vec<_>>(), wanted, "{tree}");
        std::fs::remove_dir_all(&work).unwrap();
    }
}
