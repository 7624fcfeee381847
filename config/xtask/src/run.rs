//! Running other programs in the checkout.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// The checkout. `cargo xtask` names the folder of this crate, which is two folders below it. The folder is not compiled
/// in, because checkouts may share a target folder. Without cargo it is the current folder.
pub fn root() -> PathBuf {
    let crate_folder = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let root = crate_folder.and_then(|folder| Some(folder.ancestors().nth(2)?.to_owned()));
    root.unwrap_or_else(|| PathBuf::from("."))
}

/// A command that runs in the folder `root` and reads nothing. It does not inherit what cargo says about this package:
/// another cargo, also one that a script starts, would compile `ring` again, and with it all that depends on it.
pub fn command(program: impl AsRef<OsStr>, root: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root).stdin(Stdio::null());
    for (name, _) in env::vars_os().filter(|(name, _)| is_of_this_package(name)) {
        command.env_remove(name);
    }
    command
}

/// Whether it is a variable that cargo sets to describe the package that it runs.
fn is_of_this_package(variable: &OsStr) -> bool {
    let name = variable.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

/// `cargo` with arguments, as the cargo that runs this.
pub fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut cargo = command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), root);
    cargo.args(arguments);
    cargo
}

/// The same, with a folder first in PATH: for a subcommand of cargo that is installed there.
pub fn cargo_with(root: &Path, bin: &Path, arguments: &[&str]) -> Command {
    let mut cargo = cargo(root, arguments);
    cargo.env("PATH", path_with(bin));
    cargo
}

/// PATH with a folder before all others.
pub fn path_with(bin: &Path) -> std::ffi::OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(bin.to_owned()).chain(env::split_paths(&path));
    env::join_paths(folders).unwrap_or(path)
}

/// Runs a command that prints to the terminal.
///
/// # Errors
///
/// It cannot be started, or it fails.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{} cannot be started", name(command)))?;
    if !status.success() {
        bail!("{} failed: {status}", name(command));
    }
    Ok(())
}

/// Runs a command and returns what it prints on standard output.
///
/// # Errors
///
/// It cannot be started, it fails (what it says is in the error), or it prints something else than UTF-8.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{} cannot be started", name(command)))?;
    if !output.status.success() {
        bail!("{} failed: {}\n{}", name(command), output.status, String::from_utf8_lossy(&output.stderr).trim_end());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{} printed something else than text", name(command)))
}

/// The program with its first arguments, for errors.
fn name(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args().take(3));
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_inherits_nothing_about_this_package() {
        let command = command("true", Path::new("."));
        let removed: Vec<_> = command.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        // cargo sets them for its tests too.
        for name in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME", "CARGO_PKG_VERSION_MAJOR"] {
            assert!(removed.contains(&OsStr::new(name)), "{name}");
        }
        assert!(!removed.contains(&OsStr::new("CARGO_TARGET_DIR")));
    }
}
