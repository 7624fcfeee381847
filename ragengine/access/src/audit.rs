use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use serde::Serialize;

/// A line of the audit log: who did what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditRecord<'a> {
    /// When the request ended.
    pub time: SystemTime,
    /// The request's ID, which the server's log has, too.
    pub request_id: &'a str,
    /// The caller's principal. None if it is not known.
    pub caller: Option<&'a str>,
    /// What the request is for, such as the name of its operation.
    pub action: &'a str,
    /// The index, if the request names one.
    pub index: Option<&'a str>,
    /// What came of it, such as the kind of an error.
    pub outcome: &'a str,
}

/// The same as JSON has it, in this order.
#[derive(Serialize)]
struct Line<'a> {
    time: String,
    request_id: &'a str,
    caller: Option<&'a str>,
    action: &'a str,
    index: Option<&'a str>,
    outcome: &'a str,
}

impl AuditRecord<'_> {
    /// Writes the record as one line of JSON, at once, so that lines of other threads are not mixed with it.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write(&self, mut writer: impl Write) -> io::Result<()> {
        let Self { request_id, caller, action, index, outcome, .. } = *self;
        let line = Line { time: time(self.time), request_id, caller, action, index, outcome };
        let mut text = serde_json::to_string(&line)?;
        // JSON allows them in texts, but some programs end a line there.
        for end in ['\u{7f}', '\u{85}', '\u{2028}', '\u{2029}'] {
            if text.contains(end) {
                text = text.replace(end, &format!("\\u{:04x}", u32::from(end)));
            }
        }
        text.push('\n');
        writer.write_all(text.as_bytes())
    }
}

/// A time as in RFC 3339, in UTC, with milliseconds.
fn time(time: SystemTime) -> String {
    let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let ms = i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX);
    let timestamp = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX);
    format!("{timestamp:.3}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn written(record: &AuditRecord<'_>) -> String {
        let mut bytes = Vec::new();
        record.write(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn record() -> AuditRecord<'static> {
        AuditRecord {
            time: UNIX_EPOCH + Duration::from_millis(1_777_636_800_005),
            request_id: "r-1",
            caller: Some("user:ann"),
            action: "query",
            index: Some("handbook"),
            outcome: "done",
        }
    }

    #[test]
    fn a_record_is_a_line_of_json() {
        assert_eq!(
            written(&record()),
            "{\"time\":\"2026-05-01T12:00:00.005Z\",\"request_id\":\"r-1\",\"caller\":\"user:ann\",\
             \"action\":\"query\",\"index\":\"handbook\",\"outcome\":\"done\"}\n"
        );
        let unknown = AuditRecord { caller: None, index: None, time: UNIX_EPOCH, ..record() };
        assert_eq!(
            written(&unknown),
            "{\"time\":\"1970-01-01T00:00:00.000Z\",\"request_id\":\"r-1\",\"caller\":null,\"action\":\"query\",\
             \"index\":null,\"outcome\":\"done\"}\n"
        );
    }

    #[test]
    fn a_failing_writer_is_an_error() {
        let mut full: &mut [u8] = &mut [0; 4];
        assert!(record().write(&mut full).is_err());
    }

    proptest! {
        #[test]
        fn a_record_with_any_text_is_one_line(text in "\\PC{0,9}|[\\x00-\\x7f\u{85}\u{2028}\u{2029}\u{1b}]{0,9}") {
            let line = written(&AuditRecord { index: Some(&text), request_id: &text, ..record() });
            let content = line.strip_suffix('\n').unwrap();
            let ends = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
            prop_assert!(!content.contains(ends));
            let value: Value = serde_json::from_str(content).unwrap();
            prop_assert_eq!(value["index"].as_str(), Some(&text[..]));
        }
    }
}
