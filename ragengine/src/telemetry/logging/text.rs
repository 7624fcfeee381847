//! Formats events as lines for people.

use std::fmt;

use ragengine_traces::Span;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, Full, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The usual format, with the id of the trace at the end of a line.
pub struct TextLines(Format<Full>);

impl TextLines {
    /// Lines with colours, if wanted.
    pub fn new(has_colours: bool) -> Self {
        Self(Format::default().with_ansi(has_colours).with_target(false))
    }
}

impl<S, N> FormatEvent<S, N> for TextLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let Some(trace_id) = Span::trace_id() else { return self.0.format_event(context, writer, event) };
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        writeln!(writer, "{} trace_id={trace_id}", line.trim_end_matches('\n'))
    }
}
