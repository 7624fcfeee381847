//! A browser, driven through the protocol of WebDriver: <https://www.w3.org/TR/webdriver2/>

mod driver;
mod log;
mod wire;

use serde_json::{Value, json};

use self::driver::Driver;
use self::wire::Wire;
pub use self::wire::{Failure, find_program};

/// The name that the standard gives to the id of an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Short names for the expressions of tests.
const PRELUDE: &str = "const $ = (css) => document.querySelector(css); \
     const $$ = (css) => [...document.querySelectorAll(css)]; \
     const text = (css) => $(css)?.textContent ?? '';";

/// A browser with its own profile. It ends with this value.
pub struct Browser {
    wire: Wire,
    // The driver ends after its session.
    _driver: Driver,
}

impl Browser {
    /// A browser with one empty window of 1280×800.
    pub async fn start() -> Self {
        let driver = Driver::start();
        let wire = Wire::connect(&driver.url, &capabilities(driver.profile())).await;
        let browser = Self { wire, _driver: driver };
        browser.resize(1280, 800).await;
        browser
    }

    /// Opens an address in the window.
    pub async fn open(&self, url: &str) {
        self.wire.post("url", json!({"url": url})).await.unwrap();
    }

    /// Loads the page again.
    pub async fn reload(&self) {
        self.wire.post("refresh", json!({})).await.unwrap();
    }

    /// The value of an expression in the page. `@name` stands for the element with this hook for tests.
    pub async fn value(&self, expression: &str) -> Value {
        self.run(&format!("return ({expression});"), json!([])).await
    }

    /// Runs statements in the page. `arguments` has the values.
    pub async fn run(&self, statements: &str, arguments: Value) -> Value {
        let script = hooks(&format!("{PRELUDE} {statements}"));
        self.wire.post("execute/sync", json!({"script": script, "args": arguments})).await.unwrap()
    }

    /// Runs statements in the page that may `await`.
    pub async fn run_async(&self, statements: &str) -> Value {
        let script = format!(
            "{PRELUDE} const done = arguments[arguments.length - 1]; (async () => {{ {statements} }})()\
             .then((value) => done([value]), (error) => done(String(error)));"
        );
        let result = self.wire.post("execute/async", json!({"script": hooks(&script), "args": []})).await.unwrap();
        assert!(result.is_array(), "{result}");
        result[0].clone()
    }

    /// Presses on the first element, as a user does: it must be visible and not be covered.
    pub async fn try_click(&self, css: &str) -> Result<(), Failure> {
        let element = self.element(css).await?;
        self.wire.post(&format!("element/{element}/click"), json!({})).await.map(drop)
    }

    /// Moves the pointer over the first element.
    pub async fn hover(&self, css: &str) {
        let element = self.element(css).await.unwrap();
        let target = json!({ELEMENT: element});
        let moved = json!([{"type": "pointerMove", "duration": 0, "origin": target, "x": 0, "y": 0}]);
        let pointer = json!([{"type": "pointer", "id": "mouse", "actions": moved}]);
        self.wire.post("actions", json!({"actions": pointer})).await.unwrap();
    }

    /// Types into the first element, which gets the focus.
    pub async fn try_type(&self, css: &str, text: &str) -> Result<(), Failure> {
        let element = self.element(css).await?;
        self.wire.post(&format!("element/{element}/value"), json!({"text": text})).await.map(drop)
    }

    /// Presses these keys, one after the other. The keys Shift and Control stay down until the key without a name.
    pub async fn keys(&self, keys: &str) {
        let mut actions = Vec::new();
        let mut held = Vec::new();
        for key in keys.chars() {
            match key {
                '\u{e000}' => actions.extend(held.drain(..).map(|key: char| json!({"type": "keyUp", "value": key}))),
                '\u{e008}' | '\u{e009}' => {
                    held.push(key);
                    actions.push(json!({"type": "keyDown", "value": key}));
                }
                _ => actions.extend(["keyDown", "keyUp"].map(|action| json!({"type": action, "value": key}))),
            }
        }
        let keyboard = json!([{"type": "key", "id": "keyboard", "actions": actions}]);
        self.wire.post("actions", json!({"actions": keyboard})).await.unwrap();
    }

    async fn element(&self, css: &str) -> Result<String, Failure> {
        let found = self.wire.post("element", json!({"using": "css selector", "value": hooks(css)})).await?;
        Ok(element_id(&found))
    }

    /// Opens another window and works in it. Returns the one before.
    pub async fn new_window(&self) -> String {
        let before = self.wire.get("window").await.unwrap().as_str().unwrap().to_owned();
        let opened = self.wire.post("window/new", json!({"type": "tab"})).await.unwrap();
        self.switch_to(opened["handle"].as_str().unwrap()).await;
        self.resize(1280, 800).await;
        before
    }

    /// Works in this window from now on. Returns the one before.
    pub async fn switch_to(&self, window: &str) -> String {
        let before = self.wire.get("window").await.unwrap().as_str().unwrap().to_owned();
        self.wire.post("window", json!({"handle": window})).await.unwrap();
        before
    }

    /// Gives the page this size.
    pub async fn resize(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Lets the system of the page be `light` or `dark`.
    pub async fn prefer(&self, scheme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.devtools("Emulation.setEmulatedMedia", features).await;
    }

    /// A picture of the window, as a PNG.
    pub async fn picture(&self) -> Vec<u8> {
        use base64::Engine as _;
        let reply = self.devtools("Page.captureScreenshot", json!({"format": "png"})).await;
        base64::engine::general_purpose::STANDARD.decode(reply["data"].as_str().unwrap()).unwrap()
    }

    /// A command of the developer tools.
    pub async fn devtools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({"cmd": command, "params": parameters});
        self.wire.post("goog/cdp/execute", body).await.unwrap()
    }

    /// The errors and refused actions that the pages have reported since the last call, and their requests to others
    /// than this server. Requests for these paths may have failed.
    pub async fn problems(&self, server: &str, may_fail: &[&str]) -> Vec<String> {
        log::problems(&self.wire, server, may_fail).await
    }
}

/// What the browser must do: write its logs, and load nothing by itself.
fn capabilities(profile: &str) -> Value {
    let program = find_program(&["chromium", "google-chrome"]);
    json!({"capabilities": {"alwaysMatch": {
        "browserName": "chrome",
        // A command fails while a dialog of a script is open.
        "unhandledPromptBehavior": "ignore",
        "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        "goog:chromeOptions": {"binary": program, "args": [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic",
            "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows",
            "--disable-default-apps", "--disable-extensions", "--lang=en-US", "--window-size=1280,900",
            // As with a mouse.
            "--blink-settings=primaryPointerType=4,availablePointerTypes=4,primaryHoverType=2,availableHoverTypes=2",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            format!("--user-data-dir={profile}"),
        ]},
    }}})
}

/// Replaces `@name` by the selector of the hook.
fn hooks(text: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut parts = text.split('@');
    replaced.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let is_name = |character: char| character.is_ascii_lowercase() || character == '-';
        let end = part.find(|character| !is_name(character)).unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        replaced.push_str(&if name.is_empty() { "@".to_owned() } else { format!("[data-test={name}]") });
        replaced.push_str(rest);
    }
    replaced
}

/// The id of an element in a reply.
fn element_id(value: &Value) -> String {
    value[ELEMENT].as_str().unwrap_or_else(|| panic!("no element: {value}")).to_owned()
}
