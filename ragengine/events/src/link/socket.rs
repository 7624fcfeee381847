use std::net::{Shutdown, TcpStream as StdStream};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::sleep;
use tokio_util::compat::TokioAsyncReadCompatExt as _;

use super::carrier::{Carried, Transport};
use super::tls;
use crate::failure::Failure;
use crate::options::Target;

/// The time for saying goodbye to the server.
const CLOSE_TIME: Duration = Duration::from_secs(1);

/// Closes a connection some time after this is dropped. The thread of the client would otherwise wait for a server that
/// does not answer, and each attempt to connect would add a thread.
pub(super) struct OpenSocket(Option<ClosedOnDrop>);

struct ClosedOnDrop(StdStream);

impl Drop for OpenSocket {
    fn drop(&mut self) {
        let socket = self.0.take();
        // Without a runtime, the connection closes at once.
        if let Ok(handle) = Handle::try_current() {
            handle.spawn(async move {
                sleep(CLOSE_TIME).await;
                drop(socket);
            });
        }
    }
}

impl Drop for ClosedOnDrop {
    fn drop(&mut self) {
        // It may be closed already.
        drop(self.0.shutdown(Shutdown::Both));
    }
}

/// Opens a stream to the server.
///
/// # Errors
///
/// Why that is not possible.
pub(super) async fn open(target: &Target) -> Result<(Carried, OpenSocket), Failure> {
    let authority = &target.uri.authority;
    let connect = async {
        let stream = TcpStream::connect((authority.host.as_str(), authority.port)).await?;
        stream.set_nodelay(true)?;
        let stream = stream.into_std()?;
        let socket = OpenSocket(Some(ClosedOnDrop(stream.try_clone()?)));
        let stream = TcpStream::from_std(stream)?;
        let stream: Box<dyn Transport> =
            if target.is_encrypted { Box::new(tls::encrypt(stream, &authority.host).await?) } else { Box::new(stream) };
        Ok((stream.compat(), socket))
    };
    connect.await.map_err(|error| Failure::of_io(&error))
}
