mod elements;
mod properties;

use super::element::{MAX_CELLS, MAX_LISTS};
use super::*;

#[test]
fn elements_become_markdown() {
    for (html, markdown) in [
        ("It is <b>free</b> and <em>good</em>.", "It is **free** and *good*."),
        ("It is <strong> free </strong>now.", "It is **free** now."),
        ("It is<b> free</b> now.", "It is **free** now."),
        ("<b></b><b><strong>x</strong></b></b> <del>y</del>", "**x** ~~y~~"),
        ("Run <code>a &lt; b</code> or <kbd>x</kbd>.", "Run `a < b` or `x`."),
        ("<a href=\"https://e/h?a=1&amp;b=2\">Help</a>", "[Help](https://e/h?a=1&b=2)"),
        ("<a href='/a (b)'>A</a> <a>B</a> <a href=\"javascript:x\">C</a>", "[A](</a (b)>) B C"),
        ("<img src=\"/i.png\" alt=\"An [i]\"/> <img alt=x>", "![An i](/i.png) x"),
        ("<p>One\ntwo.</p><p>Three.</p>", "One\ntwo.\n\nThree."),
        ("One.\n<div>\n  Two.\n</div>\nThree.", "One.\n\nTwo.\n\nThree."),
        ("<h2>Head</h2>Text<hr>End", "## Head\n\nText\n\n---\n\nEnd"),
        ("One<br>two<br/>\nthree<br><br>four", "One  \ntwo  \nthree\n\nfour"),
        ("One<br>\n\ntwo\n\n<br>three <x> </x><br>four", "One\n\ntwo\n\nthree  \nfour"),
        ("|a|b|\n|-|-|\n|x<br>y|z|\n", "|a|b|\n|-|-|\n|x y|z|\n"),
        ("Items:<ul>\n<li>a</li>\n<li><p>b</p></li>\n</ul>\nEnd", "Items:\n\n- a\n- b\n\nEnd"),
        ("<ol><li>a<ul><li>b</li></ul></li><li>c</li></ol>", "1. a\n   - b\n2. c"),
        ("<blockquote>One<p>Two\nlines</p></blockquote>End", "> One\n> \n> Two\n> lines\n\nEnd"),
        (
            "A<pre><code class=\"language-c\">\nif (a &amp;&amp; b)\n  x;\n</code></pre>B",
            "A\n\n```\nif (a && b)\n  x;\n```\n\nB",
        ),
        (
            "<table>\n<tr><th>A</th><th>B</th></tr>\n<tr><td>1</td><td><p>2</p>\n3</td></tr>\n</table>End",
            "| A | B |\n|---|---|\n| 1 | 2  3 |\n\nEnd",
        ),
        // A cell has no blocks, but spaces between them.
        ("<table><tr><td><h2>A</h2>B<hr>C<blockquote>D</blockquote></td></tr></table>", "| A B C D |\n|---|"),
    ] {
        assert_eq!(post_process(html), markdown, "{html:?}");
    }
}

#[test]
fn lists_and_rows_have_limits() {
    let lines = post_process(&"<ul><li>a".repeat(20));
    let indentations: Vec<usize> = lines.lines().map(|line| line.len() - line.trim_start().len()).collect();
    let expected = (0..20).map(|list| 2 * list.min(MAX_LISTS - 1)).collect::<Vec<_>>();
    assert_eq!(indentations, expected);
    let row = post_process(&format!("<table><tr>{}", "<td>a</td>".repeat(MAX_CELLS + 3)));
    assert_eq!(row.matches("| a").count(), MAX_CELLS, "{row}");
}

#[test]
fn other_tags_go() {
    for (html, text) in [
        ("<span class=\"x\">a</span> <font color=red>b</font> <U>c</U >", "a b c"),
        ("a<!-- b\n--> c <!DOCTYPE html><?php x ?>d", "a c d"),
        ("a<script>if (x) y();</script><style>p {}</style>b", "ab"),
        ("a<script>x = <b>y</b> z<script>x</SCRIPT\n>b", "ab"),
        ("a<head><title>x</title></head><template> </template><svg><path/></svg>b", "ab"),
        ("a</script>b</svg>", "ab"),
        ("<answer>a</answer> <details open>b</details>", "a\n\nb"),
    ] {
        assert_eq!(post_process(html), text, "{html:?}");
    }
}

