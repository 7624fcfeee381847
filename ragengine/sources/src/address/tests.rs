use super::*;
use crate::{Proxies, ProxyVariables};

fn policy(allowed: &[&str]) -> AddressPolicy {
    let allowed = allowed.iter().map(|range| range.parse().unwrap()).collect();
    AddressPolicy::new(allowed, vec!["10.96.0.1".parse().unwrap(), "fd10::1".parse().unwrap()])
}

#[test]
fn addresses_that_only_the_node_or_the_pod_reaches_are_refused() {
    let cases = [
        ("10.0.0.7", true),
        ("192.168.1.1", true),
        ("172.16.0.1", true),
        ("93.184.216.34", true),
        ("100.100.100.201", true),
        ("fd00::7", true),
        ("2606:4700::1", true),
        ("::ffff:10.0.0.7", true),
        ("64:ff9b::10.0.0.7", true),
        ("0.0.0.0", false),
        ("0.1.2.3", false),
        ("127.0.0.1", false),
        ("127.255.1.2", false),
        ("169.254.0.1", false),
        ("169.254.169.254", false),
        ("100.100.100.200", false),
        ("168.63.129.16", false),
        ("192.0.0.192", false),
        ("224.0.0.1", false),
        ("239.255.255.255", false),
        ("240.0.0.1", false),
        ("255.255.255.255", false),
        ("10.96.0.1", false),
        ("::", false),
        ("::1", false),
        ("fe80::1", false),
        ("febf::1", false),
        ("ff02::1", false),
        ("fd00:ec2::254", false),
        ("fd20:ce::254", false),
        ("fd10::1", false),
        ("::ffff:127.0.0.1", false),
        ("::ffff:169.254.169.254", false),
        ("::ffff:10.96.0.1", false),
        ("::127.0.0.1", false),
        ("64:ff9b::169.254.169.254", false),
        ("2002:7f00:1::", false),
        ("2002:a9fe:a9fe::1", false),
        // The API server, embedded in other addresses.
        ("64:ff9b::10.96.0.1", false),
        ("2002:a60:1::1", false),
    ];
    for (address, expected) in cases {
        assert_eq!(policy(&[]).check(address.parse().unwrap()).is_ok(), expected, "{address}");
    }
}

#[test]
fn a_range_allows_what_is_in_it() {
    let cases = [
        ("127.0.0.0/8", "127.0.0.1", true),
        ("127.0.0.0/8", "::ffff:127.0.0.1", true),
        ("127.0.0.0/8", "::1", false),
        ("169.254.20.0/24", "169.254.20.10", true),
        ("169.254.20.0/24", "169.254.169.254", false),
        ("10.96.0.1", "10.96.0.1", true),
        ("::1", "::1", true),
        ("::/0", "fe80::1", true),
        ("127.0.0.0/8", "64:ff9b::127.0.0.1", true),
        ("64:ff9b:1:fffe::/96", "64:ff9b:1:fffe::10.0.0.7", true),
        ("64:ff9b:1:fffe::/96", "64:ff9b:1:ffff::10.0.0.7", false),
        ("fd10::/16", "fd10::1", true),
        // An address that only the pod or the node reaches must be in a range itself; a range of the outer address is
        // not enough.
        ("::/0", "::ffff:127.0.0.1", false),
        ("64:ff9b::/96", "64:ff9b::10.96.0.1", false),
        ("64:ff9b::/96", "64:ff9b::169.254.20.10", false),
        ("10.96.0.1", "64:ff9b::10.96.0.1", true),
    ];
    for (range, address, expected) in cases {
        assert_eq!(policy(&[range]).check(address.parse().unwrap()).is_ok(), expected, "{address} with {range}");
    }
}

