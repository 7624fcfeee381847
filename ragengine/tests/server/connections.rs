//! Limits on connections: idle connections, even more than are allowed, do not block requests.

use std::sync::Arc;
use std::time::Duration;

use ragengine::app::App;
use ragengine::{router, server};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::support::process::Process;
use crate::support::{Server, settings};

const LIVEZ: &[u8] = b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// A server that has loaded nothing and answers `/livez`.
async fn server(limits: &str) -> (Server, tempfile::TempDir) {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_unloaded(settings(&data, &format!("limits: {{{limits}}}"))).await;
    (server, data)
}

async fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(server.url.trim_start_matches("http://")).await.unwrap()
}

/// Sends a request for `/livez` and returns the whole reply.
async fn get_livez(connection: &mut TcpStream) -> String {
    connection.write_all(LIVEZ).await.unwrap();
    reply(connection).await
}

/// Reads a whole reply of `/livez`.
async fn reply(connection: &mut TcpStream) -> String {
    let mut reply = Vec::new();
    while !reply.ends_with(b"ok\n") {
        let mut piece = [0; 1024];
        let length = connection.read(&mut piece).await.unwrap();
        assert_ne!(length, 0, "the connection was closed after {:?}", String::from_utf8_lossy(&reply));
        reply.extend_from_slice(&piece[..length]);
    }
    String::from_utf8(reply).unwrap()
}

/// Waits until the server has closed the connection without sending anything.
async fn wait_until_closed(connection: &mut TcpStream) {
    let mut rest = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(60), connection.read_to_end(&mut rest)).await;
    // The connection is reset if the server did not read everything that was sent.
    assert!(read.expect("the server closes the connection").is_err() || rest.is_empty(), "{rest:?}");
}

fn metric(server: &Server, name: &str) -> u64 {
    let text = server.app.metrics.render(&[]).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0, |value| value.trim().parse().unwrap())
}

fn closed(server: &Server, reason: &str) -> u64 {
    metric(server, &format!("ragengine_connections_closed_total{{listener=\"listen\",reason=\"{reason}\"}}"))
}

#[tokio::test]
async fn the_longest_idle_connection_is_closed_for_a_new_one() {
    let (server, _data) = server("maxConnections: 3").await;
    let mut idle = Vec::new();
    for _ in 0..3 {
        let mut connection = connect(&server).await;
        get_livez(&mut connection).await;
        idle.push(connection);
    }
    // The first sends another request. The second begins one, but stays idle until its whole head has arrived.
    get_livez(&mut idle[0]).await;
    idle[1].write_all(b"GET /livez HT").await.unwrap();
    let mut new = connect(&server).await;
    assert!(get_livez(&mut new).await.starts_with("HTTP/1.1 200"));
    wait_until_closed(&mut idle[1]).await;
    assert_eq!(closed(&server, "room"), 1);
    for connection in [0, 2] {
        get_livez(&mut idle[connection]).await;
    }
    assert_eq!(metric(&server, "ragengine_connections_open{listener=\"listen\"}"), 3);
}

#[tokio::test]
async fn idle_connections_over_the_limit_block_no_request() {
    let (server, _data) = server("maxConnections: 50").await;
    let mut idle = Vec::new();
    for number in 0..100_u32 {
        let mut connection = connect(&server).await;
        if number % 2 == 1 {
            connection.write_all(b"GET / HTTP/1.1\r\nhost: ").await.unwrap();
        }
        idle.push(connection);
    }
    for _ in 0..10 {
        assert_eq!(server.get("/livez").await.status, 200);
    }
    assert!(closed(&server, "room") >= 50);
    assert!(metric(&server, "ragengine_connections_open{listener=\"listen\"}") <= 50);
}

#[tokio::test]
async fn a_running_request_is_never_closed_for_a_new_connection() {
    let (server, _data) = server("maxConnections: 2").await;
    let mut sending = Vec::new();
    for _ in 0..2 {
        let mut connection = connect(&server).await;
        let head = "POST /retrieve HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                    content-length: 2\r\n\r\n{";
        connection.write_all(head.as_bytes()).await.unwrap();
        sending.push(connection);
    }
    while metric(&server, "ragengine_http_requests_in_flight") < 2 {
        tokio::task::yield_now().await;
    }
    let mut new = connect(&server).await;
    new.write_all(LIVEZ).await.unwrap();
    let waits = tokio::time::timeout(Duration::from_millis(200), new.read(&mut [0; 1])).await;
    assert!(waits.is_err(), "the new connection did not wait");
    // It gets the place of the first connection that finishes.
    sending[0].write_all(b"}").await.unwrap();
    assert!(reply(&mut new).await.starts_with("HTTP/1.1 200"));
    let mut answer = Vec::new();
    sending[0].read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 422"), "fields are missing: {}", String::from_utf8_lossy(&answer));
    assert!(answer.ends_with(b"}"), "{}", String::from_utf8_lossy(&answer));
    sending[1].write_all(b"}").await.unwrap();
    assert_ne!(sending[1].read(&mut [0; 64]).await.unwrap(), 0);
}

