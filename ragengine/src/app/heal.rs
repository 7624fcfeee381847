use std::sync::Arc;
use std::time::Duration;

use tracing::info;

use super::App;
use ragengine_compute::{ShuttingDown, blocking};

/// The pause between two looks: the shortest, and the longest, to which tries lead that are vain or do not help for long.
const PAUSE: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// Opens again what the disk has refused, once the volume can be written, for as long as the server runs.
pub(super) async fn watch(app: Arc<App>) {
    let mut pause = PAUSE.0;
    loop {
        tokio::time::sleep(pause).await;
        let Some(loaded) = app.loaded.get() else { continue };
        let catalog = Arc::clone(&loaded.catalog);
        if !catalog.may_heal() {
            pause = (pause / 2).max(PAUSE.0);
            continue;
        }
        if app.volume.check(&app.settings.data_dir).await.is_err() {
            continue;
        }
        let healing = Arc::clone(&catalog);
        let opened = blocking::run(move || Ok::<_, ShuttingDown>(healing.heal())).await.unwrap_or_default();
        // Their generations may not have been begun yet, and the models of their vectors not loaded.
        loaded.generations.take_in(opened).await;
        if !catalog.may_heal() {
            info!("what the disk had refused is open again");
        }
        pause = (pause * 2).min(PAUSE.1);
    }
}
