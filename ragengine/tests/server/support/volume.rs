use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// How a volume is mounted.
pub enum Access {
    Write,
    Read,
}

/// A file system of its own, ext4 in a file: what a disk does that is full, or that fails.
pub struct Volume {
    folder: TempDir,
}

impl Volume {
    /// Makes one. None where nothing can be mounted, which is said: to do it, the tests run as root, or as a user for whom sudo asks nothing.
    pub fn new(test: &str, bytes: u64) -> Option<Self> {
        if !as_root("unshare").args(["--mount", "true"]).output().is_ok_and(|output| output.status.success()) {
            // Not `println`, which the test runner takes.
            drop(writeln!(std::io::stdout(), "skipped: {test}: only root can mount a volume"));
            return None;
        }
        let volume = Self { folder: tempfile::tempdir().unwrap() };
        File::create(volume.image()).unwrap().set_len(bytes).unwrap();
        fs::create_dir(volume.mounted_at()).unwrap();
        run(sbin(&mut Command::new("mkfs.ext4")).args(["-q", "-E", "root_owner"]).arg(volume.image()));
        volume.mount(Access::Write);
        Some(volume)
    }

    /// A folder on it.
    pub fn data(&self) -> PathBuf {
        self.mounted_at().join("data")
    }

    /// Takes all that is free. The room comes back when the file that is returned is removed.
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

    /// What Linux does with an ext4 that met an error of its disk: what is open can be read, and nothing can be written any more.
    pub fn fail(&self) {
        self.remount("abort");
    }

    /// Lets go of it and mounts it again, as a node does that starts. Nothing of it may be open.
    pub fn mount_again(&self, access: Access) {
        run(as_root("umount").arg(self.mounted_at()));
        self.mount(access);
    }

    /// Allows writing, while it is in use.
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
        // Lazily: a test that fails may have left something open.
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

/// Lets it be found where it is, which is not in everybody's `PATH`.
fn sbin(command: &mut Command) -> &mut Command {
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/sbin:/sbin"))
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
