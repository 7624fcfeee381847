//! What the tests do with the page. In selectors and expressions, `@name` is the element with this hook for tests.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::browser::{Browser, Failure};

/// The longest wait for anything.
const LIMIT: Duration = Duration::from_secs(20);

/// How often it is looked.
const PAUSE: Duration = Duration::from_millis(20);

pub const ENTER: &str = "\u{e007}";
pub const ESCAPE: &str = "\u{e00c}";
pub const SHIFT_ENTER: &str = "\u{e008}\u{e007}\u{e000}";
/// Control and V.
pub const PASTE: &str = "\u{e009}v\u{e000}";

impl Browser {
    /// Waits until an expression is true.
    pub async fn until(&self, expression: &str) {
        let started = Instant::now();
        while self.value(&format!("!!({expression})")).await != true {
            if started.elapsed() > LIMIT {
                let shown = self.value("document.body.innerText").await;
                panic!("not true in time: {expression}\nThe page shows:\n{}", shown.as_str().unwrap_or_default());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until an element is there and visible.
    pub async fn sees(&self, css: &str) {
        self.until(&format!("$$(`{css}`).some((one) => one.checkVisibility({{visibilityProperty: true}}))")).await;
    }

    /// Waits until no such element is visible.
    pub async fn sees_no(&self, css: &str) {
        self.until(&format!("!$$(`{css}`).some((one) => one.checkVisibility({{visibilityProperty: true}}))")).await;
    }

    /// Waits until the first such element has this text in it.
    pub async fn reads(&self, css: &str, wanted: &str) {
        let wanted = serde_json::to_string(wanted).unwrap();
        self.until(&format!("text(`{css}`).includes({wanted})")).await;
    }

    /// The text of the first such element.
    pub async fn text(&self, css: &str) -> String {
        self.value(&format!("text(`{css}`)")).await.as_str().unwrap().to_owned()
    }

    /// The texts of all such elements.
    pub async fn texts(&self, css: &str) -> Vec<String> {
        let texts = self.value(&format!("$$(`{css}`).map((one) => one.textContent)")).await;
        serde_json::from_value(texts).unwrap()
    }

    /// The number of such elements.
    pub async fn count(&self, css: &str) -> u64 {
        self.value(&format!("$$(`{css}`).length")).await.as_u64().unwrap()
    }

    /// Waits until the first such element does not move, such as in a drawer that opens. A press on a moving element would
    /// reach its neighbour.
    async fn rests(&self, css: &str) {
        let moves = "one.playState === 'running' && one.effect.getComputedTiming().iterations !== Infinity";
        self.until(&format!(
            "!document.getAnimations().some((one) => {moves} && one.effect.target?.contains($(`{css}`)))"
        ))
        .await;
    }

    /// Presses on the first such element as soon as it can be pressed.
    pub async fn click(&self, css: &str) {
        let started = Instant::now();
        self.rests(css).await;
        while let Err(failure) = self.try_click(css).await {
            pass(css, &failure, started).await;
        }
    }

    /// Types into the first such element as soon as that is possible.
    pub async fn enter(&self, css: &str, text: &str) {
        let started = Instant::now();
        while let Err(failure) = self.try_type(css, text).await {
            pass(css, &failure, started).await;
        }
    }

    /// Sends a question with the key Enter.
    pub async fn ask(&self, question: &str) {
        self.enter("@composer-input", &format!("{question}{ENTER}")).await;
    }

    /// Waits until so many answers are there, and none is being written.
    pub async fn answered(&self, answers: usize) {
        self.until(&format!(
            "$$('[data-role=assistant]').length === {answers} && !$('[aria-busy=true]') && $('@stop').hidden \
             && $$('[data-role=assistant]').every((one) => one.querySelector('.toolbar, .error'))"
        ))
        .await;
    }

    /// Asks a question that is the first of its conversation, and waits for the answer.
    pub async fn begin(&self, question: &str) {
        self.ask(question).await;
        self.answered(1).await;
    }

    /// The questions and answers on the page, as their texts.
    pub async fn messages(&self) -> Vec<String> {
        self.texts("@message .bubble, @message .markdown").await
    }

    /// The titles in the list of conversations, the newest first.
    pub async fn conversations(&self) -> Vec<String> {
        self.texts("@conversation a").await
    }

    /// Drops files, given as names and texts, on the page.
    pub async fn drop_files(&self, files: &[(&str, &str)]) {
        let drop = "const data = new DataTransfer(); \
             for (const [name, text] of arguments[0]) data.items.add(new File([text], name)); \
             const options = {dataTransfer: data, bubbles: true, cancelable: true}; \
             for (const type of ['dragenter', 'dragover', 'drop']) \
                 $('main').dispatchEvent(new DragEvent(type, options));";
        self.run(drop, json!([files])).await;
        self.sees("@upload-dialog").await;
    }

    /// The hook of the element that has the focus, else its id, its class or its kind.
    pub async fn focused(&self) -> String {
        let name = "(({dataset, id, className, tagName}) => dataset.test || id || className || tagName)";
        let focused = self.value(&format!("{name}(document.activeElement)")).await;
        focused.as_str().unwrap().to_owned()
    }
}

/// Waits a moment after a failure, unless it lasts.
async fn pass(css: &str, failure: &Failure, started: Instant) {
    let Failure { error, message } = failure;
    assert!(failure.is_passing() && started.elapsed() < LIMIT, "{css}: {error}: {message}");
    tokio::time::sleep(PAUSE).await;
}
