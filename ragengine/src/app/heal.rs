use std::sync::Arc;
use std::time::Duration;

use tracing::info;

use super::App;
use ragengine_compute::{ShuttingDown, blocking};
use ragengine_engine::Index;

/// The shortest and the longest pause between two attempts. Attempts without lasting success increase it.
const PAUSE: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// Reopens indexes after errors of the disk, once the volume is writable. Runs as long as the server.
pub(super) async fn watch(app: Arc<App>) {
    let mut pause = PAUSE.0;
    loop {
        tokio::time::sleep(pause).await;
        let Some(loaded) = app.loaded.get() else { continue };
        let Some(catalog) = loaded.catalog.local().cloned() else { return };
        if !catalog.may_heal() {
            pause = (pause / 2).max(PAUSE.0);
            continue;
        }
        if app.volume.check(&app.settings.data_dir).await.is_err() {
            continue;
        }
        let healing = Arc::clone(&catalog);
        let opened = blocking::run(move || Ok::<_, ShuttingDown>(healing.heal())).await.unwrap_or_default();
        // Their builds may not have been started yet, and their models not loaded.
        loaded.generations.take_in(opened.into_iter().map(Index::Local).collect()).await;
        if !catalog.may_heal() {
            info!("all indexes are open again after an error of the disk");
        }
        pause = (pause * 2).min(PAUSE.1);
    }
}
