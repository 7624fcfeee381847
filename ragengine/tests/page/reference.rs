//! The API reference.

use crate::model::Model;
use crate::site::Site;

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_lists_every_operation() {
    let site = Site::start(Model::answering("So it is.").await).await;
    let page = &site.page;
    page.open(&format!("{}/docs", site.server.url)).await;
    page.sees(".opblock").await;
    let document = site.server.get("/openapi.json").await.ok();
    let paths = document["paths"].as_object().unwrap();
    let operations: usize = paths.values().map(|path| path.as_object().unwrap().len()).sum();
    assert!(operations > 20, "{operations}");
    page.until(&format!("$$('.opblock').length === {operations}")).await;
    let listed = page.texts(".opblock-summary-path").await;
    for path in paths.keys() {
        assert!(listed.iter().any(|one| one.replace('\u{200b}', "") == *path), "{path} is not in {listed:?}");
    }
    // A call can be tried out.
    page.click(".opblock-summary-control").await;
    page.sees(".opblock.is-open .opblock-body").await;
    site.finish().await;
}