#[test]
fn an_address_in_a_url_is_checked_in_every_notation() {
    let cases = [
        ("http://127.0.0.1/", false),
        ("http://127.1/", false),
        ("http://2130706433/", false),
        ("http://0x7f.0.0.1/", false),
        ("http://0177.0.0.1/", false),
        ("http://[::1]/", false),
        ("http://[::ffff:7f00:1]/", false),
        ("http://169.254.169.254/latest", false),
        ("http://\u{ff11}27.0.0.1/", false),
        ("http://10.0.0.1/", true),
        ("http://example.com/", true),
    ];
    for (url, expected) in cases {
        assert_eq!(policy(&[]).check_url(&Url::parse(url).unwrap(), Reach::Any).is_ok(), expected, "{url}");
    }
}

#[test]
fn cloud_metadata_addresses_are_always_refused() {
    let metadata = [
        "169.254.169.254",
        "169.254.169.252",
        "169.254.170.2",
        "169.254.170.23",
        "169.254.0.23",
        "169.254.42.42",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
        "fd00:c1::a9fe:a9fe",
        "fd00:42::42",
        "fd00:a9fe:a9fe::1",
        "fe80::a9fe:a9fe",
        "::169.254.169.254",
        "::ffff:169.254.169.254",
        "::ffff:0:169.254.169.254",
        "::ffff:100.100.100.200",
        "64:ff9b::168.63.129.16",
        "64:ff9b:1:a9fe:a9:fe00::",
        "64:ff9b:1::169.254.169.254",
        "2002:a9fe:a9fe::1",
        "2001:0:a9fe:a9fe::1",
        "2001::5601:5601",
    ];
    for address in metadata {
        let address: IpAddr = address.parse().unwrap();
        let itself = address.to_string();
        for allowed in [&[][..], &["0.0.0.0/0", "::/0"], &["169.254.0.0/16"], &["64:ff9b::/32"], &[itself.as_str()]] {
            let error = policy(allowed).check(address).unwrap_err();
            assert_eq!(error.reason, RefusalReason::Metadata, "{address} with {allowed:?}");
            let words = error.to_string();
            assert!(words.contains("credentials") && !words.contains("allowedRanges"), "{words}");
        }
    }
}

#[test]
fn the_error_of_a_refused_address_says_what_to_do() {
    let error = policy(&[]).check("127.0.0.1".parse().unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "requests to 127.0.0.1 are not allowed because it is a loopback address: \
         use another address, or add it to allowedRanges"
    );
}

#[test]
fn a_public_address_leads_to_public_addresses_only() {
    let cases = [
        ("93.184.216.34", &[][..], true),
        ("2606:4700::1", &[], true),
        ("64:ff9b::93.184.216.34", &[], true),
        ("10.0.0.7", &[], false),
        ("172.16.0.1", &[], false),
        ("172.31.255.255", &[], false),
        ("172.32.0.1", &[], true),
        ("192.168.1.1", &[], false),
        ("100.64.0.1", &[], false),
        ("100.127.255.255", &[], false),
        ("100.128.0.1", &[], true),
        ("fc00::1", &[], false),
        ("fdff::1", &[], false),
        ("fec0::1", &[], false),
        ("::ffff:10.0.0.7", &[], false),
        ("64:ff9b::10.0.0.7", &[], false),
        ("2002:a00:7::1", &[], false),
        ("127.0.0.1", &[], false),
        ("169.254.0.1", &[], false),
        ("10.0.0.7", &["10.0.0.0/8"], true),
        ("::ffff:10.0.0.7", &["10.0.0.0/8"], true),
        ("10.0.0.7", &["192.168.0.0/16"], false),
        ("fd00::7", &["fd00::/16"], true),
        ("64:ff9b::10.0.0.7", &["64:ff9b::/96"], true),
        ("127.0.0.1", &["127.0.0.1"], true),
    ];
    for (address, allowed, expected) in cases {
        let found = policy(allowed).check_within(address.parse().unwrap(), Reach::Public);
        assert_eq!(found.is_ok(), expected, "{address} with {allowed:?}");
    }
    let error = policy(&[]).check_within("10.0.0.7".parse().unwrap(), Reach::Public).unwrap_err();
    assert_eq!(
        error.to_string(),
        "requests to 10.0.0.7 are not allowed because it is a private address, and a public server leads to it: \
         use another address, or add it to allowedRanges"
    );
}

