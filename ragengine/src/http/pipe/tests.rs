use std::convert::Infallible;

use futures_util::StreamExt;
use tokio::runtime::Runtime;
use tokio::task::spawn_blocking;

use super::*;

const TIMEOUT: Duration = Duration::from_secs(60);

/// A body whose parts are sent by the test.
fn sent() -> (mpsc::Sender<&'static str>, Body) {
    let (sender, mut parts) = mpsc::channel(1);
    let parts = stream::poll_fn(move |context| parts.poll_recv(context).map(|part| part.map(Ok::<_, Infallible>)));
    (sender, Body::from_stream(parts))
}

async fn read_all(mut reader: BodyReader) -> io::Result<String> {
    let read = move || {
        let mut text = String::new();
        reader.read_to_string(&mut text)?;
        // Reads after the end return 0 as well.
        assert_eq!(reader.read(&mut [0; 1])?, 0);
        Ok(text)
    };
    spawn_blocking(read).await.unwrap()
}

#[tokio::test]
async fn a_body_is_read_to_its_end() {
    let (sender, body) = sent();
    let reader = BodyReader::new(body, TIMEOUT);
    for part in ["one, ", "", "two"] {
        sender.send(part).await.unwrap();
    }
    drop(sender);
    assert_eq!(read_all(reader).await.unwrap(), "one, two");
}

/// Sends equal parts with a pause before each. Returns the number of parts that arrived, and the result.
async fn end_of_paced(part: &'static str, apart: Duration) -> (usize, io::Result<()>) {
    let parts = stream::unfold((), move |()| async move {
        tokio::time::sleep(apart).await;
        Some((Ok::<_, Infallible>(part), ()))
    });
    // Read here, because tokio's paused clock does not advance while a thread of the blocking pool waits.
    let mut reader = BodyReader::new(Body::from_stream(parts.take(100)), TIMEOUT);
    let mut arrived = 0;
    loop {
        match reader.parts.recv().await.unwrap() {
            Ok(Some(_)) => arrived += 1,
            Ok(None) => return (arrived, Ok(())),
            Err(error) => return (arrived, Err(error)),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_too_slowly_is_an_error() {
    let second = Duration::from_secs(1);
    let large: &'static str = "x".repeat(LEAST_BYTES / 2).leak();
    let slow = "less than 64 KiB of the request body arrived within 60 s (limits.bodyTimeoutSeconds)";
    let cases = [
        ("x", 61 * second, 0, Some(slow)),
        ("x", second * 59 / 10, 10, Some(slow)),
        // Fast enough: large parts with long pauses, and a short body.
        (large, 29 * second, 100, None),
        ("x", second / 2, 100, None),
    ];
    for (part, apart, arrived, words) in cases {
        let (parts, end) = end_of_paced(part, apart).await;
        let error = end.err();
        assert_eq!((parts, error.as_ref().map(ToString::to_string).as_deref()), (arrived, words), "{apart:?}");
        assert!(error.is_none_or(|error| error.kind() == ErrorKind::TimedOut));
    }
}

/// The disk is slow, not the client.
#[tokio::test(start_paused = true)]
async fn time_without_a_read_does_not_count() {
    let (sender, body) = sent();
    let mut reader = BodyReader::new(body, TIMEOUT);
    for _ in 0..3 {
        for _ in 0..WAITING_CHUNKS + 2 {
            sender.send("x").await.unwrap();
        }
        tokio::time::sleep(2 * TIMEOUT).await;
        for _ in 0..WAITING_CHUNKS + 2 {
            assert!(reader.parts.recv().await.unwrap().unwrap().is_some());
        }
    }
}

#[tokio::test]
async fn a_body_that_is_cut_off_is_an_error() {
    let parts = [Ok("one"), Err(io::Error::other("reset"))];
    let reader = BodyReader::new(Body::from_stream(stream::iter(parts)), TIMEOUT);
    assert_eq!(read_all(reader).await.unwrap_err().kind(), ErrorKind::ConnectionAborted);
}

#[tokio::test]
async fn the_rest_of_a_body_is_discarded_after_the_reader_is_dropped() {
    let (sender, body) = sent();
    drop(BodyReader::new(body, TIMEOUT));
    for _ in 0..100 {
        sender.send("more").await.unwrap();
    }
}

/// A shutdown of the runtime is an error for readers and writers, and not a panic.
#[test]
fn a_shutdown_is_an_error() {
    let runtime = Runtime::new().unwrap();
    let (_sender, body) = sent();
    let (mut reader, mut writer, receiver) = runtime.block_on(async {
        let (writer, receiver) = BodyWriter::new();
        (BodyReader::new(body, TIMEOUT), writer, receiver)
    });
    let reads = std::thread::spawn(move || reader.read(&mut [0; 1]));
    let writes = std::thread::spawn(move || (0..1000).try_for_each(|_| writer.write_all(&[0; CHUNK_BYTES])));
    runtime.shutdown_background();
    drop(receiver);
    assert_eq!(reads.join().unwrap().unwrap_err().kind(), ErrorKind::ConnectionAborted);
    assert_eq!(writes.join().unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn an_unfinished_body_ends_with_an_error() {
    for is_finished in [true, false] {
        let (mut writer, body) = BodyWriter::new();
        let write = move || {
            writer.write_all(&vec![7; CHUNK_BYTES + 1])?;
            if is_finished { writer.finish().map(drop) } else { writer.flush() }
        };
        let written = spawn_blocking(write);
        let parts: Vec<_> = StreamExt::collect(body.into_data_stream()).await;
        written.await.unwrap().unwrap();
        let bytes: usize = parts.iter().flatten().map(Bytes::len).sum();
        assert_eq!((bytes, parts.iter().all(Result::is_ok)), (CHUNK_BYTES + 1, is_finished));
    }
}

#[tokio::test]
async fn a_writer_learns_that_its_reader_left() {
    let (mut writer, body) = BodyWriter::new();
    let mut reader_left = std::pin::pin!(writer.reader_left());
    assert_eq!(futures_util::poll!(reader_left.as_mut()), std::task::Poll::Pending);
    drop(body);
    reader_left.await;
    let write = move || writer.write_all(b"x").and_then(|()| writer.flush()).unwrap_err().kind();
    assert_eq!(spawn_blocking(write).await.unwrap(), ErrorKind::BrokenPipe);
}
