use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// Whether a volume is mounted read-only or writable.
pub enum Access {
    Write,
    Read,
}

/// A separate ext4 file system in an image file, which can be filled or made to fail.
pub struct Volume {
    folder: TempDir,
}

impl Volume {
    /// Creates and mounts a volume. Mounting needs root, or sudo without a password. Otherwise this reports that the
    /// test is skipped, and returns `None`.
    pub fn new(test: &str, bytes: u64) -> Option<Self> {
        if !as_root("unshare").args(["--mount", "true"]).output().is_ok_and(|output| output.status.success()) {
            skipped(test, "only root can mount a volume");
            return None;
        }
        let volume = Self { folder: tempfile::tempdir().unwrap() };
        File::create(volume.image()).unwrap().set_len(bytes).unwrap();
        fs::create_dir(volume.mounted_at()).unwrap();
        run(sbin(&mut Command::new("mkfs.ext4")).args(["-q", "-E", "root_owner"]).arg(volume.image()));
        volume.mount(Access::Write);
        Some(volume)
    }

    /// The data folder on the volume.
    pub fn data(&self) -> PathBuf {
        self.mounted_at().join("data")
    }

    /// Fills the volume with one file and returns its path. Removing the file frees the space.
    pub fn fill(&self) -> PathBuf {
        let path = self.mounted_at().join("filler");
        let mut file = File::create(&path).unwrap();
        for piece in [64 << 10, 1] {
            let bytes = vec![0; piece];
            loop {
                match file.write_all(&bytes) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => panic!("filling the volume: {error}"),
                }
            }
        }
        path
    }

    /// Aborts the file system, as Linux does after a disk error: it stays readable, and every write fails.
    pub fn fail(&self) {
        self.remount("abort");
    }

    /// Unmounts the volume and mounts it again. No file on it may be open.
    pub fn mount_again(&self, access: Access) {
        run(as_root("umount").arg(self.mounted_at()));
        self.mount(access);
    }

    /// Remounts the volume writable while it is in use.
    pub fn allow_writing(&self) {
        self.remount("rw");
    }

    fn mount(&self, access: Access) {
        run(as_root("mount").args(["-o", "loop"]).args([self.image(), self.mounted_at()]));
        match access {
            Access::Write => {}
            Access::Read => self.remount("ro"),
        }
    }

    fn remount(&self, option: &str) {
        run(as_root("mount").args(["-o", &format!("remount,{option}")]).arg(self.mounted_at()));
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    fn mounted_at(&self) -> PathBuf {
        self.folder.path().join("mounted")
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        // Lazy, because a failed test may have left files open.
        drop(as_root("umount").arg("--lazy").arg(self.mounted_at()).output());
    }
}

fn as_root(program: &str) -> Command {
    let mut command = if rustix::process::geteuid().is_root() {
        Command::new(program)
    } else {
        let mut sudo = Command::new("sudo");
        sudo.args(["-n", program]);
        sudo
    };
    sbin(&mut command);
    command
}

/// Adds the folders of system programs, which may be missing in `PATH`.
fn sbin(command: &mut Command) -> &mut Command {
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/sbin:/sbin"))
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Reports a skipped test on standard output and in the file that `RAGENGINE_NOTES` names, which ends up in the summary
/// of the run.
fn skipped(test: &str, reason: &str) {
    let line = format!("skipped: {test}: {reason}\n");
    drop(std::io::stdout().write_all(line.as_bytes()));
    if let Some(file) = std::env::var_os("RAGENGINE_NOTES") {
        fs::OpenOptions::new().append(true).create(true).open(file).unwrap().write_all(line.as_bytes()).unwrap();
    }
}
