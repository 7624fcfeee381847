use std::any::Any;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Barrier};
use std::thread;

use serde::Serialize;

use super::confinement::Confining;
use super::memory::MemoryBound;
use super::protocol::{Greeting, MAX_REQUEST_BYTES, ParseOutcome, Reply, Request};
use crate::metadata::cut;
use crate::parse::parse_whole;
use crate::{Content, Input, ParseError, ParsedDocument};

/// Maximum length of a reported panic message in bytes.
const MAX_PANIC_BYTES: usize = 300;
const READER_STACK_BYTES: usize = 256 << 10;

/// Runs a worker until its parent closes `input` or ends. This is the whole program of a process that
/// [`Parser`](crate::Parser) starts. Call it before anything else in the process, and above all before there are other
/// threads.
///
/// Before it reads input, the process permanently gives up the rights that parsing does not need: see
/// [`Confinement`](super::Confinement).
///
/// # Errors
///
/// When the process cannot limit its memory, or cannot communicate with its parent.
pub fn serve(input: impl Read + Send + 'static, output: impl Write) -> io::Result<()> {
    // Panic messages are returned to the parent instead of being printed.
    std::panic::set_hook(Box::new(|_| {}));
    let memory = MemoryBound::of_this_process()?;
    let confining = Confining::begin();
    let gate = Arc::new(Barrier::new(2));
    let requests = listen(input, Arc::clone(&gate))?;
    // Starting a thread needs system calls that are denied later.
    gate.wait();
    let confinement = confining.end();
    gate.wait();
    let mut output = BufWriter::new(output);
    say(&mut output, &Greeting { confinement })?;
    for (request, bytes) in requests {
        memory.set(request.limits.max_memory_bytes)?;
        let outcome = match catch_unwind(AssertUnwindSafe(|| answer(request, bytes))) {
            Ok(Ok(document)) => ParseOutcome::Parsed(document),
            Ok(Err(error)) => ParseOutcome::Failed(error),
            Err(panic) => ParseOutcome::Failed(ParseError::Failed(words_of(panic.as_ref()))),
        };
        let reply = Reply { outcome, is_last: memory.holds_much()? };
        say(&mut output, &reply)?;
    }
    Ok(())
}

fn answer(request: Request, bytes: Vec<u8>) -> Result<ParsedDocument, ParseError> {
    let input = Input { format: request.format, charset: request.charset, content: Content::Bytes(bytes) };
    parse_whole(input, &request.limits)
}

fn say(output: &mut impl Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, line)?;
    output.write_all(b"\n")?;
    output.flush()
}

/// Reads requests in a separate thread, so that the process ends as soon as its parent does, even while it parses. The
/// thread waits at the gate twice: after it has started, and until the process is confined.
fn listen(input: impl Read + Send + 'static, gate: Arc<Barrier>) -> io::Result<Receiver<(Request, Vec<u8>)>> {
    let (sender, receiver) = sync_channel(0);
    thread::Builder::new().name("requests".to_owned()).stack_size(READER_STACK_BYTES).spawn(move || {
        gate.wait();
        gate.wait();
        let is_well = read_requests(BufReader::new(input), &sender).is_ok();
        std::process::exit(i32::from(!is_well));
    })?;
    Ok(receiver)
}

fn read_requests(mut input: impl BufRead, requests: &SyncSender<(Request, Vec<u8>)>) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.by_ref().take(MAX_REQUEST_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let request: Request = serde_json::from_slice(&line)?;
        let mut bytes = vec![0; request.bytes];
        input.read_exact(&mut bytes)?;
        if requests.send((request, bytes)).is_err() {
            return Ok(());
        }
    }
}

fn words_of(panic: &(dyn Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    cut(words.unwrap_or("the panic has no message"), MAX_PANIC_BYTES).to_owned()
}
