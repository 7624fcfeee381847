use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::HttpBody;
use hyper::body::{Frame, SizeHint};
use ragengine_traces::Span;

/// A future or a body that works in a span, also when it is dropped: then it logs that the client has left.
pub struct Traced<T> {
    /// None once it has been dropped.
    inner: Option<T>,
    span: Span,
}

impl<T> Traced<T> {
    /// Works in this span.
    pub fn new(inner: T, span: Span) -> Self {
        Self { inner: Some(inner), span }
    }
}

impl<F: Future + Unpin> Future for Traced<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let _current = self.span.enter();
        match &mut self.inner {
            Some(inner) => Pin::new(inner).poll(context),
            None => Poll::Pending,
        }
    }
}

impl<B: HttpBody + Unpin> HttpBody for Traced<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let _current = self.span.enter();
        match &mut self.inner {
            Some(inner) => Pin::new(inner).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map(HttpBody::size_hint).unwrap_or_default()
    }
}

impl<T> Drop for Traced<T> {
    fn drop(&mut self) {
        let _current = self.span.enter();
        drop(self.inner.take());
    }
}
