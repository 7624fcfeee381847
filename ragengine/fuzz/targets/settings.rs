//! Fuzzes the settings file. A text is refused with a message or accepted; accepted settings are valid and survive
//! being written and read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ragengine_settings::{Settings, VectorIndexKind, from_yaml, validate};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = str::from_utf8(bytes) else { return };
    match from_yaml(text) {
        Ok(settings) => {
            assert_eq!(validate(&settings).len(), 0);
            let written = serde_json::to_string(&settings).expect("settings can be written");
            let read: Settings = serde_json::from_str(&written).expect("what was written can be read");
            assert_eq!(read, settings);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Ok(kind) = text.parse::<VectorIndexKind>() {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
});