#[tokio::test]
async fn an_address_has_a_connection_limit() {
    let (server, _data) = server("maxConnectionsPerAddress: 2").await;
    let mut kept = Vec::new();
    for _ in 0..2 {
        let mut connection = connect(&server).await;
        get_livez(&mut connection).await;
        kept.push(connection);
    }
    wait_until_closed(&mut connect(&server).await).await;
    assert_eq!(closed(&server, "per_address"), 1);
    // The limit is per address: another address of this machine can still connect.
    let other = tokio::net::TcpSocket::new_v4().unwrap();
    other.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut other = other.connect(server.url.trim_start_matches("http://").parse().unwrap()).await.unwrap();
    get_livez(&mut other).await;
    kept.pop();
    while metric(&server, "ragengine_connections_open{listener=\"listen\"}") > 2 {
        tokio::task::yield_now().await;
    }
    get_livez(&mut connect(&server).await).await;
}

/// The clock is paused: it only advances when every task is idle, and then jumps to the next timer.
#[tokio::test(start_paused = true)]
async fn a_first_request_must_come_in_ten_seconds_and_the_next_in_two_minutes() {
    let (server, _data) = server("").await;
    let begun = tokio::time::Instant::now();
    let (mut silent, mut slow, mut asks) = (connect(&server).await, connect(&server).await, connect(&server).await);
    slow.write_all(b"GET /livez HTTP/1.1\r\n").await.unwrap();
    get_livez(&mut asks).await;
    wait_until_closed(&mut silent).await;
    wait_until_closed(&mut slow).await;
    assert_eq!(begun.elapsed().as_secs(), 10);
    assert_eq!(closed(&server, "no_request"), 2);
    get_livez(&mut asks).await;
    asks.read_to_end(&mut Vec::new()).await.unwrap();
    assert_eq!(begun.elapsed().as_secs(), 130);
    assert_eq!(closed(&server, "no_request"), 2);
}

#[tokio::test]
async fn probes_and_metrics_have_a_separate_listener() {
    let (server, _data) = server("maxConnections: 1").await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app: Arc<App> = Arc::clone(&server.app);
    let bounds = server::Bounds::of_admin(&app.settings.limits);
    let routes = router::admin_router(Arc::clone(&app), address);
    tokio::spawn(server::serve(listener, routes, std::future::pending(), bounds, Arc::clone(&app.metrics)));
    // The main listener is full and busy.
    let mut busy = connect(&server).await;
    let head =
        "POST /retrieve HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{";
    busy.write_all(head.as_bytes()).await.unwrap();
    while metric(&server, "ragengine_http_requests_in_flight") < 1 {
        tokio::task::yield_now().await;
    }
    let status = async |path: &str| {
        let reply = Server::reply(reqwest::Client::new().get(format!("http://{address}{path}"))).await;
        (reply.status, reply.text)
    };
    for (path, expected) in [("/livez", 200), ("/readyz", 503), ("/health", 503), ("/status", 200), ("/metrics", 200)] {
        assert_eq!(status(path).await.0, expected, "{path}");
    }
    let (_, metrics) = status("/metrics").await;
    assert!(metrics.contains("ragengine_connections_open{listener=\"adminListen\"} "), "{metrics}");
    for path in ["/indexes", "/v1/models", "/backup", "/openapi.json"] {
        assert_eq!(status(path).await.0, 404, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_listens_for_probes_on_admin_listen() {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().to_owned();
    let start = move || Process::start_with(&folder, &[("ADMIN_LISTEN", "127.0.0.1:0")]);
    let mut server = tokio::task::spawn_blocking(start).await.unwrap();
    let lines = server.log_lines();
    let line = lines.iter().find(|line| line["message"] == "listening for probes and monitors").unwrap();
    let address = line["address"].as_str().unwrap();
    assert_eq!(reqwest::get(format!("http://{address}/readyz")).await.unwrap().status(), 200);
    // The main listener keeps these routes.
    assert_eq!(reqwest::get(format!("{}/metrics", server.url)).await.unwrap().status(), 200);
    server.signal("TERM");
    assert_eq!(tokio::task::spawn_blocking(move || server.exit_code()).await.unwrap(), Some(0));
}
