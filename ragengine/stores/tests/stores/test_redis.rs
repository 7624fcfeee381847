//! A Redis server for tests, from the Debian package, on a free port and with an empty folder. A write survives the end
//! of its process.
//!
//! Functions panic when something is not as a test needs it.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use ragengine_stores::RedisOptions;

/// Its password. Its special characters would have another meaning in a URL.
const PASSWORD: &str = "p@ss:w/o?r#d%20 '\"\\ü";

/// The server starts within this time.
const LIMIT: Duration = Duration::from_secs(60);

/// A running server. It stops when this is dropped.
pub struct TestRedis {
    folder: TempDir,
    port: u16,
    /// Further lines of its settings.
    settings: String,
    server: Option<Child>,
}

impl TestRedis {
    /// Starts a server.
    ///
    /// # Panics
    ///
    /// If the Debian package `redis-server` is missing, or the server does not start.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut server = Self { folder, port: free_port(), settings: String::new(), server: None };
        let until = Instant::now() + LIMIT;
        while !server.try_start(until) {
            assert!(Instant::now() < until, "Redis did not start: {}", server.log());
            // Another program may have taken the port.
            server.port = free_port();
        }
        server
    }

    /// How to connect to it. Stores with different `engine`s do not see each other.
    pub fn options(&self, engine: &str) -> RedisOptions {
        let url = format!("redis://127.0.0.1:{}", self.port);
        RedisOptions { url, password: Some(PASSWORD.to_owned()), engine: engine.to_owned() }
    }

    /// Runs a command. Returns what it printed.
    ///
    /// # Panics
    ///
    /// If the command fails.
    pub fn command(&self, words: &[&str]) -> String {
        let output = self.client(words).output().expect("redis-cli");
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.trim().is_empty(), "{words:?}: {text} {errors}");
        text
    }

    /// Adds a port for encrypted connections, with a certificate and its key in PEM format. Returns its number.
    ///
    /// # Panics
    ///
    /// If the server does not start.
    pub fn encrypt(&mut self, certificate: &str, key: &str) -> u16 {
        let port = free_port();
        self.settings = format!("tls-port {port}\ntls-auth-clients no\n");
        for (name, setting, text) in [("server.crt", "tls-cert-file", certificate), ("server.key", "tls-key-file", key)]
        {
            let path = self.folder.path().join(name);
            fs::write(&path, text).expect("the file");
            writeln!(self.settings, "{setting} {}", path.display()).expect("a line");
        }
        self.restart();
        port
    }

    /// Starts the server again, and lets it take more than 2 s for reading its data.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn restart_slowly(&mut self) {
        self.command(&["EVAL", "for number = 1, 6000 do redis.call('SET', number, 'x') end", "0"]);
        // It answers others after each 1,024 commands. The delay of each is in microseconds.
        self.settings = "key-load-delay 400\n".to_owned();
        self.restart();
    }

    /// Kills the server with SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().expect("the server is killed");
            server.wait().expect("the server has ended");
        }
    }

    /// Stops or continues the server and its connections, which then stay open but do not answer.
    pub fn freeze(&self, freezes: bool) {
        let server = self.server.as_ref().expect("the server runs").id().to_string();
        let signal = if freezes { "-STOP" } else { "-CONT" };
        // The shell's own command. A small system has no program of this name.
        let mut shell = Command::new("sh");
        shell.args(["-c", r#"kill "$@""#, "kill", signal, &server]);
        assert!(shell.status().expect("sh").success(), "kill {signal} {server}");
    }

    /// Starts the server again, with the same port and data.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn restart(&mut self) {
        self.kill();
        let until = Instant::now() + LIMIT;
        while !self.try_start(until) {
            assert!(Instant::now() < until, "Redis did not start: {}", self.log());
        }
    }

    /// Returns whether the server accepts connections.
    fn try_start(&mut self, until: Instant) -> bool {
        let log = File::create(self.log_path()).expect("the log");
        // Its bytes are written as numbers, because the settings have other quotes.
        let password = PASSWORD.bytes().fold(String::new(), |text, byte| format!("{text}\\x{byte:02x}"));
        let settings = format!(
            "port {}\nbind 127.0.0.1\ndir {}\nrequirepass \"{password}\"\nappendonly yes\nappendfsync always\nsave \"\"\n{}",
            self.port,
            self.folder.path().display(),
            self.settings
        );
        let path = self.folder.path().join("redis.conf");
        fs::write(&path, settings).expect("the settings");
        let mut redis = Command::new("redis-server");
        redis.arg(&path).stdin(Stdio::null()).stdout(log).stderr(Stdio::null());
        let spawned = redis.spawn();
        let mut server = spawned.expect("install Redis, as `make test` does: apt-get install redis-server");
        while Instant::now() < until {
            if server.try_wait().expect("the server's state").is_some() {
                return false;
            }
            let pong = self.client(&["PING"]).output().expect("redis-cli");
            if pong.stdout.starts_with(b"PONG") {
                self.server = Some(server);
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(server.kill());
        drop(server.wait());
        false
    }

    fn client(&self, words: &[&str]) -> Command {
        let mut client = Command::new("redis-cli");
        client.env("REDISCLI_AUTH", PASSWORD).args(["-e", "-h", "127.0.0.1", "-p", &self.port.to_string()]).args(words);
        client
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }
}

impl Drop for TestRedis {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            drop(server.kill());
            drop(server.wait());
        }
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("its address").port()
}
