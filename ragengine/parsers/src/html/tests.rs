use serde_json::{Value, json};

use super::*;

#[test]
fn the_main_part_of_a_page_is_its_text() {
    for (page, text) in [
        ("<h1>A</h1><p>b</p>", "# A\n\nb"),
        ("plain", "plain"),
        ("", ""),
        ("<nav>n</nav><p>a</p><footer>f</footer><script>s</script><style>t</style><noscript>u</noscript>", "a"),
        (
            "<form><h1>A</h1><p>b <input value=i><select><option>o</option></select></p><textarea>t</textarea></form>",
            "# A\n\nb",
        ),
        ("<h2><button>Answer</button></h2><p>b</p>", "## Answer\n\nb"),
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
fn each_value_of_a_table_is_under_its_heading() {
    let head = "<tr><th>part<th>bar<th>note";
    for (table, text) in [
        // Headings of rows.
        (
            format!("{head}<tr><th>pump<td>6<td>hot<tr><th>valve<td>4<td>cold"),
            "| part | bar | note |\n| - | - | - |\n| pump | 6 | hot |\n| valve | 4 | cold |",
        ),
        ("<tr><td><th>bar<tr><th>pump<td>6".to_owned(), "|  | bar |\n| - | - |\n| pump | 6 |"),
        ("<tr><th>bar<td>6<tr><th>note<td>hot".to_owned(), "|  |  |\n| - | - |\n| bar | 6 |\n| note | hot |"),
        ("<tr><th>a<tr><th>b".to_owned(), "| a |\n| - |\n| b |"),
        // Empty and missing cells.
        (format!("{head}<tr><td>pump<td><td>hot"), "| part | bar | note |\n| - | - | - |\n| pump |  | hot |"),
        (format!("{head}<tr><td>pump"), "| part | bar | note |\n| - | - | - |\n| pump |"),
        ("<tr><th>a<tr><td>1<td>2".to_owned(), "| a |  |\n| - | - |\n| 1 | 2 |"),
        // Cells over several columns or rows.
        (
            format!("{head}<tr><td colspan=2>pump<td>hot<tr><td colspan=1000>all"),
            "| part | bar | note |\n| - | - | - |\n| pump |  | hot |\n| all |",
        ),
        (
            format!("{head}<tr><td rowspan=2>pump<td>6<td>hot<tr><td>4<td rowspan=9>cold<tfoot><tr><td>end"),
            "| part | bar | note |\n| - | - | - |\n| pump | 6 | hot |\n| pump | 4 | cold |\n| end |",
        ),
        (
            "<thead><tr><th rowspan=2>part<th colspan=2>year<tr><th>1<th>2<tbody><tr><td>pump<td>6<td>7".to_owned(),
            "| part | year 1 | year 2 |\n| - | - | - |\n| pump | 6 | 7 |",
        ),
        ("<tbody><tr><td>1<thead><tr><td>a".to_owned(), "| a |\n| - |\n| 1 |"),
        // Content of cells.
        ("<tr><th>a|b<tr><td>x<br>y<p>z<ul><li>u".to_owned(), "| a\\|b |\n| - |\n| x y z - u |"),
        ("<caption>Parts</caption><tr><th>a<tr><td>1".to_owned(), "Parts\n\n| a |\n| - |\n| 1 |"),
        // Tables that arrange a page.
        ("<tr><td>a<td>b".to_owned(), "a\n\nb"),
        ("<tr><th>menu<td><table><tr><th>a<tr><td>1</table>".to_owned(), "menu\n\n| a |\n| - |\n| 1 |"),
    ] {
        assert_eq!(parse(&format!("<table>{table}</table>")).unwrap().text, text, "{table}");
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
