//! Starts tinyproxy at a free port.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

/// A proxy that runs until it is dropped.
pub struct Proxy {
    pub url: String,
    log: PathBuf,
    _folder: TempDir,
    _process: Child,
}

impl Proxy {
    /// Starts the proxy, and waits until it listens. tinyproxy cannot choose a free port itself, so this is repeated if
    /// another program takes the port first.
    pub async fn start() -> Self {
        loop {
            if let Some(proxy) = Self::try_to_start().await {
                return proxy;
            }
        }
    }

    async fn try_to_start() -> Option<Self> {
        let free = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let folder = tempfile::tempdir().unwrap();
        let (settings, log) = (folder.path().join("settings"), folder.path().join("log"));
        // Without `ConnectPort`, connections to all ports are allowed.
        let text = format!(
            "Port {}\nListen 127.0.0.1\nTimeout 60\nMaxClients 50\nLogLevel Info\nLogFile \"{}\"\n",
            address.port(),
            log.display()
        );
        std::fs::write(&settings, text).unwrap();
        let mut process = Command::new("tinyproxy")
            .args(["-d", "-c"])
            .arg(&settings)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("tinyproxy is not installed: config/local/setup.sh test installs it");
        let begun = tokio::time::Instant::now();
        let is_listening = || std::fs::read_to_string(&log).is_ok_and(|log| log.contains("Accepting connections"));
        while !is_listening() {
            if process.try_wait().unwrap().is_some() {
                return None;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "tinyproxy does not listen");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Some(Self { url: format!("http://{address}"), log, _folder: folder, _process: process })
    }

    /// The log, which has all requests.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}
