//! Scripts that must not run, wherever they are written.

use serde_json::json;

use crate::model::Model;
use crate::site::Site;

/// Each sets a flag on the page, or asks another server, if it is more than text.
const HOSTILE: &str = r#"<img src=x onerror="window.ran=1"> <script>window.ran=2</script>
<svg onload="window.ran=3"></svg>
<iframe src="javascript:parent.ran=4"></iframe> <a href="javascript:window.ran=5">bad link</a>
<img src="https://evil.example/pixel.png"> <style>body { display: none }</style> <form action="https://evil.example">
<math><mtext><table><mglyph><style><img src=x onerror="window.ran=6">"#;

/// No script of a text has run, and none waits for a press.
async fn nothing_ran(site: &Site) {
    let page = &site.page;
    assert!(page.value("window.ran").await.is_null(), "a script ran");
    // The pictures and drawings that the page itself has are icons.
    let active = "$$('iframe, object, embed, form[action], main script, dialog script, main style, main img, \
                  main svg:not(.icon), [onerror], [onload], [onclick]').map((one) => one.outerHTML)";
    assert_eq!(page.value(active).await, json!([]));
    let links = "$$('a[href]').map((one) => one.protocol).filter((one) => !/^(https?|mailto):$/.test(one))";
    assert_eq!(page.value(links).await, json!([]));
    assert_eq!(page.value("getComputedStyle(document.body).display === 'none'").await, false);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_text() {
    let answer = format!(
        "{HOSTILE}\n\n[a](javascript:window.ran=7) [b](data:text/html,<script>window.ran=8</script>) \
         [c](https://example.org/ \"title\" onclick=window.ran=9) ![d](https://evil.example/d.png)\n\n\
         <javascript:window.ran=10>\n\n```html\n{HOSTILE}\n```\n\n| <img src=x onerror=window.ran=11> |\n|--|\n| \
         <b onclick=\"window.ran=12\">bold</b> |\n\nThe end."
    );
    let site = Site::start(Model::answering(&answer).await).await;
    let page = &site.page;
    let question = "<img src=x onerror=window.ran=13> Why do cats purr?";
    page.begin(question).await;
    let shown = page.text(".markdown").await;
    for text in ["<img src=x onerror=\"window.ran=1\">", "window.ran=2", "The end."] {
        assert!(shown.contains(text), "{text} is not shown: {shown}");
    }
    assert_eq!(page.text("[data-role=user] .bubble").await, question);
    assert_eq!(page.text(".markdown b").await, "bold");
    nothing_ran(&site).await;
    page.value("$$('.markdown b, .markdown p, .markdown pre').forEach((one) => one.click())").await;
    nothing_ran(&site).await;
    // The title of the conversation in the list, and its dialogs.
    page.reads("@conversation a", "<img src=x onerror=window.ran=13>").await;
    page.hover("@conversation").await;
    page.click("@conversation @delete").await;
    page.reads("@confirm-dialog", "<img src=x").await;
    page.reload().await;
    page.reads(".markdown", "The end.").await;
    nothing_ran(&site).await;
    site.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_text() {
    let site = Site::empty(Model::answering("They purr [1].").await, 4.0, "").await;
    let document = json!({
        "doc_id": "<img src=x onerror=window.ran=20>", "text": format!("Cats purr when content. {HOSTILE} The end."),
        "metadata": {
            "title": "<img src=x onerror=window.ran=21> Cats", "author": HOSTILE,
            "link": "javascript:window.ran=22", "url": "https://example.org/cats",
        },
    });
    let documents = json!({"index_name": "docs", "documents": [document]});
    site.server.post("/index", &documents).await.ok();
    let page = &site.page;
    page.open(&site.server.url).await;
    page.reads("@suggestion", "<img src=x onerror=window.ran=21> Cats").await;
    page.begin("Why do cats purr?").await;
    page.reads("@source-chip", "<img src=x onerror=window.ran=21> Cats").await;
    page.click("@source-chip").await;
    page.reads("@passage", "<script>window.ran=2</script>").await;
    let panel = page.text("@document-panel").await;
    for text in ["onerror=window.ran=20", "onerror=window.ran=21", "javascript:window.ran=22"] {
        assert!(panel.contains(text), "{text} is not shown: {panel}");
    }
    let links = page.value("$$('@document-panel a').map((one) => one.href)").await;
    assert_eq!(links, json!(["https://example.org/cats"]));
    nothing_ran(&site).await;
    page.click("@document-panel .panel-close").await;
    page.click("@explain summary").await;
    page.reads("@explain", "onerror=window.ran=21").await;
    nothing_ran(&site).await;
    site.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_name_and_an_address_are_text() {
    let site = Site::start(Model::answering("So it is.").await).await;
    let page = &site.page;
    page.sees("@welcome").await;
    let name = "<img src=x onerror=window.ran=30>.md";
    page.drop_files(&[(name, "Some text.")]).await;
    page.reads("@upload-dialog .file-name", name).await;
    page.click("@upload-start").await;
    page.reads("@upload-progress", "1 file added to docs.").await;
    nothing_ran(&site).await;
    page.open("about:blank").await;
    page.open(&format!("{}/#chat=<img src=x onerror=window.ran=31>", site.server.url)).await;
    page.sees("@welcome").await;
    nothing_ran(&site).await;
    site.finish().await;
}
