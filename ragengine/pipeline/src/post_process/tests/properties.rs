//! What holds for every answer and every way to cut it.

use proptest::prelude::*;

use super::*;

fn answers() -> impl Strategy<Value = String> {
    const SIGNS: &[&str] = &[
        "<b>",
        "</b>",
        "<i>",
        "</i>",
        "<code>",
        "</code>",
        "<pre>",
        "</pre>",
        "<br>",
        "<p>",
        "</p>",
        "<h2>",
        "</h2>",
        "<ul>",
        "</ul>",
        "<ol>",
        "<li>",
        "</li>",
        "<a href='/u'>",
        "</a>",
        "<img src=/i alt=x>",
        "<blockquote>",
        "<hr/>",
        "</blockquote>",
        "<table>",
        "<tr>",
        "</tr>",
        "<td>",
        "</td>",
        "</table>",
        "<script>",
        "</script>",
        "<style>",
        "</style>",
        "x = 1;\n",
        "\n\nThen reload it.\n",
        "<head>",
        "</head>",
        "<!--",
        "-->",
        "<",
        ">",
        "/",
        "&",
        "&amp;",
        "lt;",
        "&#",
        "1",
        ";",
        " ",
        "\n",
        "\n\n",
        "`",
        "```",
        "\n~~~\n",
        "\\",
        "a",
        "word",
        "|",
        "\u{e9}",
        "=",
        "\"",
        "'",
    ];
    const REPEATED: &[&str] =
        &[" ", "<b", "\n", "<b>", "<ul>", "<a x=", "&", "a ", "x = 1;\n", "<script>\nx = 1;\n", "<style>a{b:c}"];
    let piece = prop_oneof![
        30 => proptest::sample::select(SIGNS).prop_map(str::to_owned),
        1 => ".{0,4}".boxed(),
        1 => (proptest::sample::select(REPEATED), 20_usize..300)
            .prop_map(|(sign, count)| sign.repeat(count)),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

#[test]
fn hostile_answers_take_linear_work() {
    const BYTES: usize = 1 << 20;
    const SIGNS: [&str; 18] = [
        "<",
        "<a ",
        "<b>",
        "<ul>",
        "<li>",
        "<a b=\"",
        "<a b=c ",
        "<!--",
        "&",
        "&a",
        "&amp;",
        " ",
        "\n",
        "<td>",
        "<p>a",
        "<script>\nx=1;\n",
        "<script>x=1;</",
        "<style>a{}\n\nThen it is.",
    ];
    for sign in SIGNS {
        let answer = sign.repeat(BYTES / sign.len());
        let mut stream = PostProcessStream::default();
        for piece in answer.as_bytes().chunks(16) {
            stream.push(std::str::from_utf8(piece).unwrap());
        }
        assert!(stream.scanner.decisions <= 4 * answer.len(), "{sign:?}: {}", stream.scanner.decisions);
        stream.finish();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn a_stream_is_the_same_for_every_cut(answer in answers(), sizes in proptest::collection::vec(1_usize..40, 1..20)) {
        let whole = post_process(&answer);
        let characters: Vec<char> = answer.chars().collect();
        for sizes in [&*sizes, &[1]] {
            let (mut stream, mut text, mut rest) = (PostProcessStream::default(), String::new(), &*characters);
            for size in sizes.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at(rest.len().min(*size));
                let now = stream.push(&piece.iter().collect::<String>());
                prop_assert!(now.len() <= 2000, "{}", now.len());
                text += &now;
                rest = after;
            }
            let last = stream.finish();
            prop_assert!(last.len() <= 2000);
            prop_assert_eq!(&(text + &last), &whole);
        }
    }
}
