//! The pictures in docs/images.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::model::{Does, Model};
use crate::site::Site;

/// The folder for the pictures. Without it, none are made.
const FOLDER: &str = "RAGENGINE_SCREENSHOTS";

const QUESTION: &str = "How do I give an index a schedule?";

const ANSWER: &str = "Set `schedule` in the specification of the **Index**. It is a cron expression of five fields in \
     UTC that says when the sources are read again [1]:\n\n\
     ```yaml\n\
     apiVersion: ragengine.dev/v1alpha1\n\
     kind: Index\n\
     metadata:\n  name: handbook\n\
     spec:\n  schedule: \"0 * * * *\" # every full hour\n\
     ```\n\n\
     Without a schedule, a synchronisation starts only when:\n\n\
     - the specification changes, or a ConfigMap or Secret that it names [1]\n\
     - the annotation `ragengine.dev/sync` gets a new value [1]";

/// Earlier questions, the oldest first.
const EARLIER: [&str; 3] =
    ["Which file formats can I add?", "How do I restore a backup?", "What happens when a source is empty?"];

/// Adds files of this repository, with their first headings as titles.
async fn add_documentation(site: &Site, index: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let document = |path: &str| {
        let text = std::fs::read_to_string(root.join(path)).unwrap();
        let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap().to_owned();
        json!({"doc_id": path, "text": text, "metadata": {"title": title, "path": path, "split_type": "markdown"}})
    };
    let files = ["README.md", "docs/durability.md", "docs/formats.md", "docs/index-resource.md", "docs/sync.md"];
    let documents: Vec<Value> = files.into_iter().map(document).collect();
    site.server.post("/index", &json!({"index_name": index, "documents": documents})).await.ok();
}

/// Writes a picture of the window.
async fn picture(site: &Site, folder: &Path, name: &str) {
    let page = &site.page;
    page.until("document.getAnimations().every((one) => one.playState !== 'running')").await;
    page.run("document.activeElement.blur()", json!([])).await;
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(name), page.picture().await).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn screenshots() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let model = Model::scripted(|question| {
        Does::Answers(if question.contains("schedule") { ANSWER } else { "It depends [1]." }.to_owned())
    });
    let more = "chunking: {maxTokens: 128}";
    let site = Site::empty(model.await, 1.1, more).await;
    add_documentation(&site, "ragengine-docs").await;
    let page = &site.page;
    // As on a phone, and on most desktops.
    page.devtools("Emulation.setScrollbarsHidden", json!({"hidden": true})).await;
    page.prefer("light").await;
    page.open(&site.server.url).await;
    for question in EARLIER {
        page.begin(question).await;
        page.click("@new-chat").await;
    }
    page.begin(QUESTION).await;
    page.until("$('.hljs-attr')").await;
    picture(&site, &folder, "chat-light.png").await;
    page.click("@citation").await;
    page.sees("@passage").await;
    page.prefer("dark").await;
    picture(&site, &folder, "chat-dark.png").await;
    page.click("@document-panel .panel-close").await;
    page.prefer("light").await;
    page.resize(390, 844).await;
    picture(&site, &folder, "chat-narrow.png").await;
    site.finish().await;
}
