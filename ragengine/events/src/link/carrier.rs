use std::future::ready;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use async_rs::Tokio;
use async_rs::traits::Reactor;
use futures_util::Stream;
use futures_util::io::{AsyncRead, AsyncWrite};
use tokio::io::{AsyncRead as TokioRead, AsyncWrite as TokioWrite};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_util::compat::Compat;

/// A stream to the server, encrypted or not.
pub(super) trait Transport: TokioRead + TokioWrite + Send + Unpin {}

impl Transport for TcpStream {}

impl Transport for TlsStream<TcpStream> {}

/// A stream in the form of the client.
pub(super) type Carried = Compat<Box<dyn Transport>>;

/// Tokio in the form of the client, with streams that are connected already.
#[derive(Debug, Clone, Default)]
pub(super) struct Carrier(Tokio);

impl Reactor for Carrier {
    type TcpStream = Carried;
    type Sleep = <Tokio as Reactor>::Sleep;

    // The client's own trait for sockets cannot be named here.
    fn register<H: Read + Write + Send + 'static>(
        &self,
        _: H,
    ) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
        Err::<Carried, _>(io::ErrorKind::Unsupported.into())
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.0.sleep(duration)
    }

    fn interval(&self, duration: Duration) -> impl Stream<Item = Instant> + Send + 'static {
        self.0.interval(duration)
    }

    fn tcp_connect_addr(&self, _: SocketAddr) -> impl Future<Output = io::Result<Carried>> + Send + 'static {
        // The client gets a stream instead.
        ready(Err(io::ErrorKind::Unsupported.into()))
    }
}