#[test]
fn a_tag_that_is_only_mentioned_hides_nothing() {
    let long = "Then reload the page [2]. ".repeat(30);
    for (html, text) in [
        ("It is inside the <head> element [1]. Reload [2].", "It is inside the  element [1]. Reload [2]."),
        ("It is between the <head> and </head> tags [1].", "It is between the  and  tags [1]."),
        ("<script> and <style> go [1].", " and  go [1]."),
        ("Between <script> and </script>, or <style> and </style> [1].", "Between  and , or  and  [1]."),
        ("Use <pre> for code [1].\n\nReload [2].", "Use  for code [1].\n\nReload [2]."),
        ("Use <script> (inline) [1] and close it with </script>.", "Use  (inline) [1] and close it with ."),
        ("Use <script>; it loads [1]; close it with </script>.", "Use ; it loads [1]; close it with ."),
        ("<pre>x  = 1</pre>", "```\nx  = 1\n```"),
        ("<script>", ""),
    ] {
        assert_eq!(post_process(html), text, "{html:?}");
    }
    for name in ["head", "script", "style", "svg", "template", "pre"] {
        assert_eq!(post_process(&format!("a <{name}> b. {long}")), format!("a  b. {long}"));
    }
    let code = "x = 1\n".repeat(100);
    assert_eq!(post_process(&format!("<pre>\n{code}</pre>")), format!("```\n{code}```"));
}

#[test]
fn a_tag_has_at_most_32_attributes() {
    let bold = |attributes: usize| format!("<b{}>x</b>", " a=1".repeat(attributes));
    assert_eq!(post_process(&bold(32)), "**x**");
    assert_eq!(post_process(&bold(33)), bold(33).replace("</b>", ""));
}

#[test]
fn white_space_is_held_back_up_to_64_bytes() {
    let mut stream = PostProcessStream::default();
    assert_eq!(stream.push(&format!("a{}", " ".repeat(64))), "a");
    assert_eq!(stream.push("\n\n"), "  ");
    assert_eq!(stream.push("<p>b"), "\n\nb");
}

#[test]
fn what_may_be_html_is_held_back_until_it_is_certain() {
    for pieces in [
        vec![("a<", "a"), ("b", ""), (">c", "**c")],
        vec![("a<!", "a"), ("-", ""), ("- b --", ""), (">c", "c")],
        vec![("a<!-b", "a<!-b")],
        vec![("a<!1", "a<!1")],
        vec![("a<!", "a"), ("b", ""), (">c", "c")],
        vec![("a&am", "a"), ("p;b", "&b")],
        vec![("a&am ", "a&am"), ("b", " b")],
    ] {
        let mut stream = PostProcessStream::default();
        for (piece, sent) in pieces {
            assert_eq!(stream.push(piece), sent, "{piece:?}");
        }
    }
}

#[test]
fn a_number_of_a_character_has_at_most_32_bytes_wherever_its_pieces_end() {
    for (digits, expected) in [(31, "A".to_owned()), (32, format!("&#{:0>32};", 65))] {
        let entity = format!("&#{:0>digits$};", 65);
        for cut in 0..entity.len() {
            let mut stream = PostProcessStream::default();
            let text = [stream.push(&entity[..cut]), stream.push(&entity[cut..]), stream.finish()].concat();
            assert_eq!(text, expected, "{cut}");
        }
    }
}

#[test]
fn entities_are_decoded_once() {
    for (html, text) in [
        ("&lt;b&gt; &amp;lt; &amp;amp;", "<b> &lt; &amp;"),
        ("&quot;&#39;&#x27;&apos; &eacute; &#233; &rarr; &nbsp;.", "\"''' é é → \u{a0}."),
        ("&#91;1&#93; &lsqb;2&rsqb;", "[1] [2]"),
        ("&#0; &#xD800; &#9999999999;", "\u{fffd} \u{fffd} \u{fffd}"),
        ("AT&T & co; &copy &unknown; &; &#; &#x; &#1x; a&b", "AT&T & co; &copy &unknown; &; &#; &#x; &#1x; a&b"),
    ] {
        assert_eq!(post_process(html), text, "{html:?}");
    }
}

#[test]
fn it_is_known_whether_anything_was_converted() {
    for (pieces, expected) in [
        (["a < b, ", "`<b>` & co"], false),
        (["", ""], false),
        (["<b>a</b>", " and more"], true),
        (["a &amp;", " b"], true),
        (["more and ", "<b>a</b>"], true),
        // Only at the end it is known that this is no comment.
        (["a <!-- b", " &amp; c"], true),
    ] {
        let mut stream = PostProcessStream::default();
        pieces.iter().for_each(|piece| drop(stream.push(piece)));
        stream.finish();
        assert_eq!(stream.has_changed(), expected, "{pieces:?}");
    }
}

#[test]
fn markdown_and_code_stay() {
    for text in [
        "# Head\n\n- **a** [1]\n  - b\n\n1. c  \nd\n\n> e\n\n| a | b |\n|---|---|\n",
        "`<b>&amp;</b>` and ``a ` <br>``\n\n```html\n<p>&lt;</p>\n```\n",
        "~~~\n<p>",
        "a < b, a<b and c>d, <3, x << y, <https://e/h>, <me@e.org>, a <- b, <!-, <>, Map<K, V>",
        "\\<b> \\&amp; <b",
        "<a href=\"x",
        "<b:c=\"d\"> <b c=\"d\"e=\"f\"> <b c\"d\">",
        "  leading and trailing \n",
    ] {
        assert_eq!(post_process(text), text, "{text:?}");
    }
}
