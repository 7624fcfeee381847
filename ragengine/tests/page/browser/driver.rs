use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};

use super::wire::find_program;

/// Runs the driver ($1) until the standard input ends, which it does however the test ends. Then its group
/// ends, which has the browser, and the profile ($2) goes.
const WATCH: &str = r#"
setsid "$1" --port=0 &
driver=$!
exec >/dev/null
cat
kill -s KILL -- -$driver
wait
rm -rf "$2"
"#;

/// The program chromedriver on a free port.
pub struct Driver {
    pub url: String,
    process: Child,
    profile: String,
    // The driver would fail to write to a closed pipe.
    output: BufReader<ChildStdout>,
}

impl Driver {
    /// Starts the driver and waits until it listens. It ends at once where the port that it found is taken in the
    /// meantime, or for the other kind of addresses.
    pub fn start() -> Self {
        let mut attempts = std::iter::repeat_with(Self::try_start).take(10).flatten();
        attempts.next().expect("chromedriver starts")
    }

    fn try_start() -> Option<Self> {
        let profile = tempfile::Builder::new().prefix("ragengine-page-").tempdir().unwrap().keep();
        let profile = profile.to_str().unwrap().to_owned();
        let mut process = Command::new("sh")
            .args(["-c", WATCH, "sh", &find_program(&["chromedriver"]), &profile])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // The test runner ends the group of the test. This one must live long enough to clear up.
            .process_group(0)
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut driver = Self { url: String::new(), process, profile, output };
        let mut line = String::new();
        while driver.output.read_line(&mut line).unwrap() > 0 {
            if let Some((_, port)) = line.trim_end().trim_end_matches('.').split_once("successfully on port ") {
                driver.url = format!("http://127.0.0.1:{port}");
                return Some(driver);
            }
            line.clear();
        }
        None
    }

    /// The folder for the profile of the browser.
    pub fn profile(&self) -> &str {
        &self.profile
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        drop(self.process.wait());
    }
}
