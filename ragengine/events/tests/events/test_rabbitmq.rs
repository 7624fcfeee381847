//! A RabbitMQ server for tests, from the Debian package, on free ports of this machine only and with an empty folder.
//! What it has confirmed survives the end of its process.
//!
//! It runs as the user of the test, also as root. Functions panic when something is not as a test needs it. Tests of
//! other crates may include this file: it needs nothing but `tempfile`.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The program without the package's wrapper, which changes to another user.
const PROGRAM: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";

/// The user who may do everything.
pub const USER: &str = "ann";

/// A user who may make exchanges whose names begin with `private` only, and publish to none.
pub const READER: &str = "reader";

/// The password of both. Its special characters would have another meaning in a URL.
pub const PASSWORD: &str = "p@ss:w/o?r#d%20 '\"\\ü";

/// The server starts within this time. It needs about 6 s of computing.
const LIMIT: Duration = Duration::from_secs(90);

/// A running server. It stops when this is dropped.
pub struct TestRabbitMq {
    // They end before their folder is removed.
    processes: Vec<Stopped>,
    folder: TempDir,
    ports: Ports,
    /// Further lines of its settings.
    settings: String,
}

struct Ports {
    /// For clients.
    amqp: u16,
    /// For other servers of a cluster.
    distribution: u16,
    /// For the program that tells clusters their ports.
    epmd: u16,
}

/// A process that is killed when this is dropped.
struct Stopped(Child);

impl Drop for Stopped {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl TestRabbitMq {
    /// Starts a server.
    ///
    /// # Panics
    ///
    /// If the Debian package `rabbitmq-server` is missing, or the server does not start.
    pub fn start() -> Self {
        Self::start_with("")
    }

    /// Starts a server with further lines of settings.
    ///
    /// # Panics
    ///
    /// As [`Self::start`].
    pub fn start_with(settings: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let settings = settings.to_owned();
        let mut server = Self { processes: Vec::new(), folder, ports: Ports::free(), settings };
        let until = Instant::now() + LIMIT;
        while !server.try_start(until) {
            assert!(Instant::now() < until, "RabbitMQ did not start: {}", server.log());
            // Another program may have taken a port.
            server.ports = Ports::free();
        }
        server
    }

    /// Its address for this user, without the password.
    pub fn url(&self, user: &str) -> String {
        format!("amqp://{user}@127.0.0.1:{}", self.ports.amqp)
    }

    /// Adds a port for encrypted connections, with a certificate and its key in PEM format. Returns its number.
    ///
    /// # Panics
    ///
    /// If the server does not start.
    pub fn encrypt(&mut self, certificate: &str, key: &str) -> u16 {
        let port = free_port();
        self.settings += &format!("listeners.ssl.1 = 127.0.0.1:{port}\nssl_options.verify = verify_none\n");
        for (name, setting, text) in [("server.crt", "certfile", certificate), ("server.key", "keyfile", key)] {
            let path = self.path(name);
            fs::write(&path, text).expect("the file");
            self.settings += &format!("ssl_options.{setting} = {}\n", path.display());
        }
        self.restart();
        port
    }

    /// Kills the server with SIGKILL.
    pub fn kill(&mut self) {
        self.processes.clear();
    }

    /// Starts the server again, with the same ports and data.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn restart(&mut self) {
        self.kill();
        let until = Instant::now() + LIMIT;
        while !self.try_start(until) {
            assert!(Instant::now() < until, "RabbitMQ did not start: {}", self.log());
        }
    }

