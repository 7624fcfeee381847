use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Body as _;
use prometheus::IntGauge;
use ragengine_errors::{Class, Fault, Logged, RetryAfter};
use ragengine_settings::Limits;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Refused, Work};
use crate::telemetry::metrics::AdmissionMetrics;

/// Bytes of each body that do not count, so that short questions are accepted while documents use all the memory.
const FREE_BYTES: usize = 64 << 10;

/// Why a body could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// The body is too large.
    #[error("the request body is larger than the limit of {max_bytes} bytes: split the request, or raise {setting}")]
    TooLarge {
        /// The limit, in bytes.
        max_bytes: u64,
        /// The setting of the limit.
        setting: &'static str,
    },
    /// The body did not arrive in time, or was cut off.
    #[error("{0}")]
    Lost(String),
    /// The memory for bodies is full.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl Fault for BodyError {
    fn class(&self) -> Class {
        match self {
            Self::TooLarge { .. } => Class::TooLarge,
            Self::Lost(_) => Class::Lost,
            Self::Refused(refused) => refused.class(),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "too_large",
            Self::Lost(_) => "body_lost",
            Self::Refused(refused) => refused.kind(),
        }
    }

    fn retry_after(&self) -> Option<RetryAfter> {
        match self {
            Self::Refused(refused) => refused.retry_after(),
            Self::TooLarge { .. } | Self::Lost(_) => None,
        }
    }
}

impl Logged for BodyError {
    fn own_words(&self) -> Option<String> {
        Some(self.to_string())
    }
}

/// The memory for bodies.
pub struct Bodies {
    max_body_bytes: u64,
    max_read_body_bytes: u64,
    timeout: Duration,
    max_bytes: u64,
    room: Arc<Semaphore>,
    held_bytes: IntGauge,
}

/// The memory of a body, freed on drop.
pub struct Held {
    /// `None` for a small body, which does not count.
    room: Option<OwnedSemaphorePermit>,
    all_bytes: IntGauge,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.all_bytes.sub(self.room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits) as i64);
    }
}

impl Bodies {
    pub(super) fn new(limits: &Limits, metrics: &AdmissionMetrics) -> Self {
        let room = usize::try_from(limits.max_bodies_bytes).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Self {
            max_body_bytes: limits.max_body_bytes,
            max_read_body_bytes: limits.max_read_body_bytes.min(limits.max_body_bytes),
            timeout: Duration::from_secs(limits.body_timeout_seconds),
            max_bytes: limits.max_bodies_bytes,
            room: Arc::new(Semaphore::new(room)),
            held_bytes: metrics.request_bodies_bytes.clone(),
        }
    }

    /// Reads a body, within its limits of size and time.
    ///
    /// # Errors
    ///
    /// [`BodyError::TooLarge`], [`BodyError::Lost`] when it does not arrive, or [`Refused::BodiesFull`].
    pub async fn read(&self, work: Work, body: &mut Body) -> Result<(Bytes, Held), BodyError> {
        match tokio::time::timeout(self.timeout, self.collect(self.bound(work), body)).await {
            Ok(result) => result,
            Err(_) => Err(BodyError::Lost(format!(
                "the request body did not arrive within {} s (limits.bodyTimeoutSeconds)",
                self.timeout.as_secs()
            ))),
        }
    }

    /// The size limit and its setting. Reads have a lower limit than chats, which may contain pictures.
    fn bound(&self, work: Work) -> (u64, &'static str) {
        match work {
            Work::Read if self.max_read_body_bytes < self.max_body_bytes => {
                (self.max_read_body_bytes, "limits.maxReadBodyBytes")
            }
            Work::Read | Work::Chat | Work::Write => (self.max_body_bytes, "limits.maxBodyBytes"),
        }
    }

    /// Collects the pieces of a body. A body in one piece is not copied.
    async fn collect(
        &self,
        (max_bytes, setting): (u64, &'static str),
        body: &mut Body,
    ) -> Result<(Bytes, Held), BodyError> {
        let too_large = || BodyError::TooLarge { max_bytes, setting };
        if body.size_hint().lower() > max_bytes {
            return Err(too_large());
        }
        let (mut first, mut joined) = (Bytes::new(), BytesMut::new());
        let mut held = Held { room: None, all_bytes: self.held_bytes.clone() };
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| BodyError::Lost("the request body was cut off".to_owned()))?;
            let Ok(piece) = frame.into_data() else { continue };
            let before = first.len() + joined.len();
            let after = before + piece.len();
            if after as u64 > max_bytes {
                return Err(too_large());
            }
            self.hold(&mut held, after.saturating_sub(FREE_BYTES) - before.saturating_sub(FREE_BYTES))?;
            if before == 0 {
                first = piece;
                continue;
            }
            if joined.is_empty() {
                // Reserves the whole body, if its length is known, to avoid copies. The system only provides memory for
                // the part that has arrived.
                let rest = usize::try_from(body.size_hint().lower()).unwrap_or(0);
                joined.reserve(after + rest);
                joined.extend_from_slice(&std::mem::take(&mut first));
            }
            joined.extend_from_slice(&piece);
        }
        Ok((if joined.is_empty() { first } else { joined.freeze() }, held))
    }

    /// Fails instead of waiting, because two bodies that wait for more memory could deadlock.
    fn hold(&self, held: &mut Held, bytes: usize) -> Result<(), Refused> {
        if bytes == 0 {
            return Ok(());
        }
        let full = || Refused::BodiesFull { max_bytes: self.max_bytes };
        let bytes = u32::try_from(bytes).map_err(|_| full())?;
        let room = Arc::clone(&self.room).try_acquire_many_owned(bytes).map_err(|_| full())?;
        self.held_bytes.add(i64::from(bytes));
        match &mut held.room {
            Some(held) => held.merge(room),
            None => held.room = Some(room),
        }
        Ok(())
    }
}

