use serde_json::{Value, json};

use super::*;

#[test]
fn the_main_part_of_a_page_is_its_text() {
    for (page, text) in [
        ("<h1>A</h1><p>b</p>", "# A\n\nb"),
        ("plain", "plain"),
        ("", ""),
        ("<nav>n</nav><p>a</p><footer>f</footer><script>s</script><style>t</style><noscript>u</noscript>", "a"),
        ("<p>out</p><main><p>in</p></main>", "in"),
        ("<p>out</p><div role=main><p>in</p></div>", "in"),
        ("<p>out</p><article><p>in</p></article>", "in"),
        ("<article>one</article><article>two</article>", "one\n\ntwo"),
        ("<main></main><p>outside of a main part that is empty</p>", "outside of a main part that is empty"),
        ("<a href='https://x.example'>link</a>", "link"),
        ("<h2>Head<a href='#h'>#</a></h2>", "## Head"),
        ("<img src=a.png alt=' a  picture '><img src=b.png>", "a picture"),
        ("<pre>a\n  b</pre>", "```\na\n  b\n```"),
        ("<pre>a\n# b ```</pre>", "````\na\n# b ```\n````"),
        ("<pre><code class=language-sh># a\nb</code></pre>", "```sh\n# a\nb\n```"),
        ("<table><thead><tr><th>a<th>b<tbody><tr><td>1<td>2</table>", "| a | b |\n| - | - |\n| 1 | 2 |"),
        ("<p>a<template>t</template></p>", "a"),
        ("<?php echo 1 ?><p>a</p><!-- c -->", "a"),
    ] {
        assert_eq!(parse(page).unwrap().text, text, "{page}");
    }
}

#[test]
fn title_date_and_address_of_a_page_are_found() {
    for (page, metadata) in [
        ("<title> a\n b </title><h1>c</h1>", json!({"title": "a b"})),
        ("<title></title><h1>c <i>d</i></h1><h1>e</h1>", json!({"title": "c d"})),
        ("<meta property=og:title content=o><h1>c</h1>", json!({"title": "o"})),
        ("<svg><title>drawing</title></svg><h1>c</h1>", json!({"title": "c"})),
        ("<link rel=Canonical href=https://a.example/b>", json!({"url": "https://a.example/b"})),
        ("<meta property=og:url content=https://a.example/o>", json!({"url": "https://a.example/o"})),
        ("<link rel=canonical href=/b><link rel=next href=https://a.example/c>", json!({})),
        ("<meta name=date content=2026-05-01>", json!({"date": "2026-05-01"})),
        (
            "<meta property=article:published_time content=2026-05-01T08:00:00Z><time datetime=2020-01-01>",
            json!({"date": "2026-05-01"}),
        ),
        ("<time>then</time><time datetime='2026-05-01 08:00'>now</time>", json!({"date": "2026-05-01"})),
        ("<meta name=date content=soon>", json!({})),
        ("<meta name=date>", json!({})),
    ] {
        let mut expected = metadata;
        expected["split_type"] = json!("markdown");
        assert_eq!(Value::Object(parse(page).unwrap().metadata), expected, "{page}");
    }
}

#[test]
fn a_page_that_is_nested_too_deeply_is_refused() {
    let nested = |depth: usize| format!("{}text{}", "<div>".repeat(depth), "</div>".repeat(depth));
    assert_eq!(parse(&nested(250)).unwrap().text, "text");
    let error = parse(&nested(300)).unwrap_err();
    assert_eq!(error.to_string(), "its elements are nested more than 256 deep");
}