    /// Stops or continues the server and its connections, which then stay open but do not answer.
    pub fn freeze(&self, freezes: bool) {
        let server = self.processes.last().expect("the server runs").0.id().to_string();
        let signal = if freezes { "-STOP" } else { "-CONT" };
        // The shell's own command. A small system has no program of this name.
        let mut shell = Command::new("sh");
        shell.args(["-c", r#"kill "$@""#, "kill", signal, &server]);
        assert!(shell.status().expect("sh").success(), "kill {signal} {server}");
    }

    /// What the server wrote to its log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// Returns whether the server accepts connections.
    fn try_start(&mut self, until: Instant) -> bool {
        self.write_settings();
        let mut epmd = Command::new("epmd");
        epmd.args(["-address", "127.0.0.1", "-port", &self.ports.epmd.to_string()]);
        self.processes = vec![self.spawn(epmd, Stdio::null())];
        let log = File::create(self.path("log")).expect("the log");
        let server = self.spawn(self.server(), Stdio::from(log));
        self.processes.push(server);
        while Instant::now() < until {
            let ended = |process: &mut Stopped| process.0.try_wait().expect("its state").is_some();
            if self.processes.iter_mut().any(ended) {
                break;
            }
            if greets(self.ports.amqp) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.processes.clear();
        false
    }

    fn spawn(&self, mut program: Command, output: Stdio) -> Stopped {
        let program = program.env("HOME", self.folder.path()).current_dir(self.folder.path());
        let spawned = program.stdin(Stdio::null()).stdout(output).stderr(Stdio::null()).spawn();
        Stopped(spawned.expect("install RabbitMQ, as `make test` does: apt-get install rabbitmq-server"))
    }

    fn server(&self) -> Command {
        let mut server = Command::new(PROGRAM);
        // Settings of the system and of the caller would change it.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("RABBITMQ_")) {
            server.env_remove(name);
        }
        for (name, path) in [
            ("RABBITMQ_CONFIG_FILE", "rabbitmq.conf"),
            ("RABBITMQ_CONF_ENV_FILE", "none"),
            ("RABBITMQ_ENABLED_PLUGINS_FILE", "plugins"),
            ("RABBITMQ_GENERATED_CONFIG_DIR", "generated"),
            ("RABBITMQ_LOG_BASE", "logs"),
            ("RABBITMQ_MNESIA_BASE", "data"),
            ("RABBITMQ_PID_FILE", "pid"),
            ("RABBITMQ_PLUGINS_EXPAND_DIR", "expanded"),
        ] {
            server.env(name, self.path(path));
        }
        server
            .env("RABBITMQ_NODENAME", format!("test-{}@localhost", self.ports.amqp))
            .env("RABBITMQ_DIST_PORT", self.ports.distribution.to_string())
            .env("ERL_EPMD_PORT", self.ports.epmd.to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            // Little memory, and no port that is open to other machines.
            .env(
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                "+S 1:1 +A 4 -start_epmd false -kernel inet_dist_use_interface {127,0,0,1}",
            )
            // The script is replaced by the server, instead of starting it as another process.
            .env("detached", "1");
        server
    }

    fn write_settings(&self) {
        let definitions = self.path("definitions.json");
        let settings = format!(
            "listeners.tcp.1 = 127.0.0.1:{}\nloopback_users = none\nload_definitions = {}\nlog.console = true\n\
             log.file = false\ncollect_statistics_interval = 60000\n{}",
            self.ports.amqp,
            definitions.display(),
            self.settings
        );
        fs::write(self.path("rabbitmq.conf"), settings).expect("the settings");
        fs::write(self.path("plugins"), "[].").expect("the plugins");
        // The only characters of the password that JSON writes differently.
        let password = PASSWORD.replace('\\', "\\\\").replace('"', "\\\"");
        let user = |name: &str| format!(r#"{{"name": "{name}", "password": "{password}", "tags": ""}}"#);
        let rights = |name: &str, configure: &str, write: &str| {
            format!(
                r#"{{"user": "{name}", "vhost": "/", "configure": "{configure}", "write": "{write}", "read": ".*"}}"#
            )
        };
        let text = format!(
            r#"{{"users": [{}, {}], "vhosts": [{{"name": "/"}}], "permissions": [{}, {}]}}"#,
            user(USER),
            user(READER),
            rights(USER, ".*", ".*"),
            rights(READER, "^private", "^$")
        );
        fs::write(definitions, text).expect("the users");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Ports {
    fn free() -> Self {
        Self { amqp: free_port(), distribution: free_port(), epmd: free_port() }
    }
}

/// Whether a server answers to a greeting in another version of the protocol: with its own version.
fn greets(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    let limit = Some(Duration::from_secs(1));
    drop((stream.set_read_timeout(limit), stream.set_write_timeout(limit)));
    let mut answer = [0; 4];
    stream.write_all(b"AMQP\x00\x00\x00\x00").is_ok() && stream.read_exact(&mut answer).is_ok() && &answer == b"AMQP"
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("its address").port()
}
