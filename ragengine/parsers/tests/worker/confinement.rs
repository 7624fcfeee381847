//! Tests the confinement of workers from inside a worker, with this machine's kernel and with simulated older ones.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::sync_channel;

use landlock::ABI;
use libtest_mimic::{Failed, Trial};
use rustix::process::{Resource, getrlimit};
use serde_json::{Value, json};

use crate::cases::{LIMITS, good_page, parser, read, run};
use crate::kernel::{Kernel, Missing};
use crate::prying::{ATTEMPTS, BECOME, Older, Place, PryingInput, PryingOutput, prepare};

/// The argument that makes this program a worker that makes forbidden attempts, followed by a folder, an address and a
/// socket.
pub const PRY: &str = "--pry";
/// The argument, followed by a file, that makes this program a parent that parses it with two workers.
pub const TWO_WORKERS: &str = "--two-workers";
/// The argument that makes this program a worker that overflows its stack.
pub const OVERFLOW: &str = "--overflow";
/// The argument that makes the worker start a thread before it is confined.
const OLDER: &str = "--older-thread";

pub fn all() -> Vec<Trial> {
    vec![
        Trial::test("a_worker_is_denied_what_parsing_does_not_need", a_worker_is_denied_what_parsing_does_not_need),
        Trial::test("existing_threads_are_confined_too", existing_threads_are_confined_too),
        Trial::test("a_confined_worker_can_still_report_why_it_ends", a_confined_worker_can_still_report_why_it_ends),
        Trial::test(
            "missing_confinement_is_reported_once_for_all_workers",
            missing_confinement_is_reported_once_for_all_workers,
        ),
    ]
}

/// The results by thread and attempt, and the worker's greeting.
struct Pried {
    greeting: Value,
    attempts: BTreeMap<(String, String), String>,
}

/// Runs a worker whose input and output make the forbidden attempts.
pub fn pry(arguments: &[String]) -> std::io::Result<()> {
    let [folder, address, socket] = arguments else {
        return Err(std::io::Error::other("expected a folder, an address and a socket"));
    };
    let files = getrlimit(Resource::Nofile);
    let address: SocketAddr = address.parse().map_err(std::io::Error::other)?;
    let place = Place { folder: folder.into(), address, socket: socket.clone(), files };
    let older = std::env::args().any(|argument| argument == OLDER).then(|| Older::start(place.clone()));
    let (done, others_done) = sync_channel(1);
    let input = PryingInput { place: Some(place.clone()), older, done };
    ragengine_parsers::worker::serve(input, PryingOutput { place: Some(place), others_done })
}

fn pried(missing: Missing, has_older_thread: bool) -> Pried {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = folder.path().to_str().unwrap();
    let _socket = UnixListener::bind_addr(&UnixAddress::from_abstract_name(socket).unwrap()).unwrap();
    let mut worker = Command::new(std::env::current_exe().unwrap())
        .args(missing.arguments())
        .args(has_older_thread.then_some(OLDER))
        .arg(PRY)
        .arg(folder.path())
        .args([&listener.local_addr().unwrap().to_string(), socket])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut greeting = String::new();
    BufReader::new(worker.stdout.take().unwrap()).read_line(&mut greeting).unwrap();

    let mut attempts = BTreeMap::new();
    for line in BufReader::new(worker.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        let [thread, attempt, result] = line.splitn(3, ": ").collect::<Vec<_>>()[..] else { panic!("{line}") };
        attempts.insert((thread.to_owned(), attempt.to_owned()), result.to_owned());
        if (thread, attempt) == ("main", BECOME) {
            break;
        }
    }
    // Closing its input tells the worker that its parent has ended.
    drop(worker.stdin.take());
    assert!(worker.wait().unwrap().success());
    attempts.entry(("main".into(), BECOME.into())).or_insert_with(|| "done".into());
    Pried { greeting: serde_json::from_str(&greeting).unwrap(), attempts }
}

/// Checks that the attempts of a thread were denied if the kernel supports it, and succeeded otherwise.
fn check(pried: &Pried, thread: &str, kernel: Kernel) {
    let landlocks = ATTEMPTS.iter().map(|attempt| (attempt.name, attempt.landlock));
    let become_program = (thread == "main").then_some((BECOME, Some(ABI::V1)));
    for (name, landlock) in landlocks.chain(become_program) {
        let is_refused = kernel.seccomp || landlock.is_some_and(|first| first <= kernel.landlock);
        let expected = if is_refused { "refused" } else { "done" };
        let result = pried.attempts.get(&(thread.to_owned(), name.to_owned()));
        assert_eq!(result.map(String::as_str), Some(expected), "{thread}: {name}: {kernel:?}");
    }
}

