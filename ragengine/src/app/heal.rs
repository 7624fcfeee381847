use std::sync::Arc;
use std::time::Duration;

use tracing::info;

use super::App;
use crate::blocking;

/// The pause between two looks, and the longest after a vain try.
const PAUSE: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// Opens again what the disk has refused, once the volume can be written, for as long as the server runs.
pub(super) async fn watch(app: Arc<App>) {
    let mut pause = PAUSE.0;
    loop {
        tokio::time::sleep(pause).await;
        let Some(catalog) = app.loaded.get().map(|loaded| Arc::clone(&loaded.catalog)) else { continue };
        if !catalog.may_heal() || app.volume.check(&app.settings.data_dir).await.is_err() {
            continue;
        }
        let is_well = blocking::run(move || Ok(catalog.heal())).await.unwrap_or_default();
        if is_well {
            info!("what the disk had refused is open again");
        }
        pause = if is_well { PAUSE.0 } else { (pause * 2).min(PAUSE.1) };
    }
}
