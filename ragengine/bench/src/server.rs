//! The measured server: a child process with separate settings and data.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use crate::args::Parts;
use crate::child::ChildProcess;
use crate::http::Connection;

/// Maximum time until the server is ready.
const START_TIMEOUT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(50);

/// Environment variables that would override the settings.
const OVERRIDES: [&str; 8] =
    ["LISTEN", "ADMIN_LISTEN", "DATA_DIR", "LLM_URL", "LLM_API_KEY", "LLM_MODEL", "EMBEDDING_MODEL", "RUST_LOG"];

/// A running server.
pub struct Server {
    process: ChildProcess,
    program: PathBuf,
    settings: Value,
    settings_file: PathBuf,
    log: PathBuf,
    address: SocketAddr,
}

impl Server {
    /// Starts the server with an empty data folder below `folder` and waits until it is ready.
    ///
    /// # Errors
    ///
    /// If the server exits or is not ready in time; the message has the last line of its log.
    pub async fn start(parts: &Parts, folder: &Path, upstream: SocketAddr) -> anyhow::Result<Self> {
        Self::start_limited(parts, folder, upstream, &json!({})).await
    }

    /// Like [`Self::start`], with these `limits` in the settings.
    ///
    /// # Errors
    ///
    /// Like [`Self::start`].
    pub async fn start_limited(
        parts: &Parts,
        folder: &Path,
        upstream: SocketAddr,
        limits: &Value,
    ) -> anyhow::Result<Self> {
        Self::start_with(parts, folder, upstream, json!({"limits": limits})).await
    }

    /// Like [`Self::start`], with these further settings.
    ///
    /// # Errors
    ///
    /// Like [`Self::start`].
    pub async fn start_with(parts: &Parts, folder: &Path, upstream: SocketAddr, more: Value) -> anyhow::Result<Self> {
        let address = free_address()?;
        let mut settings = settings(parts, folder, address, upstream);
        for (name, value) in more.as_object().into_iter().flatten() {
            settings[name] = value.clone();
        }
        let settings_file = folder.join("settings.yaml");
        let log = folder.join("server.log");
        let process = spawn(&parts.server, &settings, &settings_file, &log)?;
        let mut server = Self { process, program: parts.server.clone(), settings, settings_file, log, address };
        server.wait_until_ready().await?;
        Ok(server)
    }

    /// Stops the server. [`Self::restart`] starts it again.
    pub fn stop(&mut self) {
        self.process.stop();
    }

    /// Stops the server and starts it again with the same data.
    ///
    /// # Errors
    ///
    /// Like [`Self::start`].
    pub async fn restart(&mut self) -> anyhow::Result<()> {
        self.process.stop();
        self.process = spawn(&self.program, &self.settings, &self.settings_file, &self.log)?;
        self.wait_until_ready().await
    }

    /// Like [`Self::restart`], with these further settings.
    ///
    /// # Errors
    ///
    /// Like [`Self::start`].
    pub async fn restart_with(&mut self, more: Value) -> anyhow::Result<()> {
        for (name, value) in more.as_object().into_iter().flatten() {
            self.settings[name] = value.clone();
        }
        self.restart().await
    }

    /// Like [`Self::restart`], with a new `retrieval.maxDistance`.
    ///
    /// # Errors
    ///
    /// Like [`Self::start`].
    pub async fn restart_with_max_distance(&mut self, max_distance: f64) -> anyhow::Result<()> {
        self.settings["retrieval"]["maxDistance"] = json!(max_distance);
        self.restart().await
    }

    /// Address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Log of all starts so far.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn log(&self) -> anyhow::Result<String> {
        fs::read_to_string(&self.log).context("cannot read the server's log")
    }

    async fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        while !is_ready(self.address).await {
            self.process.require_running().with_context(|| self.last_log_line())?;
            if Instant::now() > deadline {
                let (seconds, line) = (START_TIMEOUT.as_secs(), self.last_log_line());
                bail!("the server was not ready within {seconds} s; the last line of its log: {line}");
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// Context for errors: whether the server runs, and the last line of its log.
    pub fn condition(&mut self) -> String {
        let state =
            self.process.require_running().err().map_or("the server runs".to_owned(), |error| error.to_string());
        format!("{state}; the last line of its log: {}", self.last_log_line())
    }

    fn last_log_line(&self) -> String {
        let log = self.log().unwrap_or_default();
        log.lines().last().unwrap_or("(empty)").to_owned()
    }
}

/// Starts the process. The settings are written as JSON, which is valid YAML.
fn spawn(program: &Path, settings: &Value, settings_file: &Path, log: &Path) -> anyhow::Result<ChildProcess> {
    fs::write(settings_file, settings.to_string())?;
    let mut command = Command::new(program);
    command.arg("serve").arg("--config").arg(settings_file);
    command.stderr(File::options().append(true).create(true).open(log)?);
    for name in OVERRIDES {
        command.env_remove(name);
    }
    ChildProcess::start("the server", &mut command)
}

/// Log level: the default of the server.
pub const LOG_LEVEL: &str = "info";

/// Log format: the default of the server without a terminal.
pub const LOG_FORMAT: &str = "json";

/// Maximum distance of relevant chunks, as in `make run`.
pub const MAX_DISTANCE: f64 = 1.1;

fn settings(parts: &Parts, folder: &Path, address: SocketAddr, upstream: SocketAddr) -> Value {
    json!({
        "listen": address.to_string(),
        "dataDir": folder.join("data"),
        "embedding": {"local": {"modelID": parts.model}},
        "inferenceService": {"url": format!("http://{upstream}/v1"), "contextWindowSize": 8192},
        "retrieval": {"maxDistance": MAX_DISTANCE},
        "log": {"level": LOG_LEVEL, "format": LOG_FORMAT},
    })
}

async fn is_ready(address: SocketAddr) -> bool {
    match Connection::open(address).await {
        Ok(mut connection) => connection.get("/readyz").await.is_ok(),
        Err(_) => false,
    }
}

/// An address with a free port of the loopback interface.
///
/// # Errors
///
/// If no port is free.
pub fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}
