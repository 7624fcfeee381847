//! A PostgreSQL server for tests, from the Debian package, on a free port and with an empty folder. A commit
//! survives the end of its process, and not that of the machine, so that it is fast.
//!
//! Functions panic when something is not as a test needs it.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use ragengine_stores::PostgresOptions;

/// Where the Debian package puts the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// The superuser of the server.
const USER: &str = "rag";

/// Its password. Its special characters would have another meaning in a URL.
const PASSWORD: &str = "p@ss:w/o?r#d%20 '\"\\ü";

/// Settings that make the server start fast and use little memory.
const SETTINGS: [&str; 6] = [
    "fsync=off",
    "full_page_writes=off",
    "shared_buffers=16MB",
    "max_connections=40",
    "listen_addresses=127.0.0.1",
    "autovacuum=off",
];

/// The server starts or stops within this time.
const LIMIT: Duration = Duration::from_secs(60);

/// A running server. It stops when this is dropped.
pub struct TestPostgres {
    folder: TempDir,
    programs: PathBuf,
    /// The user and group that run the server, if the tests run as root, which the server refuses.
    other_user: Option<(u32, u32)>,
    port: u16,
    server: Option<Child>,
}

impl TestPostgres {
    /// Creates and starts a server.
    ///
    /// # Panics
    ///
    /// If the Debian package `postgresql` is missing, or the server does not start.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let is_root = fs::metadata(folder.path()).expect("the folder").uid() == 0;
        let other_user = is_root.then(|| user("postgres").or_else(|| user("nobody")).expect("a user for the server"));
        if let Some((uid, gid)) = other_user {
            chown(folder.path(), Some(uid), Some(gid)).expect("the folder's owner");
        }
        let mut server = Self { folder, programs: programs(), other_user, port: free_port(), server: None };
        server.create();
        let until = Instant::now() + LIMIT;
        while !server.try_start(until) {
            assert!(Instant::now() < until, "PostgreSQL did not start: {}", server.log());
            // Another program may have taken the port.
            server.port = free_port();
        }
        server
    }

    /// How to connect to it. Stores with different `engine`s do not see each other.
    pub fn options(&self, engine: &str) -> PostgresOptions {
        let url = format!("postgres://{USER}@127.0.0.1:{}/postgres", self.port);
        PostgresOptions { url, password: Some(PASSWORD.to_owned()), engine: engine.to_owned() }
    }

    /// Runs SQL. Returns what it printed.
    ///
    /// # Panics
    ///
    /// If a statement fails.
    pub fn sql(&self, statements: &str) -> String {
        let mut psql = self.program("psql");
        psql.env("PGPASSWORD", PASSWORD).args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        psql.args(["--set", "ON_ERROR_STOP=1", "--host", "127.0.0.1", "--port", &self.port.to_string()]);
        psql.args(["--username", USER, "--dbname", "postgres", "--command", statements]);
        run(&mut psql).trim().to_owned()
    }

    /// Restarts the server with a certificate and its key, in PEM format. It accepts encrypted connections then.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn encrypt(&mut self, certificate: &str, key: &str) {
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            let path = self.data().join(name);
            fs::write(&path, text).expect("the file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("the file's mode");
            chown(&path, self.other_user.map(|user| user.0), self.other_user.map(|user| user.1)).expect("its owner");
        }
        self.sql("ALTER SYSTEM SET ssl = on");
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
        let processes = fs::read_to_string(format!("/proc/{server}/task/{server}/children")).expect("its processes");
        run(kill().arg(signal).arg(&server).args(processes.split_whitespace()));
    }

    /// Starts the server again, with the same port and data.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn restart(&mut self) {
        self.kill();
        let until = Instant::now() + LIMIT;
        // The processes of a killed server hold its memory for a moment.
        while !self.try_start(until) {
            assert!(Instant::now() < until, "PostgreSQL did not start: {}", self.log());
        }
    }

    fn create(&self) {
        let password = self.folder.path().join("password");
        fs::write(&password, PASSWORD).expect("the password file");
        fs::set_permissions(&password, fs::Permissions::from_mode(0o644)).expect("the password file's mode");
        let mut initdb = self.program("initdb");
        initdb.arg("--pgdata").arg(self.data()).arg("--pwfile").arg(&password);
        initdb.args(["--username", USER, "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C"]);
        initdb.arg("--no-sync");
        run(&mut initdb);
    }

    /// Returns whether the server accepts connections.
    fn try_start(&mut self, until: Instant) -> bool {
        let log = File::create(self.folder.path().join("log")).expect("the log");
        let mut postgres = self.program("postgres");
        postgres.arg("-D").arg(self.data()).args(["-p", &self.port.to_string(), "-k"]).arg(self.folder.path());
        postgres.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        postgres.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let mut server = postgres.spawn().expect("postgres");
        while Instant::now() < until {
            if server.try_wait().expect("the server's state").is_some() {
                return false;
            }
            let state = fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
            let is_of_server = state.lines().next() == Some(&server.id().to_string());
            if is_of_server && state.lines().last().is_some_and(|line| line.trim() == "ready") {
                self.server = Some(server);
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(server.kill());
        drop(server.wait());
        false
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn program(&self, name: &str) -> Command {
        let mut program = Command::new(self.programs.join(name));
        program.current_dir(self.folder.path()).env_remove("PGDATA").env_remove("PGOPTIONS");
        if let Some((uid, gid)) = self.other_user {
            program.uid(uid).gid(gid);
        }
        program
    }
}

impl Drop for TestPostgres {
    fn drop(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        // SIGQUIT ends all processes of the server at once. SIGKILL would leave them behind for a moment.
        let asked = kill().args(["-QUIT", &server.id().to_string()]).status();
        if !asked.is_ok_and(|status| status.success()) {
            drop(server.kill());
        }
        drop(server.wait());
    }
}

/// The folder of the newest version.
fn programs() -> PathBuf {
    let versions = fs::read_dir(VERSIONS).map(|entries| entries.flatten().map(|entry| entry.path()).collect());
    let versions: Vec<PathBuf> = versions.unwrap_or_default();
    let number = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let complete = versions.into_iter().filter(|path| path.join("bin/initdb").is_file());
    let newest = complete.max_by_key(number);
    newest.expect("install PostgreSQL, as `make test` does: apt-get install postgresql").join("bin")
}

/// The ids of a user and its group.
fn user(name: &str) -> Option<(u32, u32)> {
    let users = fs::read_to_string(Path::new("/etc/passwd")).ok()?;
    let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2).map(|field| field.parse().ok());
    Some((fields.next()??, fields.next()??))
}

/// The shell's own command. A small system has no program of this name.
fn kill() -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"kill "$@""#, "kill"]);
    shell
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("its address").port()
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{}: {error}", command.get_program().display()));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", command.get_program().display());
    String::from_utf8_lossy(&output.stdout).into_owned()
}
