use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::NamedTempFile;

use super::model_directory;

/// Path of the program `ragengine`.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_ragengine");

/// A server in a separate process, on a free port.
pub struct Process {
    child: Child,
    log: NamedTempFile,
    pub url: String,
}

/// The program, without the environment variables of the caller that would change its settings.
pub fn program() -> Command {
    let mut command = Command::new(PROGRAM);
    for name in [
        "LISTEN",
        "ADMIN_LISTEN",
        "DATA_DIR",
        "LLM_URL",
        "LLM_API_KEY",
        "LLM_MODEL",
        "EMBEDDING_MODEL",
        "RERANK_MODEL",
        "RERANK_SCORE_THRESHOLD",
        "RUST_LOG",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "RAGENGINE_SERVER",
        "RAGENGINE_WRITE_TOKEN",
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
    ] {
        command.env_remove(name);
    }
    command
}

impl Process {
    /// Starts a server on a data folder and waits until it is ready.
    pub fn start(data: &Path) -> Self {
        Self::start_with(data, &[])
    }

    /// Like [`Self::start`], with additional environment variables.
    pub fn start_with(data: &Path, environment: &[(&str, &str)]) -> Self {
        let mut command = command(data);
        command.envs(environment.iter().copied());
        let mut server = Self::spawn(command);
        server.wait_until("is ready", |server| is_ready(&server.url).then_some(()));
        server
    }

    /// Like [`Self::start`], with a file of settings.
    pub fn start_configured(data: &Path, settings: &Path) -> Self {
        let mut server = Self::start_configured_unready(data, settings);
        server.wait_until("is ready", |server| is_ready(&server.url).then_some(()));
        server
    }

    /// Like [`Self::start_configured`], but waits only until it listens.
    pub fn start_configured_unready(data: &Path, settings: &Path) -> Self {
        let mut command = command(data);
        command.arg("--config").arg(settings);
        Self::spawn(command)
    }

    /// Starts a server on a data folder and waits until it listens.
    pub fn start_unready(data: &Path) -> Self {
        Self::spawn(command(data))
    }

    fn spawn(mut command: Command) -> Self {
        let log = NamedTempFile::new().unwrap();
        let child = command.stderr(log.reopen().unwrap()).spawn().unwrap();
        let mut server = Self { child, log, url: String::new() };
        let address = server.wait_until("listens", |server| {
            let listening = server.log_lines().into_iter().find(|line| line["message"] == "listening")?;
            Some(listening["address"].as_str().unwrap().to_owned())
        });
        server.url = format!("http://{address}");
        server
    }

    /// The JSON of every complete line of its log.
    pub fn log_lines(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.log.path()).unwrap();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
    }

    /// Waits up to 60 s until `seen` returns a value, and returns that. `what` completes the sentence "the server …".
    pub fn wait_until<T>(&mut self, what: &str, mut seen: impl FnMut(&Self) -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(value) = seen(self) {
                return value;
            }
            assert!(self.child.try_wait().unwrap().is_none(), "the server ended: {:?}", self.log_lines());
            assert!(Instant::now() < deadline, "timeout while waiting until the server {what}: {:?}", self.log_lines());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGKILL, so that the program cannot clean up.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM and returns the exit code.
    pub fn terminate(mut self) -> Option<i32> {
        self.signal("TERM");
        self.exit_code()
    }

    /// Sends a signal, named without its prefix `SIG`.
    pub fn signal(&self, name: &str) {
        let (signal, pid) = (format!("-{name}"), self.child.id().to_string());
        assert!(Command::new("kill").args([signal, pid]).status().unwrap().success());
    }

    /// Waits until the process ends, and returns its exit code. `None` if a signal ended it.
    pub fn exit_code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Limits the size of each file it writes from now on, which simulates a full disk. `None` removes the limit.
    pub fn limit_files_to(&self, bytes: Option<u64>) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let limit = rustix::process::Rlimit { current: bytes, maximum: None };
        rustix::process::prlimit(Some(pid), rustix::process::Resource::Fsize, limit).unwrap();
    }

    /// Restarts the measurement of the peak memory, and returns the memory in use in bytes.
    pub fn reset_peak_memory(&self) -> u64 {
        std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5").unwrap();
        self.peak_memory_bytes()
    }

    /// The peak of its resident memory since its start or the last [`Self::reset_peak_memory`].
    pub fn peak_memory_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn command(data: &Path) -> Command {
    let mut command = program();
    command
        .arg("serve")
        .env("LISTEN", "127.0.0.1:0")
        .env("DATA_DIR", data)
        .env("EMBEDDING_MODEL", model_directory())
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// The standard error of a server that must fail to start.
pub fn startup_error(data: &Path) -> String {
    let mut child = command(data).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(!child.wait().unwrap().success(), "the server started");
    said
}

fn is_ready(url: &str) -> bool {
    drop(rustls::crypto::ring::default_provider().install_default());
    let (url, http) = (format!("{url}/readyz"), reqwest::Client::new());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { http.get(url).send().await.is_ok_and(|response| response.status().is_success()) })
}