#[test]
fn an_address_that_embeds_a_public_address_is_public() {
    let cases = [
        ("93.184.216.34", true),
        ("2606:4700::1", true),
        ("::ffff:93.184.216.34", true),
        ("64:ff9b::93.184.216.34", true),
        ("64:ff9b:1:fffe::93.184.216.34", true),
        ("10.0.0.7", false),
        ("127.0.0.1", false),
        ("fd00::7", false),
        ("::ffff:10.0.0.7", false),
        ("64:ff9b::10.0.0.7", false),
        ("64:ff9b:1:fffe::10.0.0.7", false),
    ];
    for (address, expected) in cases {
        assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
    }
}

#[test]
fn private_addresses_of_a_public_name_are_not_used() {
    let cases = [
        (&["10.0.0.7", "fd00::7"][..], Reach::Any, false, Some(&["10.0.0.7", "fd00::7"][..])),
        (&["93.184.216.34", "10.0.0.7"], Reach::Any, false, Some(&["93.184.216.34"])),
        (&["93.184.216.34", "10.0.0.7", "192.168.0.1"], Reach::Any, false, Some(&["93.184.216.34", "192.168.0.1"])),
        (&["93.184.216.34", "169.254.169.254", "127.0.0.1"], Reach::Any, false, Some(&["93.184.216.34"])),
        // The API server may have a public address. The other addresses are then private ones of a public name.
        (&["203.0.113.7", "10.0.0.7"], Reach::Any, false, None),
        // A name that was public before is still treated as public.
        (&["10.0.0.7"], Reach::Any, true, None),
        (&["192.168.0.1"], Reach::Any, true, Some(&["192.168.0.1"])),
        (&["10.0.0.7"], Reach::Public, false, None),
        (&["192.168.0.1"], Reach::Public, false, Some(&["192.168.0.1"])),
        (&["64:ff9b:1:a01:2:300::"], Reach::Any, true, Some(&["64:ff9b:1:a01:2:300::"])),
        (&["64:ff9b:1:a01:2:300::"], Reach::Public, true, None),
        (&[], Reach::Any, false, Some(&[])),
    ];
    let policy = AddressPolicy::new(vec!["192.168.0.0/16".parse().unwrap()], vec!["203.0.113.7".parse().unwrap()]);
    for (found, reach, was_public, expected) in cases {
        let parse = |text: &&str| std::net::SocketAddr::new(text.parse().unwrap(), 0);
        let usable = resolver::choose(found.iter().map(parse).collect(), &policy, reach, was_public);
        let expected = expected.map(|addresses| addresses.iter().map(parse).collect::<Vec<_>>());
        assert_eq!(usable.ok(), expected, "{found:?} {reach:?} {was_public}");
    }
}

#[tokio::test]
async fn the_caller_passes_addresses_of_the_api_server() {
    let endpoint: IpAddr = "203.0.113.7".parse().unwrap();
    let policy = AddressPolicy::in_cluster(Vec::new(), vec![endpoint]).await;
    for address in ["203.0.113.7", "::ffff:203.0.113.7"] {
        let error = policy.check(address.parse().unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "requests to {} are not allowed because it is an address of the API server: \
                 use another address, or add it to allowedRanges",
                error.address
            )
        );
    }
    assert!(policy.check("203.0.113.8".parse().unwrap()).is_ok());
}

#[test]
fn the_error_of_an_invalid_url_hides_its_password() {
    assert!(parse_url("https://docs.example.com/a").is_ok());
    for text in [
        "",
        "docs",
        "/a",
        "file:///etc/passwd",
        "ftp://a/b",
        "https://me:secret@a/b",
        "https://token@a/b",
        "me:secret@a",
    ] {
        let error = parse_url(text).unwrap_err();
        assert_eq!(error.kind(), "address", "{text}");
        assert!(!error.to_string().contains("secret") && !error.to_string().contains("token"), "{error}");
    }
}

