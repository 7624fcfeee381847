//! Debian's nginx as a reverse proxy: what passing a chat on costs at least, near enough.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::child::ChildProcess;
use crate::cpu;
use crate::http::Connection;
use crate::server::free_address;

const START_TIMEOUT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

/// What it does with the upstream's answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffering {
    /// It collects them, as is its default.
    On,
    /// It passes each piece on at once, as streams need it.
    Off,
}

impl Buffering {
    fn value(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

/// A running nginx.
pub struct Nginx {
    process: ChildProcess,
    address: SocketAddr,
}

impl Nginx {
    /// Starts it in front of an upstream, with its files below `folder`, and waits until it answers.
    ///
    /// # Errors
    ///
    /// When it ends or does not answer in time, with its words.
    pub async fn start(
        program: &Path,
        folder: &Path,
        upstream: SocketAddr,
        buffering: Buffering,
    ) -> anyhow::Result<Self> {
        let folder = folder.join(format!("nginx-buffering-{}", buffering.value()));
        fs::create_dir(&folder)?;
        let address = free_address()?;
        let settings = folder.join("nginx.conf");
        fs::write(&settings, settings_text(&folder, address, upstream, buffering))?;
        let words = folder.join("error.log");
        let mut command = Command::new(program);
        command.arg("-c").arg(&settings).arg("-e").arg(&words).stderr(File::create(folder.join("stderr"))?);
        let mut process = ChildProcess::start("nginx", &mut command)?;
        let deadline = Instant::now() + START_TIMEOUT;
        while Connection::open(address).await.is_err() {
            process.require_running().with_context(|| fs::read_to_string(&words).unwrap_or_default())?;
            if Instant::now() > deadline {
                bail!("nginx does not listen after {} s", START_TIMEOUT.as_secs());
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(Self { process, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its processes: the first one and the workers, which do the work.
    ///
    /// # Errors
    ///
    /// When /proc cannot be read.
    pub fn processes(&self) -> anyhow::Result<Vec<u32>> {
        let mut processes = cpu::children(self.process.id())?;
        processes.push(self.process.id());
        Ok(processes)
    }
}

/// Debian's own settings where they matter (sendfile, tcp_nopush, an access log in a file), and connections that are kept on both
/// sides, which is the best that nginx can do here.
fn settings_text(folder: &Path, address: SocketAddr, upstream: SocketAddr, buffering: Buffering) -> String {
    let (folder, buffering) = (folder.display(), buffering.value());
    format!(
        r#"daemon off;
worker_processes 2;
pid "{folder}/pid";
error_log "{folder}/error.log";
events {{ worker_connections 768; }}
http {{
    sendfile on;
    tcp_nopush on;
    access_log "{folder}/access.log";
    client_body_temp_path "{folder}/body";
    proxy_temp_path "{folder}/proxy";
    fastcgi_temp_path "{folder}/fastcgi";
    scgi_temp_path "{folder}/scgi";
    uwsgi_temp_path "{folder}/uwsgi";
    keepalive_requests 10000000;
    upstream model {{
        server {upstream};
        keepalive 64;
        keepalive_requests 10000000;
    }}
    server {{
        listen {address};
        location / {{
            proxy_pass http://model;
            proxy_http_version 1.1;
            proxy_buffering {buffering};
            proxy_set_header Connection "";
        }}
    }}
}}
"#
    )
}