fn greeting(kernel: Kernel) -> Value {
    let (files, network) = (kernel.landlock >= ABI::V1, kernel.landlock >= ABI::V4);
    json!({"confinement": {"files": files, "network": network, "calls": kernel.seccomp}})
}

fn kernel() -> Kernel {
    let kernel = Kernel::of_this_machine();
    if kernel.landlock < ABI::V6 || !kernel.seccomp {
        eprintln!("this kernel does not support all restrictions, and only the supported ones are tested: {kernel:?}");
    }
    kernel
}

fn a_worker_is_denied_what_parsing_does_not_need() -> Result<(), Failed> {
    for missing in Missing::COMBINATIONS {
        let kernel = kernel().without(missing);
        let pried = pried(missing, false);
        assert_eq!(pried.greeting, greeting(kernel));
        for thread in ["requests", "main"] {
            check(&pried, thread, kernel);
        }
    }
    Ok(())
}

/// A library may start threads before the worker is confined. The seccomp filter also applies to them. Landlock does so
/// since version 8; with older versions it is reported as not in force.
fn existing_threads_are_confined_too() -> Result<(), Failed> {
    for missing in Missing::COMBINATIONS {
        let kernel = kernel().without(missing);
        let for_all =
            if kernel.landlock < ABI::V8 { kernel.without(Missing { landlock: true, seccomp: false }) } else { kernel };
        let pried = pried(missing, true);
        assert_eq!(pried.greeting, greeting(for_all));
        check(&pried, "older", for_all);
        check(&pried, "main", kernel);
    }
    Ok(())
}

/// Runs a worker that overflows its stack on any request.
pub fn overflow() -> std::io::Result<()> {
    ragengine_parsers::worker::serve(std::io::stdin(), Bottomless)
}

struct Bottomless;

impl Write for Bottomless {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let deeper = black_box([bytes; 64]);
        if deeper.is_empty() {
            return Ok(0);
        }
        self.write(deeper[0]).map(|count| black_box(count + deeper.len()))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The parent derives the exceeded limit from the message.
fn a_confined_worker_can_still_report_why_it_ends() -> Result<(), Failed> {
    let program = std::env::current_exe()?;
    let mut worker = Command::new(program).arg(OVERFLOW).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // Kept open, because the worker ends when its input is closed.
    let _input = worker.stdin.take();
    let output = worker.wait_with_output()?;
    assert!(String::from_utf8_lossy(&output.stderr).contains("has overflowed its stack"), "{output:?}");
    assert_eq!(output.status.signal(), Some(6));
    Ok(())
}

/// Parses a file with two parsers, and prints the log and the reported confinement of the workers on standard output.
pub fn read_with_two_workers(path: &Path) {
    tracing_subscriber::fmt().with_ansi(false).with_writer(std::io::stdout).init();
    let mut output = std::io::stdout();
    let mut parsers = [parser(LIMITS), parser(LIMITS)];
    for parser in &mut parsers {
        assert_eq!(parser.confinement(), None);
        assert_eq!(run(read(parser, path)).as_deref(), Ok("# Good"));
        let said = json!({"confinement": parser.confinement()});
        writeln!(output, "{said}").unwrap();
    }
}

fn missing_confinement_is_reported_once_for_all_workers() -> Result<(), Failed> {
    for missing in Missing::COMBINATIONS {
        let folder = tempfile::tempdir()?;
        let kernel = kernel().without(missing);
        // Child processes inherit the simulated restrictions.
        let mut parent = Command::new(std::env::current_exe()?);
        let path = good_page(folder.path());
        let output = parent.args(missing.arguments()).arg(TWO_WORKERS).arg(path).stderr(Stdio::inherit()).output()?;
        assert!(output.status.success());
        let (log, workers): (Vec<_>, Vec<_>) =
            std::str::from_utf8(&output.stdout)?.lines().partition(|line| !line.starts_with('{'));
        assert_eq!(workers, [greeting(kernel).to_string(), greeting(kernel).to_string()]);
        let is_all_there = kernel.landlock >= ABI::V1 && kernel.seccomp;
        assert_eq!(log.len(), usize::from(!is_all_there), "{log:?}");
        for line in log {
            assert!(
                line.contains("WARN ragengine_parsers") && line.contains("in force: this kernel has none"),
                "{line}"
            );
        }
    }
    Ok(())
}
