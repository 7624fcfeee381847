//! Nodes of Weaviate for tests, on free ports and with empty folders.
//!
//! Functions panic when something is not as a test needs it.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ragengine_vector_database::{ApiKey, ClientOptions, Database, weaviate};
use tempfile::TempDir;

/// The nodes start within this time. It takes 3 s for one, and 15 s for three.
const LIMIT: Duration = Duration::from_secs(60);

/// They are started so many times.
const ATTEMPTS: usize = 3;

/// The key that the nodes want.
pub const API_KEY: &str = "k-7f3a";

/// Running nodes. They end when this is dropped.
pub struct Nodes {
    nodes: Vec<Node>,
}

struct Node {
    // It ends before its folder is removed.
    process: Process,
    folder: TempDir,
    ports: Ports,
}

fn database(options: ClientOptions) -> Database {
    Database::Weaviate(weaviate::Client::new(options).unwrap())
}

/// A process that is killed when this is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[derive(Clone, Copy)]
struct Ports {
    http: u16,
    grpc: u16,
    /// The next port is for data.
    gossip: u16,
    /// The next port is for its calls: nodes on one machine look for them there.
    raft: u16,
}

impl Ports {
    fn free() -> Self {
        let http = free_pair();
        Self { http, grpc: http + 1, gossip: free_pair(), raft: free_pair() }
    }
}

impl Nodes {
    /// Starts so many nodes and waits until they are ready.
    ///
    /// # Panics
    ///
    /// If the program is missing or does not start.
    pub async fn start(count: usize) -> Self {
        drop(rustls::crypto::ring::default_provider().install_default());
        for _ in 0..ATTEMPTS {
            let ports: Vec<Ports> = (0..count).map(|_| Ports::free()).collect();
            let mut nodes = Self { nodes: vec![start(0, &ports)] };
            // The others look for the first one only once.
            nodes.wait_for_gossip().await;
            nodes.nodes.extend((1..count).map(|number| start(number, &ports)));
            if nodes.are_ready().await {
                return nodes;
            }
            // Another test may have taken a port.
        }
        panic!("Weaviate did not start");
    }

