//! Formats events as lines of JSON. The formatter of tracing-subscriber validates UTF-8 per token, which took a tenth
//! of the time of relaying a chat.

use std::fmt::{self, Debug, Write as _};

use ragengine_traces::Span;
use serde::Serialize;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Most lines are shorter.
const USUAL_LINE_BYTES: usize = 512;

/// Formats an event as a JSON object: `timestamp`, `level`, fields including `message`, `target`. Spans are not
/// supported.
pub struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut time = String::with_capacity(32);
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let mut line = Line { bytes: Vec::with_capacity(USUAL_LINE_BYTES), log_target: None };
        line.bytes.push(b'{');
        line.put("timestamp", &time);
        line.put("level", event.metadata().level().as_str());
        event.record(&mut line);
        if let Some(trace_id) = Span::trace_id() {
            line.put("trace_id", &trace_id);
        }
        let log_target = line.log_target.take();
        line.put("target", log_target.as_deref().unwrap_or(event.metadata().target()));
        line.bytes.extend_from_slice(b"}\n");
        writer.write_str(str::from_utf8(&line.bytes).map_err(|_| fmt::Error)?)
    }
}

/// A line under construction.
struct Line {
    bytes: Vec<u8>,
    /// The target of a record of the `log` crate. tracing's own target is the same for all of them.
    log_target: Option<String>,
}

impl Line {
    /// Adds a field. Skips a value that cannot be serialized, which texts and numbers always can.
    fn put<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) {
        let before = self.bytes.len();
        self.bytes.extend_from_slice(if before > 1 { b",\"" } else { b"\"" });
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(b"\":");
        if serde_json::to_writer(&mut self.bytes, value).is_err() {
            self.bytes.truncate(before);
        }
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "log.target" => self.log_target = Some(value.to_owned()),
            name if name.starts_with("log.") => {}
            name => self.put(name, value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let mut text = String::new();
        if write!(text, "{value:?}").is_ok() {
            self.record_str(field, &text);
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field.name(), &value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if !field.name().starts_with("log.") {
            self.put(field.name(), &value);
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field.name(), &value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field.name(), &value);
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use parking_lot::Mutex;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(log: impl FnOnce()) -> Value {
        let written = Written::default();
        let writer = written.clone();
        let subscriber = tracing_subscriber::fmt().event_format(JsonLines).with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(subscriber, log);
        let text = String::from_utf8(written.0.lock().clone()).unwrap();
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        let mut line: Value = serde_json::from_str(&text).unwrap();
        let time = line.as_object_mut().unwrap().shift_remove("timestamp").unwrap();
        assert!(time.as_str().is_some_and(|time| time.ends_with('Z') && time.contains('T')), "{time}");
        line
    }

    #[test]
    fn every_kind_of_value_is_a_field() {
        let nothing: Option<u64> = None;
        let error = io::Error::other("a \"quoted\"\nreason");
        let line = logged(|| {
            tracing::warn!(text = "tab\there", whole = 7_u64, less = -7_i64, part = 0.5, odd = f64::NAN, yes = true,
                %error, debug = ?[1, 2], nothing, "what happened to {}", "it");
        });
        let expected = json!({
            "level": "WARN", "message": "what happened to it", "text": "tab\there", "whole": 7, "less": -7,
            "part": 0.5, "odd": null, "yes": true, "error": "a \"quoted\"\nreason", "debug": "[1, 2]",
            "target": module_path!(),
        });
        assert_eq!(line, expected);
    }

    #[test]
    fn a_line_starts_with_its_time_and_level() {
        let line = logged(|| tracing::info!("begun"));
        assert_eq!(line.to_string(), format!(r#"{{"level":"INFO","message":"begun","target":"{}"}}"#, module_path!()));
    }
}