/// Reads and discards the body of a refused request, within the usual limits of size and time.
pub async fn discard(body: Body, limits: Limits) {
    let mut body = Limited::new(body, usize::try_from(limits.max_body_bytes).unwrap_or(usize::MAX));
    let reading = async { while let Some(Ok(_)) = body.frame().await {} };
    // After the timeout, the body is dropped, which closes the connection.
    drop(tokio::time::timeout(Duration::from_secs(limits.body_timeout_seconds), reading).await);
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;

    use super::*;
    use crate::telemetry::metrics::Metrics;

    fn bodies(max_body_bytes: u64, max_bodies_bytes: u64) -> Bodies {
        with(&Limits { max_body_bytes, max_bodies_bytes, ..Limits::default() })
    }

    fn with(limits: &Limits) -> Bodies {
        Bodies::new(limits, &Metrics::new(Duration::from_secs(300)).unwrap().admission)
    }

    /// A body in pieces of 40 KiB, without a Content-Length.
    fn body(bytes: usize) -> Body {
        let text: Vec<u8> = (0..bytes).map(|place| (place % 251) as u8).collect();
        let pieces: Vec<_> =
            text.chunks(40 << 10).map(|piece| Ok::<_, Infallible>(Bytes::copy_from_slice(piece))).collect();
        Body::from_stream(stream::iter(pieces))
    }

    #[tokio::test]
    async fn a_body_is_read_whole_or_refused() {
        let bodies = bodies(200_000, 200_000);
        for bytes in [0, 1, 40 << 10, 100_000, 200_000] {
            let (read, _held) = bodies.read(Work::Write, &mut body(bytes)).await.unwrap();
            assert_eq!(read.len(), bytes);
            assert!(read.iter().enumerate().all(|(place, byte)| *byte == (place % 251) as u8));
        }
        for mut body in [body(200_001), Body::from(vec![0; 200_001])] {
            assert!(matches!(
                bodies.read(Work::Write, &mut body).await,
                Err(BodyError::TooLarge { max_bytes: 200_000, setting: "limits.maxBodyBytes" })
            ));
        }
    }

    #[tokio::test]
    async fn a_read_has_a_lower_limit() {
        let limits = Limits { max_body_bytes: 200_000, max_read_body_bytes: 50_000, ..Limits::default() };
        let bodies = with(&limits);
        assert!(bodies.read(Work::Read, &mut body(50_000)).await.is_ok());
        assert!(bodies.read(Work::Chat, &mut body(50_001)).await.is_ok());
        let refused = bodies.read(Work::Read, &mut body(50_001)).await.err().unwrap();
        assert!(matches!(refused, BodyError::TooLarge { max_bytes: 50_000, setting: "limits.maxReadBodyBytes" }));
    }

    #[tokio::test]
    async fn large_bodies_need_free_memory_and_small_ones_do_not() {
        let bodies = bodies(200_000, 300_000);
        let (_, first) = bodies.read(Work::Write, &mut body(200_000)).await.unwrap();
        let (_, second) = bodies.read(Work::Write, &mut body(200_000)).await.unwrap();
        let refused = |result: Result<_, BodyError>| {
            matches!(result, Err(BodyError::Refused(Refused::BodiesFull { max_bytes: 300_000 })))
        };
        assert!(refused(bodies.read(Work::Write, &mut body(200_000)).await));
        assert_eq!(bodies.read(Work::Write, &mut body(FREE_BYTES)).await.unwrap().0.len(), FREE_BYTES);
        assert_eq!(bodies.held_bytes.get(), 2 * (200_000 - FREE_BYTES as i64));
        drop(first);
        // The memory of the refused body is free again, too.
        let third = bodies.read(Work::Write, &mut body(200_000)).await.unwrap();
        drop((second, third));
        assert_eq!((bodies.room.available_permits(), bodies.held_bytes.get()), (300_000, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_arrive_is_lost() {
        let silent = stream::pending::<Result<Bytes, Infallible>>();
        let result = bodies(2000, 2000).read(Work::Write, &mut Body::from_stream(silent)).await;
        assert!(matches!(result, Err(BodyError::Lost(_))));
    }
}
