//! An OpenTelemetry collector for tests: the program that `make setup` builds from `config/local/collector`. It listens
//! on this machine only, on a free port, and writes what it receives to a file in a temporary folder.
//!
//! Functions panic when something is not as a test needs it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

/// What the program is built from. Its folder in the cache has the hash in its name.
const SOURCES: [&[u8]; 2] = [
    include_bytes!("../../../config/local/collector/go.mod"),
    include_bytes!("../../../config/local/collector/main.go"),
];

/// The collector starts and stops within this time. It needs less than a second.
const LIMIT: Duration = Duration::from_secs(30);

/// It tries so many ports.
const ATTEMPTS: usize = 5;

/// The spans that a test waits for arrive within this time.
const PATIENCE: Duration = Duration::from_secs(30);

/// The line of its log that says that it listens.
const LISTENS: &str = "Everything is ready";

/// A collector. It ends when this is dropped.
pub struct Collector {
    // It ends before its folder is removed.
    process: Option<Stopped>,
    folder: TempDir,
    port: u16,
}

/// A process that is killed when this is dropped.
struct Stopped(Child);

impl Drop for Stopped {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A span as the collector received it.
#[derive(Clone, Debug)]
pub struct Span {
    pub name: String,
    /// 32 hexadecimal digits.
    pub trace_id: String,
    /// 16 hexadecimal digits.
    pub span_id: String,
    /// `None` for the root of a trace.
    pub parent_span_id: Option<String>,
    /// `internal`, `server`, `client`, `producer`, `consumer` or `unspecified`.
    pub kind: &'static str,
    pub attributes: Attributes,
    /// `unset`, `ok` or `error`.
    pub status_code: &'static str,
    /// The attributes of the process that made the span.
    pub resource: Attributes,
}

/// Attributes by name, as plain JSON.
pub type Attributes = BTreeMap<String, Value>;

impl Collector {
    /// Starts a collector on a free port.
    ///
    /// # Panics
    ///
    /// If the program is missing or does not start.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut collector = Self { process: None, folder, port: free_port() };
        for _ in 0..ATTEMPTS {
            if collector.try_start() {
                return collector;
            }
            // Another program may have taken the port.
            collector.port = free_port();
        }
        panic!("the collector did not start: {}", collector.log());
    }

    /// Its address without a path. Traces go to `/v1/traces` below it.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Stops the collector. It answers the requests that it has, and writes them to its file.
    ///
    /// # Panics
    ///
    /// If it runs on.
    pub fn stop(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        let pid = rustix::process::Pid::from_child(&process.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a running collector");
        let until = Instant::now() + LIMIT;
        while process.0.try_wait().expect("its state").is_none() {
            assert!(Instant::now() < until, "the collector did not stop: {}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Starts the collector again after [`Self::stop`], on the same port. It keeps the spans that it has.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start_again(&mut self) {
        self.stop();
        assert!(self.try_start(), "the collector did not start again: {}", self.log());
    }

    /// Waits up to 30 s until the spans that the collector has received since its first start satisfy the condition.
    /// Returns all of them, in the order of their arrival.
    ///
    /// # Panics
    ///
    /// If they do not satisfy it in time.
    pub async fn spans(&self, until: impl Fn(&[Span]) -> bool) -> Vec<Span> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let spans = self.received();
            if until(&spans) {
                return spans;
            }
            assert!(Instant::now() < deadline, "other spans arrived: {spans:#?}; the collector's log: {}", self.log());
            // The server under test may run in this thread.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The spans that the collector has received and written by now. It writes ten times a second.
    pub fn received(&self) -> Vec<Span> {
        let text = fs::read_to_string(self.path("spans.jsonl")).unwrap_or_default();
        // The last line may be incomplete.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().flat_map(spans_of_request).collect()
    }

    /// Returns whether the collector listens.
    fn try_start(&mut self) -> bool {
        let configuration = self.path("collector.yaml");
        fs::write(&configuration, self.configuration()).expect("the configuration");
        let program = program();
        let spawned = Command::new(&program)
            .arg("--config")
            .arg(&configuration)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(self.path("log")).expect("the log"))
            .spawn();
        let mut process = Stopped(spawned.unwrap_or_else(|_| panic!("no {}: run `make setup`", program.display())));
        let until = Instant::now() + LIMIT;
        while Instant::now() < until && process.0.try_wait().expect("its state").is_none() {
            if self.log().contains(LISTENS) {
                self.process = Some(process);
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }

    fn configuration(&self) -> String {
        format!(
            "receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{}'}}}}}}}}\n\
             exporters: {{file: {{path: '{}', append: true, flush_interval: 100ms}}}}\n\
             service: {{pipelines: {{traces: {{receivers: [otlp], exporters: [file]}}}}}}\n",
            self.port,
            self.path("spans.jsonl").display()
        )
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// The path of the program, as `config/local/paths.sh` names it.
fn program() -> PathBuf {
    let hash: String = Sha256::digest(SOURCES.concat()).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let cache = std::env::var_os("RAGENGINE_CACHE")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").expect("HOME is set")).join(".cache/ragengine"));
    cache.join(format!("tools/collector-{hash}/collector"))
}

/// The spans of a line of the file, which is one request in the JSON of OTLP:
/// <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>
fn spans_of_request(line: &str) -> Vec<Span> {
    let request: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let mut spans = Vec::new();
    for of_resource in list(&request["resourceSpans"]) {
        let resource = attributes(&of_resource["resource"]["attributes"]);
        for of_scope in list(&of_resource["scopeSpans"]) {
            spans.extend(list(&of_scope["spans"]).iter().map(|span| self::span(span, &resource)));
        }
    }
    spans
}

fn span(span: &Value, resource: &Attributes) -> Span {
    let text = |name: &str| span[name].as_str().unwrap_or_default().to_owned();
    Span {
        name: text("name"),
        trace_id: text("traceId"),
        span_id: text("spanId"),
        parent_span_id: Some(text("parentSpanId")).filter(|id| !id.is_empty()),
        kind: match span["kind"].as_u64() {
            Some(1) => "internal",
            Some(2) => "server",
            Some(3) => "client",
            Some(4) => "producer",
            Some(5) => "consumer",
            _ => "unspecified",
        },
        attributes: attributes(&span["attributes"]),
        status_code: match span["status"]["code"].as_u64() {
            Some(1) => "ok",
            Some(2) => "error",
            _ => "unset",
        },
        resource: resource.clone(),
    }
}

fn attributes(attributes: &Value) -> Attributes {
    let name = |attribute: &Value| attribute["key"].as_str().expect("a name").to_owned();
    list(attributes).iter().map(|attribute| (name(attribute), plain(&attribute["value"]))).collect()
}

/// The value without its type. An integer comes as text, because JSON's numbers may be less exact. Bytes stay base64.
fn plain(value: &Value) -> Value {
    let Some((kind, inner)) = value.as_object().and_then(|fields| fields.iter().next()) else { return Value::Null };
    match (kind.as_str(), inner) {
        ("intValue", Value::String(digits)) => digits.parse::<i64>().expect("an integer").into(),
        ("arrayValue", _) => list(&inner["values"]).iter().map(plain).collect(),
        ("kvlistValue", _) => attributes(&inner["values"]).into_iter().collect(),
        _ => inner.clone(),
    }
}

/// A list that is empty is left out of the JSON.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("its address").port()
}
