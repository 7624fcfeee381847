//! Files of every format.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ragengine_e2e::changes::{Changes, Content};
use ragengine_e2e::engine::Engine;
use ragengine_e2e::index::{Index, paths, set};
use ragengine_e2e::namespace::in_namespace;
use ragengine_e2e::operator::Operator;
use ragengine_e2e::source::Git;
use serde_json::json;

use super::{pdf, secret};

const PAGE: &str = "<html><head><title>Opening hours</title><script>never()</script></head><body><nav>Home</nav>\
                    <main><h1>Opening hours</h1><p>The archive opens at nine.</p></main></body></html>";

#[tokio::test]
async fn every_format_is_read_and_an_answer_names_the_page() {
    in_namespace("index-formats", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let git = Git::start(namespace, "password").await?;
        secret(namespace, "git", &git.credentials("password").await?).await?;
        let texts = Changes::texts([
            ("plain.txt", "Pluto is small."),
            ("deep/er/guide.md", "---\ntitle: The guide\n---\n# Planets\n\nSaturn has rings.\n"),
            ("page.html", PAGE),
            (
                "lines.jsonl",
                "{\"id\": \"one\", \"text\": \"Neptune is blue.\"}\n{\"text\": \"Uranus lies on its side.\"}\n",
            ),
            ("table.csv", "id,name,moons\n4,Mars,2\n5,Jupiter,95\n"),
            ("orbit.rs", "/// How long an orbit takes, in days.\nfn orbit_days() -> u32 {\n    27\n}\n"),
            ("settings.yaml", "planets: eight\n"),
            ("picture.png", "no text"),
        ]);
        let paper = pdf::with_pages(&["Comets have tails.", "", "Meteors burn up in the air."]);
        git.commit(&texts.and_put("paper.pdf", Content::Base64(BASE64_STANDARD.encode(paper)))).await?;

        let engine = Engine::start(namespace, "docs", &json!({"retrieval": {"maxDistance": 1.1}})).await?;
        let repository = json!({"name": "git", "git": {"url": git.url(), "accessSecret": "git"}});
        let index = Index::start(namespace, "formats", &super::of_source("docs", &repository)).await?;
        let wanted = [
            "deep/er/guide.md",
            "lines.jsonl#2",
            "lines.jsonl#one",
            "orbit.rs",
            "page.html",
            "paper.pdf",
            "plain.txt",
            "settings.yaml",
            "table.csv#4",
            "table.csv#5",
        ];
        assert_eq!(paths(&engine, "formats", "formats.git").await?, set(wanted));
        for (query, path, place, value) in [
            ("What burns up in the air?", "paper.pdf", "page", json!(3)),
            ("When does the archive open?", "page.html", "title", json!("Opening hours")),
            ("What has rings?", "deep/er/guide.md", "title", json!("The guide")),
            ("How many moons has Jupiter?", "table.csv#5", "path", json!("table.csv")),
            ("How long does an orbit take in days?", "orbit.rs", "language", json!("rust")),
        ] {
            let asked = json!({"index_name": "formats", "query": query});
            let found = engine.post("/retrieve", &asked).await?.ok()?;
            let best = &found["results"][0];
            assert_eq!(
                (&best["doc_id"], &best["metadata"][place]),
                (&json!(format!("formats.git/{path}")), &value),
                "{found}"
            );
            assert!(!best["text"].as_str().unwrap().contains("never"), "{found}");
        }
        assert_eq!(index.object().await?.status.unwrap().documents, Some(wanted.len() as u64));
        Ok(())
    })
    .await;
}
