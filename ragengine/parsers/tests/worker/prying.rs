//! Simulates a worker that was taken over: it makes forbidden attempts in each of its threads and reports the results.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr as UnixAddress, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use landlock::ABI;
use rustix::process::{PidfdFlags, Resource, Rlimit, Signal, getppid, kill_process, pidfd_open, prlimit};

/// The targets of the attempts.
#[derive(Debug, Clone)]
pub struct Place {
    /// A folder with a subfolder for each thread: see [`prepare`].
    pub folder: PathBuf,
    /// The address of a TCP listener.
    pub address: SocketAddr,
    /// The abstract name of a Unix listener.
    pub socket: String,
    /// The limit of open files.
    pub files: Rlimit,
}

/// A forbidden attempt.
pub struct Attempt {
    pub name: &'static str,
    /// The first version of Landlock that denies it.
    pub landlock: Option<ABI>,
    run: fn(&Place, &Path) -> io::Result<()>,
}

/// The threads that make attempts: the one that reads requests, the one that parses, and one that was started before
/// both.
pub const THREADS: [&str; 3] = ["requests", "main", "older"];
/// Tried last, by the main thread, because it replaces the process if it succeeds.
pub const BECOME: &str = "become a program";

/// Each succeeds in an unconfined process; otherwise the tests would prove nothing.
pub const ATTEMPTS: [Attempt; 22] = [
    attempt("read a file", Some(ABI::V1), |_, own| File::open(own.join("a")).map(drop)),
    attempt("read what the kernel says", Some(ABI::V1), |_, _| fs::read("/proc/self/maps").map(drop)),
    attempt("write a file", Some(ABI::V1), |_, own| File::options().append(true).open(own.join("a")).map(drop)),
    attempt("make a file", Some(ABI::V1), |_, own| File::create(own.join("new")).map(drop)),
    attempt("make a folder", Some(ABI::V1), |_, own| fs::create_dir(own.join("folder"))),
    attempt("make a link", Some(ABI::V1), |_, own| symlink("a", own.join("link"))),
    attempt("list a folder", Some(ABI::V1), |_, own| fs::read_dir(own).map(drop)),
    attempt("rename a file", Some(ABI::V1), |_, own| fs::rename(own.join("b"), own.join("c"))),
    attempt("remove a file", Some(ABI::V1), |_, own| fs::remove_file(own.join("d"))),
    attempt("ask for a file", None, |_, own| fs::metadata(own.join("a")).map(drop)),
    attempt("change a mode", None, |_, own| fs::set_permissions(own.join("a"), Permissions::from_mode(0o600))),
    attempt("go to a folder", None, |_, own| std::env::set_current_dir(own)),
    attempt("connect", Some(ABI::V4), |place, _| TcpStream::connect(place.address).map(drop)),
    attempt("listen", Some(ABI::V4), |_, _| TcpListener::bind("127.0.0.1:0").map(drop)),
    attempt("bind a datagram socket", Some(ABI::V10), |_, _| UdpSocket::bind("127.0.0.1:0").map(drop)),
    attempt("make a pair of sockets", None, |_, _| UnixStream::pair().map(drop)),
    attempt("connect on this machine", Some(ABI::V6), |place, _| {
        UnixStream::connect_addr(&UnixAddress::from_abstract_name(&place.socket)?).map(drop)
    }),
    attempt("run a program", Some(ABI::V1), |_, _| Command::new("/bin/true").status().map(drop)),
    attempt("start a thread", None, |_, _| std::thread::Builder::new().spawn(|| ()).map(drop)),
    attempt("signal another process", Some(ABI::V6), |_, _| Ok(kill_process(parent()?, Signal::CONT)?)),
    attempt("take hold of another process", None, |_, _| Ok(pidfd_open(parent()?, PidfdFlags::empty()).map(drop)?)),
    attempt("bound another process", None, |place, _| {
        Ok(prlimit(Some(parent()?), Resource::Nofile, place.files).map(drop)?)
    }),
];

const fn attempt(name: &'static str, landlock: Option<ABI>, run: fn(&Place, &Path) -> io::Result<()>) -> Attempt {
    Attempt { name, landlock, run }
}

fn parent() -> io::Result<rustix::process::Pid> {
    getppid().ok_or_else(|| io::Error::other("it has no parent"))
}

/// Creates the files for the attempts.
pub fn prepare(folder: &Path) -> io::Result<()> {
    for thread in THREADS {
        fs::create_dir(folder.join(thread))?;
        for name in ["a", "b", "d"] {
            File::create(folder.join(thread).join(name))?;
        }
    }
    Ok(())
}

/// Makes all attempts and prints each result on a line of standard error.
pub fn try_all(place: &Place, thread: &str) {
    let own = place.folder.join(thread);
    for attempt in ATTEMPTS {
        say(thread, attempt.name, (attempt.run)(place, &own));
    }
    if thread == "main" {
        say(thread, BECOME, Err(Command::new("/bin/true").exec()));
    }
}

fn say(thread: &str, attempt: &str, result: io::Result<()>) {
    let words = match result {
        Ok(()) => "done".to_owned(),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => "refused".to_owned(),
        Err(error) => error.to_string(),
    };
    eprintln!("{thread}: {attempt}: {words}");
}

/// A thread that was started before the worker was confined. It makes its attempts on request.
pub struct Older {
    go: SyncSender<()>,
    done: Receiver<()>,
}

impl Older {
    pub fn start(place: Place) -> Self {
        let (go, started) = sync_channel(0);
        let (end, done) = sync_channel(1);
        std::thread::spawn(move || {
            if started.recv().is_ok() {
                try_all(&place, "older");
            }
            let _ = end.send(());
            // Ending the thread would need denied system calls.
            std::thread::park();
        });
        Self { go, done }
    }

    fn try_all(&self) {
        self.go.send(()).unwrap();
        self.done.recv().unwrap();
    }
}

/// The worker's input. The first read is made by the thread that reads requests.
pub struct PryingInput {
    pub place: Option<Place>,
    pub older: Option<Older>,
    pub done: SyncSender<()>,
}

impl Read for PryingInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(place) = self.place.take() {
            try_all(&place, "requests");
        }
        if let Some(older) = self.older.take() {
            older.try_all();
        }
        let _ = self.done.try_send(());
        io::stdin().read(buffer)
    }
}

/// The worker's output, written by the thread that parses.
pub struct PryingOutput {
    pub place: Option<Place>,
    pub others_done: Receiver<()>,
}

impl Write for PryingOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stdout().write_all(bytes)?;
        io::stdout().flush()?;
        if let Some(place) = self.place.take() {
            // Replacing the process would end the other threads, so that they must be finished.
            self.others_done.recv().unwrap();
            try_all(&place, "main");
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}