    /// Waits until the first node can be joined.
    async fn wait_for_gossip(&self) {
        let (port, until) = (self.nodes[0].ports.gossip, Instant::now() + LIMIT);
        while TcpStream::connect(("127.0.0.1", port)).is_err() && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn are_ready(&mut self) -> bool {
        for number in 0..self.nodes.len() {
            if !self.is_ready(number).await {
                eprintln!("node {number} did not start: {}", self.log(number));
                return false;
            }
        }
        true
    }

    /// The address of a node.
    pub fn url(&self, number: usize) -> String {
        format!("http://127.0.0.1:{}", self.nodes[number].ports.http)
    }

    /// The id of a node's process.
    pub fn process_id(&self, number: usize) -> u32 {
        self.nodes[number].process.0.id()
    }

    /// The folder of a node.
    pub fn folder(&self, number: usize) -> &Path {
        self.nodes[number].folder.path()
    }

    /// A client of a node.
    pub fn client(&self, number: usize) -> Database {
        let url = self.url(number);
        database(ClientOptions { api_key: Some(ApiKey::new(API_KEY)), ..ClientOptions::new(url) })
    }

    /// A client of a node that gives up soon and does not try again.
    pub fn impatient_client(&self, number: usize) -> Database {
        let url = self.url(number);
        let (api_key, timeout) = (Some(ApiKey::new(API_KEY)), Duration::from_secs(5));
        database(ClientOptions { api_key, timeout, attempts: 1, ..ClientOptions::new(url) })
    }

    /// Kills a node with SIGKILL.
    pub fn kill(&mut self, number: usize) {
        let Process(process) = &mut self.nodes[number].process;
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Stops a node (SIGSTOP) so that it neither answers nor closes connections.
    pub fn freeze(&self, number: usize) {
        self.signal(number, "-STOP");
    }

    /// Lets a frozen node go on.
    pub fn thaw(&self, number: usize) {
        self.signal(number, "-CONT");
    }

    fn signal(&self, number: usize, signal: &str) {
        let status = Command::new("kill").args([signal, &self.process_id(number).to_string()]).status().unwrap();
        assert!(status.success(), "kill {signal} failed");
    }

    /// Starts a node again that was killed, with the same ports and data.
    pub async fn start_again(&mut self, number: usize) {
        let ports: Vec<Ports> = self.nodes.iter().map(|node| node.ports).collect();
        self.nodes[number].process = run(number, &ports, self.nodes[number].folder.path().to_owned());
        assert!(self.is_ready(number).await, "node {number} did not start again: {}", self.log(number));
    }

    /// Waits until a node is ready. False if it ended or takes too long.
    async fn is_ready(&mut self, number: usize) -> bool {
        let (client, until) = (self.client(number), Instant::now() + LIMIT);
        while client.ready().await.is_err() {
            let has_ended = self.nodes[number].process.0.try_wait().unwrap().is_some();
            if has_ended || Instant::now() > until {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        true
    }

    fn log(&self, number: usize) -> String {
        let log = fs::read_to_string(self.nodes[number].folder.path().join("log")).unwrap_or_default();
        log.lines().rev().take(20).collect::<Vec<_>>().join("\n")
    }
}

/// The name of a node.
pub fn name_of(number: usize) -> String {
    format!("node{}", number + 1)
}

fn start(number: usize, ports: &[Ports]) -> Node {
    let folder = tempfile::tempdir().unwrap();
    let process = run(number, ports, folder.path().to_owned());
    Node { process, folder, ports: ports[number] }
}

fn run(number: usize, ports: &[Ports], folder: PathBuf) -> Process {
    let own = ports[number];
    let members: Vec<String> =
        ports.iter().enumerate().map(|(number, of)| format!("{}:{}", name_of(number), of.raft)).collect();
    let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
    let mut command = Command::new(program());
    command.args(["--host", "127.0.0.1", "--scheme", "http", "--port", &own.http.to_string()]);
    command.env_clear().envs([
        ("PERSISTENCE_DATA_PATH", folder.join("data").display().to_string()),
        ("AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED", "false".to_owned()),
        ("AUTHENTICATION_APIKEY_ENABLED", "true".to_owned()),
        ("AUTHENTICATION_APIKEY_ALLOWED_KEYS", API_KEY.to_owned()),
        ("AUTHENTICATION_APIKEY_USERS", "tests".to_owned()),
        ("DEFAULT_VECTORIZER_MODULE", "none".to_owned()),
        ("AUTOSCHEMA_ENABLED", "false".to_owned()),
        ("DISABLE_TELEMETRY", "true".to_owned()),
        ("GO_PROFILING_DISABLE", "true".to_owned()),
        ("LOG_LEVEL", "warning".to_owned()),
        // The disk of a developer may be nearly full.
        ("DISK_USE_WARNING_PERCENTAGE", "0".to_owned()),
        ("DISK_USE_READONLY_PERCENTAGE", "0".to_owned()),
        ("GRPC_PORT", own.grpc.to_string()),
        ("CLUSTER_HOSTNAME", name_of(number)),
        ("CLUSTER_ADVERTISE_ADDR", "127.0.0.1".to_owned()),
        ("CLUSTER_IN_LOCALHOST", "true".to_owned()),
        ("CLUSTER_GOSSIP_BIND_PORT", own.gossip.to_string()),
        ("CLUSTER_DATA_BIND_PORT", (own.gossip + 1).to_string()),
        ("RAFT_PORT", own.raft.to_string()),
        ("RAFT_INTERNAL_RPC_PORT", (own.raft + 1).to_string()),
    ]);
    // A million chunks do not fit into a machine's memory beside as much garbage.
    command.envs(std::env::var("GOMEMLIMIT").map(|limit| ("GOMEMLIMIT", limit)));
    if ports.len() > 1 {
        command.env("RAFT_JOIN", members.join(",")).env("RAFT_BOOTSTRAP_EXPECT", ports.len().to_string());
    }
    if number > 0 {
        command.env("CLUSTER_JOIN", format!("127.0.0.1:{}", ports[0].gossip));
    }
    let child = command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
    Process(child)
}

/// The program in the cache, under its version.
fn program() -> PathBuf {
    let go_mod = include_str!("../../../../config/local/weaviate/go.mod");
    let words = |line: &'static str| line.split_whitespace().collect::<Vec<_>>();
    let version = go_mod.lines().map(words).find_map(|words| match words[..] {
        ["github.com/weaviate/weaviate", version, ..] => version.strip_prefix('v'),
        _ => None,
    });
    let program = cache().join(format!("tools/weaviate-{}/weaviate", version.unwrap()));
    assert!(program.exists(), "{} is missing: run config/local/weaviate.sh", program.display());
    program
}

/// The folder of what is built or fetched.
pub fn cache() -> PathBuf {
    std::env::var_os("RAGENGINE_CACHE").map(PathBuf::from).unwrap_or_else(|| {
        let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache");
        std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from).join("ragengine")
    })
}

/// Two free ports that follow each other, for TCP and for UDP. They are not among those that connections are made from,
/// so that only another test can take them before a node does.
pub fn free_pair() -> u16 {
    let is_free =
        |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok() && UdpSocket::bind(("127.0.0.1", port)).is_ok();
    let mut ports = (0..1000).map(|_| fastrand::u16(5_000..16_000) * 2);
    ports.find(|&port| is_free(port) && is_free(port + 1)).unwrap()
}
