use super::*;

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
    ];
    for (range, address, expected) in cases {
        assert_eq!(policy(&[range]).check(address.parse().unwrap()).is_ok(), expected, "{address} with {range}");
    }
}

#[test]
fn an_address_in_a_url_is_seen_however_it_is_written() {
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
        assert_eq!(policy(&[]).check_url(&Url::parse(url).unwrap()).is_ok(), expected, "{url}");
    }
}

#[test]
fn a_refused_address_says_what_allows_it() {
    let error = policy(&[]).check("169.254.169.254".parse().unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "169.254.169.254 may not be used, it is link-local; allowedRanges can allow it");
}

#[test]
fn what_cannot_be_an_address_is_refused_without_its_password() {
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
async fn a_name_is_resolved_to_what_may_be_used() {
    use reqwest::dns::Resolve;
    let resolve =
        |policy: AddressPolicy| async move { Resolver::new(&policy).resolve("localhost".parse().unwrap()).await };
    let error = resolve(policy(&[])).await.err().unwrap();
    assert!(error.downcast_ref::<RefusedAddress>().is_some(), "{error}");
    let usable: Vec<_> = resolve(policy(&["127.0.0.0/8"])).await.unwrap().collect();
    assert!(!usable.is_empty() && usable.iter().all(|address| address.is_ipv4()));
}
