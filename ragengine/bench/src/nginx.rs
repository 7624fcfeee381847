//! Debian's nginx as a reverse proxy: an estimate of the minimum cost of passing a chat through.

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

/// Whether nginx buffers the upstream's responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffering {
    /// Responses are buffered, the default of nginx.
    On,
    /// Each piece is passed on immediately, for streams.
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
    /// Starts nginx in front of an upstream, with its files in `folder`, and waits until it accepts connections.
    ///
    /// # Errors
    ///
    /// If nginx exits, with its log, or does not listen in time.
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
        let error_log = folder.join("error.log");
        let mut command = Command::new(program);
        command.arg("-c").arg(&settings).arg("-e").arg(&error_log).stderr(File::create(folder.join("stderr"))?);
        let mut process = ChildProcess::start("nginx", &mut command)?;
        let deadline = Instant::now() + START_TIMEOUT;
        while Connection::open(address).await.is_err() {
            process.require_running().with_context(|| fs::read_to_string(&error_log).unwrap_or_default())?;
            if Instant::now() > deadline {
                bail!("nginx did not listen within {} s", START_TIMEOUT.as_secs());
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(Self { process, address })
    }

    /// Address that nginx listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ids of the master process and the workers.
    ///
    /// # Errors
    ///
    /// If /proc cannot be read.
    pub fn processes(&self) -> anyhow::Result<Vec<u32>> {
        let mut processes = cpu::children(self.process.id())?;
        processes.push(self.process.id());
        Ok(processes)
    }
}

/// Debian's default settings where they matter (sendfile, tcp_nopush, an access log in a file), with keep-alive on both
/// sides for the best performance.
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
