//! The rules of axe-core, which check most of WCAG 2.2 that a program can: <https://github.com/dequelabs/axe-core>

use std::path::PathBuf;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::model::{Does, Model};
use crate::site::Site;
use crate::steps::ESCAPE;

const ANSWER: &str = "## Purring\n\nThey purr **when** content [1], see [a page](https://example.org).\n\n\
     | a | b |\n|--|--|\n| 1 | 2 [1] |\n\n```rust\nfn main() {} // text\n```\n\n- [x] done\n\n> quoted";

/// The version, as `make setup` installs it.
const PINNED: &[u8] = include_bytes!("../../../config/local/axe-core.txt");

/// The source of axe-core.
fn axe() -> String {
    let version: String = Sha256::digest(PINNED).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let cache = std::env::var_os("RAGENGINE_CACHE")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/ragengine"));
    let file = cache.join(format!("tools/axe-core-{version}/axe.min.js"));
    std::fs::read_to_string(&file).unwrap_or_else(|_| panic!("no {}: run `make setup`", file.display()))
}

/// Fails if the page breaks a rule.
async fn is_accessible(site: &Site, what: &str) {
    let page = &site.page;
    // Colours on their way to others are not judged.
    page.until(
        "document.getAnimations().every((one) => one.playState !== 'running' \
         || one.effect.getTiming().iterations === Infinity)",
    )
    .await;
    // As a page's own script, it would be refused.
    page.devtools("Runtime.evaluate", json!({"expression": format!("window.axe || (() => {{ {} }})(), 0", axe())}))
        .await;
    let broken = page
        .run_async(
            "const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']; \
             const {violations, passes} = await axe.run(document, {runOnly: tags}); \
             if (passes.length < 10) throw Error('no rules were checked'); \
             return violations.map(({id, help, nodes}) => [id, help, ...nodes.slice(0, 3).map((one) => one.html)]);",
        )
        .await;
    assert_eq!(broken, json!([]), "{what}");
}

/// Checks the page in all its states.
async fn all_states(width: u32, scheme: &str) {
    let model = Model::scripted(|question| {
        if question.contains("fail") { Does::Refuses(500) } else { Does::Waits(String::new(), ANSWER.to_owned()) }
    });
    let site = Site::start(model.await).await;
    let page = &site.page;
    page.resize(width, 800).await;
    page.prefer(scheme).await;
    page.sees("@suggestion").await;
    is_accessible(&site, "empty").await;
    page.ask("Why do cats purr?").await;
    page.sees(".waiting").await;
    is_accessible(&site, "waiting").await;
    site.model.go_on();
    page.answered(1).await;
    page.until("$('.hljs-keyword')").await;
    is_accessible(&site, "answer").await;
    page.click("@explain summary").await;
    page.click("@thumb-down").await;
    page.sees("@vote-comment").await;
    is_accessible(&site, "explanation and comment").await;
    page.click("@source-chip").await;
    page.sees("@passage").await;
    is_accessible(&site, "document").await;
    page.keys(ESCAPE).await;
    page.ask("fail, please").await;
    page.sees("@error").await;
    is_accessible(&site, "error").await;
    page.click("@add-documents").await;
    page.sees("@upload-dialog").await;
    is_accessible(&site, "upload").await;
    page.click("@upload-dialog .dialog-buttons button").await;
    if width < 768 {
        page.click("@menu").await;
        page.sees("@conversation").await;
        is_accessible(&site, "drawer").await;
    } else {
        page.hover("@conversation").await;
        page.click("@conversation @delete").await;
        page.sees("@confirm-dialog").await;
        is_accessible(&site, "question").await;
    }
    assert_eq!(too_small(&site).await, json!([]), "targets of less than 24 pixels");
    site.may_fail("/query").finish().await;
}

/// Controls that are hard to press. WCAG excepts links in a text.
async fn too_small(site: &Site) -> Value {
    site.page
        .value(
            "$$('button, a, select, summary').filter((one) => one.checkVisibility() \
                 && !one.closest('p, .markdown, .visually-hidden, .skip-link')) \
             .map((one) => [one.getBoundingClientRect(), one]) \
             .filter(([{width, height}]) => width > 0 && (width < 24 || height < 24)).map(([, one]) => one.outerHTML)",
        )
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_light_page_keeps_the_rules() {
    all_states(1280, "light").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dark_page_keeps_the_rules() {
    all_states(1280, "dark").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_narrow_page_keeps_the_rules() {
    all_states(360, "light").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_narrow_dark_page_keeps_the_rules() {
    all_states(360, "dark").await;
}