#[tokio::test]
async fn a_name_is_resolved_to_permitted_addresses() {
    use reqwest::dns::Resolve;
    let resolve = |policy: AddressPolicy| async move {
        Resolver::new(&policy, &Proxies::default()).resolve("localhost".parse().unwrap()).await
    };
    let error = resolve(policy(&[])).await.err().unwrap();
    assert!(error.downcast_ref::<RefusedAddress>().is_some(), "{error}");
    let usable: Vec<_> = resolve(policy(&["127.0.0.0/8"])).await.unwrap().collect();
    assert!(!usable.is_empty() && usable.iter().all(|address| address.is_ipv4()));
}

#[tokio::test]
async fn a_request_through_a_proxy_is_checked_if_its_name_can_be_resolved() {
    let route = |proxy: &'static str, no_proxy: &'static str, reach, url: &'static str| async move {
        let variables =
            ProxyVariables { http: Some(proxy.to_owned()), https: None, no_proxy: Some(no_proxy.to_owned()) };
        let resolver = Resolver::new(&policy(&[]), &Proxies::new(&variables).unwrap()).within(reach);
        resolver.check_request(&Url::parse(url).unwrap()).await.map_err(|refused| refused.address.to_string())
    };
    let refused = |address: &str| Err(address.to_owned());
    let proxied = |address: &str| Ok(Route::Proxied(address.parse().ok()));
    let cases = [
        ("proxy.invalid", "", Reach::Any, "https://docs.invalid/", Ok(Route::Direct)),
        ("proxy.invalid", "docs.invalid", Reach::Any, "http://docs.invalid/", Ok(Route::Direct)),
        ("proxy.invalid", "", Reach::Any, "http://docs.invalid/", proxied("unknown")),
        ("proxy.invalid", "", Reach::Any, "http://10.0.0.7/", proxied("10.0.0.7")),
        ("proxy.invalid", "", Reach::Any, "http://[fd00::7]/", proxied("fd00::7")),
        ("proxy.invalid", "", Reach::Any, "http://169.254.169.254/", refused("169.254.169.254")),
        ("proxy.invalid", "", Reach::Public, "http://10.0.0.7/", refused("10.0.0.7")),
        ("169.254.1.1:3128", "", Reach::Any, "http://docs.invalid/", refused("169.254.1.1")),
        // A public server redirects to the host of the proxy, so the proxy is the server of this request.
        ("proxy.invalid", "*", Reach::Public, "http://proxy.invalid/", proxied("unknown")),
    ];
    for (proxy, no_proxy, reach, url, expected) in cases {
        assert_eq!(route(proxy, no_proxy, reach, url).await, expected, "{proxy} {no_proxy} {url}");
    }
    let local = route("proxy.invalid", "", Reach::Any, "http://localhost/").await;
    assert!(local.is_err(), "a name that can be resolved here: {local:?}");
    let itself = route("localhost", "*", Reach::Public, "http://localhost/").await;
    assert!(itself.is_err(), "{itself:?}");
}

#[test]
fn all_addresses_of_a_name_are_checked_for_a_proxy() {
    let resolver = Resolver::new(&policy(&[]), &Proxies::default());
    let judged = |name: &str, found: &[&str]| {
        let parse = |text: &&str| std::net::SocketAddr::new(text.parse().unwrap(), 0);
        resolver.check_all(name, found.iter().map(parse).collect()).ok()
    };
    let proxied = |address: &str| Some(Route::Proxied(address.parse().ok()));
    assert_eq!(judged("a", &["93.184.216.34", "169.254.169.254"]), None);
    assert_eq!(judged("b", &["93.184.216.34", "127.0.0.1"]), None);
    assert_eq!(judged("c", &["93.184.216.34", "10.0.0.7"]), None, "a public name does not lead to a private address");
    assert_eq!(judged("c", &["10.0.0.7"]), None, "not even if it no longer has a public address");
    assert_eq!(judged("d", &["10.0.0.7", "10.0.0.8"]), proxied("10.0.0.7"));
    assert_eq!(judged("e", &["93.184.216.34"]), proxied("93.184.216.34"));
    assert_eq!(judged("f", &[]), proxied("unknown"));
}
