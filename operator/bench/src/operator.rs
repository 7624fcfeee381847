use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

use crate::metrics::Metrics;
use crate::{Arguments, number};

/// Dockerfile of the operator. Its `ENV` lines configure the memory allocator.
const DOCKERFILE: &str = include_str!("../../../images/ragengine-operator/Dockerfile");

/// Maximum time until the operator exits after SIGTERM.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// A running operator, as a separate process.
pub struct Operator {
    process: Child,
    address: SocketAddr,
    started: Instant,
    http: reqwest::Client,
}

/// Environment variables that the image sets.
fn image_environment() -> impl Iterator<Item = (&'static str, &'static str)> {
    DOCKERFILE.lines().filter_map(|line| line.strip_prefix("ENV ")?.split_once('='))
}

/// Memory of a process.
pub struct Memory {
    /// Current resident memory, in MiB.
    pub resident_mib: f64,
    /// Peak resident memory, in MiB.
    pub peak_mib: f64,
}

impl Operator {
    /// Starts the operator for one namespace and waits until it responds.
    pub async fn start(arguments: &Arguments, namespace: &str) -> anyhow::Result<Self> {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let process = Command::new(&arguments.operator)
            .args(["run", "--watch-namespaces", namespace, "--namespace", namespace, "--log-format", "text"])
            .args(["--server-image", &arguments.server_image, "--admin-address", &address.to_string()])
            .env("RUST_LOG", "warn")
            .envs(image_environment())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| arguments.operator.display().to_string())?;
        let http = reqwest::Client::builder().no_proxy().tls_certs_only([]).timeout(Duration::from_secs(10)).build()?;
        let operator = Self { process, address, started: Instant::now(), http };
        while operator.get("/healthz").await.is_err() {
            ensure!(operator.running_for() < 30.0, "the operator does not respond at {address}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(operator)
    }

    /// Scrapes the metrics.
    pub async fn metrics(&self) -> anyhow::Result<Metrics> {
        Ok(Metrics::new(self.get("/metrics").await?))
    }

    async fn get(&self, path: &str) -> anyhow::Result<String> {
        let reply = self.http.get(format!("http://{}{path}", self.address)).send().await?;
        Ok(reply.error_for_status()?.text().await?)
    }

    /// Seconds since the start of the operator.
    pub fn running_for(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Whether the process still runs.
    pub fn is_running(&self) -> bool {
        self.process.id().is_some_and(|pid| fs::metadata(format!("/proc/{pid}")).is_ok())
    }

    /// Processor time used so far, in seconds.
    pub fn cpu_seconds(&self) -> anyhow::Result<f64> {
        let stat = self.read("stat")?;
        // The name of the program, in parentheses, may contain spaces.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let [user, system] = [11, 12].map(|place| fields.get(place).copied().unwrap_or_default());
        // Linux reports hundredths of a second to user space.
        Ok((number(user)? + number(system)?) / 100.0)
    }

    /// Memory of the process.
    pub fn memory(&self) -> anyhow::Result<Memory> {
        let status = self.read("status")?;
        let kib = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let line = line.with_context(|| format!("/proc/PID/status has no line {name}"))?;
            number(line.trim_end_matches("kB"))
        };
        Ok(Memory { resident_mib: kib("VmRSS:")? / 1024.0, peak_mib: kib("VmHWM:")? / 1024.0 })
    }

    fn read(&self, file: &str) -> anyhow::Result<String> {
        let pid = self.process.id().context("the operator has exited")?;
        Ok(fs::read_to_string(format!("/proc/{pid}/{file}"))?)
    }

    /// Stops the operator with SIGTERM and checks its exit code.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        let pid = self.process.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        kill_process(pid.context("the operator has exited")?, Signal::TERM)?;
        match tokio::time::timeout(STOP_TIMEOUT, self.process.wait()).await {
            Ok(status) => ensure!(status?.success(), "the operator exited with an error"),
            Err(_) => bail!("the operator did not exit within {} s", STOP_TIMEOUT.as_secs()),
        }
        Ok(())
    }
}
