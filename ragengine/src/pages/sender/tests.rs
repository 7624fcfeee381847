use axum::http::HeaderName;
use ragengine_settings::from_yaml;

use super::*;

const LOOPBACK: &str = "127.0.0.1:5000";
const EVERYWHERE: &str = "0.0.0.0:5000";

fn senders(listen: &str, yaml: &str) -> Senders {
    Senders::new(&from_yaml(yaml).unwrap(), listen.parse().unwrap())
}

fn head(headers: &[(&str, &str)]) -> HeaderMap {
    let mut head = HeaderMap::new();
    for (name, value) in headers {
        head.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
    }
    head
}

fn checked(senders: &Senders, target: &str, headers: &[(&str, &str)]) -> Result<Sender, Stranger> {
    senders.check(&target.parse().unwrap(), &head(headers))
}

#[test]
fn on_loopback_only_loopback_and_allowed_hosts_are_accepted() {
    for listen in [LOOPBACK, "[::1]:5000", "127.9.9.9:1", "[::ffff:127.0.0.1]:5000"] {
        let senders = senders(listen, "allowedHosts: [Docs.Example, '[fd00::1]']");
        for host in [
            "localhost",
            "localhost:5000",
            "docs.localhost",
            "127.0.0.1:5000",
            "[::1]:5000",
            "docs.example:8",
            "[fd00::1]",
        ] {
            assert_eq!(checked(&senders, "/", &[("host", host)]), Ok(Sender::Own), "{listen} {host}");
        }
        for host in [
            "evil.example",
            "evil.example:5000",
            "10.0.0.1",
            "0.0.0.0:5000",
            "localhost.evil.example",
            "a@localhost",
            "",
        ] {
            assert_eq!(checked(&senders, "/", &[("host", host)]), Err(Stranger::Host), "{listen} {host}");
        }
        assert_eq!(checked(&senders, "/", &[]), Err(Stranger::NoHost), "{listen}");
        let twice = [("host", "localhost"), ("host", "localhost")];
        assert_eq!(checked(&senders, "/", &twice), Err(Stranger::NoHost), "{listen}");
    }
}

#[test]
fn elsewhere_all_hosts_are_accepted_unless_allowed_hosts_is_set() {
    let any = senders(EVERYWHERE, "{}");
    let some = senders(EVERYWHERE, "allowedHosts: [docs.example]");
    for (host, with_some) in [
        ("docs.example", true),
        ("localhost:5000", true),
        ("10.1.2.3:5000", true),
        ("[fd00::2]", true),
        ("evil.example", false),
    ] {
        assert_eq!(checked(&any, "/", &[("host", host)]), Ok(Sender::Own), "{host}");
        assert_eq!(checked(&some, "/", &[("host", host)]).is_ok(), with_some, "{host}");
    }
    assert_eq!(checked(&any, "/", &[]), Ok(Sender::Own));
}

#[test]
fn the_name_in_the_target_is_checked_too() {
    let senders = senders(LOOPBACK, "{}");
    let local = [("host", "localhost:5000")];
    assert_eq!(checked(&senders, "http://localhost:5000/index", &local), Ok(Sender::Own));
    assert_eq!(checked(&senders, "http://evil.example/index", &local), Err(Stranger::Host));
    assert_eq!(checked(&senders, "http://localhost:5000/index", &[("host", "evil.example")]), Err(Stranger::Host));
}

#[test]
fn only_own_and_allowed_pages_are_accepted() {
    let yaml = "cors: {allowedOrigins: ['https://chat.example', 'http://localhost:3000']}";
    for (listen, host) in [(LOOPBACK, "localhost:5000"), (EVERYWHERE, "localhost:5000")] {
        let senders = senders(listen, yaml);
        let page = |origin: &str| checked(&senders, "/", &[("host", host), ("origin", origin)]);
        assert_eq!(page("http://localhost:5000"), Ok(Sender::Own));
        for origin in ["https://chat.example", "https://chat.example:443", "http://localhost:3000"] {
            assert_eq!(page(origin), Ok(Sender::AllowedPage), "{origin}");
        }
        for origin in [
            "http://chat.example",
            "https://chat.example:8443",
            "https://evil.example",
            "http://localhost:4000",
            "null",
            "file://",
            "",
        ] {
            assert_eq!(page(origin), Err(Stranger::Origin), "{origin}");
        }
        let twice = [("host", host), ("origin", "http://localhost:5000"), ("origin", "https://evil.example")];
        assert_eq!(checked(&senders, "/", &twice), Err(Stranger::Origin));
    }
    // A page of this server, under a name that is not checked.
    let any = senders(EVERYWHERE, "{}");
    let own = [("host", "docs.example"), ("origin", "https://docs.example")];
    assert_eq!(checked(&any, "/", &own), Ok(Sender::Own));
    assert_eq!(checked(&any, "/", &[("origin", "https://docs.example")]), Err(Stranger::Origin));
}
