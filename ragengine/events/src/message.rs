use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use uuid::Uuid;

use crate::Event;

/// The media type of bodies.
pub(crate) const CONTENT_TYPE: &str = "application/json";

/// What a message needs besides its headers and body, in bytes.
const OVERHEAD_BYTES: usize = 256;

/// The longest header `traceparent`, in bytes. Today's version has 55.
const TRACEPARENT_BYTES: usize = 128;

/// When and where an event happened.
pub(crate) struct Stamp<'a> {
    /// The event's id, for consumers that see it twice.
    pub id: Uuid,
    /// The time, in milliseconds since 1970.
    pub time_ms: i64,
    /// The program, as a URI reference.
    pub source: &'a str,
    /// The trace that it belongs to, in the form of W3C Trace Context. It is left out if it is too long.
    pub traceparent: Option<&'a str>,
}

impl<'a> Stamp<'a> {
    /// Of an event that happens now.
    pub fn now(source: &'a str, traceparent: Option<&'a str>) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time_ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        Self { id: Uuid::new_v4(), time_ms, source, traceparent }
    }
}

/// An event as it is sent.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// The event's name, for metrics.
    pub name: &'static str,
    pub routing_key: &'static str,
    /// The id of the message and of the event.
    pub id: String,
    /// The attributes of CloudEvents in binary mode, and the trace.
    pub headers: Vec<(&'static str, String)>,
    /// The event as JSON.
    pub body: Vec<u8>,
}

impl Message {
    /// The message of an event.
    pub fn new(event: &Event, stamp: &Stamp<'_>) -> Self {
        let body = match event {
            Event::QuerySubmitted(fields) => serde_json::to_vec(fields),
            Event::ResponseGenerated(fields) => serde_json::to_vec(fields),
        };
        let id = stamp.id.to_string();
        let time = Timestamp::from_millisecond(stamp.time_ms).unwrap_or(Timestamp::MAX);
        let attributes = [
            ("cloudEvents_specversion", "1.0".to_owned()),
            ("cloudEvents_id", id.clone()),
            ("cloudEvents_source", stamp.source.to_owned()),
            ("cloudEvents_type", event.cloud_event_type().to_owned()),
            ("cloudEvents_time", time.to_string()),
        ];
        let trace = stamp.traceparent.filter(|traceparent| traceparent.len() <= TRACEPARENT_BYTES);
        let trace = trace.map(|traceparent| ("traceparent", traceparent.to_owned()));
        Self {
            name: event.name(),
            routing_key: event.routing_key(),
            id,
            headers: attributes.into_iter().chain(trace).collect(),
            body: body.expect("texts and numbers are JSON"),
        }
    }

    /// The memory that it needs, in bytes.
    pub fn bytes(&self) -> usize {
        let headers: usize = self.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        self.body.len() + headers + OVERHEAD_BYTES
    }
}

/// Without the texts of callers.
impl fmt::Debug for Message {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Message").field("name", &self.name).field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::{QuerySubmitted, ResponseGenerated};

    fn text(event: impl Into<Event>, traceparent: Option<&str>) -> String {
        let id = Uuid::from_u128(0x0123_4567_89ab_4cde_8f01_2345_6789_abcd);
        let stamp = Stamp { id, time_ms: 1_767_323_045_678, source: "/ragengine/team.docs", traceparent };
        let message = Message::new(&event.into(), &stamp);
        assert_eq!(message.id, id.to_string());
        let headers: String = message.headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
        format!("{}\n{headers}\n{}", message.routing_key, String::from_utf8(message.body).unwrap())
    }

    #[test]
    fn a_question_has_its_fields_and_the_attributes_of_cloud_events() {
        let event = QuerySubmitted {
            query: "What's a \"node\"?".to_owned(),
            user_id: Some("user:ann".to_owned()),
            session_id: Some("abc12345".to_owned()),
            model_id: Some("gpt-4o-mini".to_owned()),
        };
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_snapshot!(text(event, Some(trace)), @r#"
        analytics.query.submitted
        cloudEvents_specversion: 1.0
        cloudEvents_id: 01234567-89ab-4cde-8f01-23456789abcd
        cloudEvents_source: /ragengine/team.docs
        cloudEvents_type: dev.ragengine.query.submitted
        cloudEvents_time: 2026-01-02T03:04:05.678Z
        traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01

        {"query":"What's a \"node\"?","user_id":"user:ann","session_id":"abc12345","model_id":"gpt-4o-mini"}
        "#);
    }

    #[test]
    fn an_answer_has_null_for_what_is_unknown() {
        let event = ResponseGenerated {
            query: "Why?".to_owned(),
            response: "Because.".to_owned(),
            model_id: Some("gpt-4o-mini".to_owned()),
            latency_ms: Some(1_234),
            citation_count: None,
            retrieval_count: Some(0),
            user_id: None,
        };
        assert_snapshot!(text(event, None), @r#"
        analytics.response.generated
        cloudEvents_specversion: 1.0
        cloudEvents_id: 01234567-89ab-4cde-8f01-23456789abcd
        cloudEvents_source: /ragengine/team.docs
        cloudEvents_type: dev.ragengine.response.generated
        cloudEvents_time: 2026-01-02T03:04:05.678Z

        {"query":"Why?","response":"Because.","model_id":"gpt-4o-mini","latency_ms":1234,"citation_count":null,"retrieval_count":0,"user_id":null}
        "#);
    }

    #[test]
    fn ids_differ() {
        assert_ne!(Stamp::now("/a", None).id, Stamp::now("/a", None).id);
        assert_eq!(Stamp::now("/a", None).id.get_version_num(), 4);
    }

    #[test]
    fn a_debug_text_has_no_texts_of_callers() {
        let event = QuerySubmitted { query: "s3cret".to_owned(), user_id: None, session_id: None, model_id: None };
        let message = Message::new(&event.into(), &Stamp::now("/a", None));
        assert!(!format!("{message:?}").contains("s3cret"));
        assert!(message.bytes() > message.body.len());
    }

    #[test]
    fn a_trace_that_is_too_long_is_left_out() {
        let event = QuerySubmitted { query: String::new(), user_id: None, session_id: None, model_id: None }.into();
        for (length, headers) in [(TRACEPARENT_BYTES, 6), (TRACEPARENT_BYTES + 1, 5)] {
            let trace = "x".repeat(length);
            assert_eq!(Message::new(&event, &Stamp::now("/a", Some(&trace))).headers.len(), headers);
        }
    }
}
