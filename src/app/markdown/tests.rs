//! Markdown → lines by data, and what must hold for any text in any pieces.

use proptest::prelude::*;

use super::line::{Look, Role};
use super::*;
use crate::app::wrap::text_width;
use crate::clean::clean;

/// The lines of `source`, streamed in pieces of `chars` characters, checked for sanity at each step.
fn streamed(source: &str, chars: usize, width: usize) -> Vec<Line> {
    let mut flow = Flow::new(true);
    let (mut lines, mut code) = (Vec::new(), Vec::new());
    let ends = source.char_indices().map(|(at, c)| at + c.len_utf8());
    for end in ends.skip(chars - 1).step_by(chars) {
        flow.extend(&source[..end], true, width, &mut lines, &mut code);
        sane(&source[..end], &lines, width);
    }
    flow.extend(source, false, width, &mut lines, &mut code);
    sane(source, &lines, width);
    lines
}

fn whole(source: &str, width: usize) -> Vec<Line> {
    let (mut lines, mut code) = (Vec::new(), Vec::new());
    Flow::new(true).extend(source, false, width, &mut lines, &mut code);
    lines
}

/// Lines are in order, show what the source has, and hold nothing that could control a terminal.
fn sane(source: &str, lines: &[Line], width: usize) {
    assert!(lines.is_sorted_by_key(|line| line.start));
    for line in lines {
        let text = shown(source, line);
        assert_eq!(clean(&text), text);
        assert!(!text.contains('\n'), "{text:?}");
        let one = text.trim().chars().count() <= 1;
        let fits = text_width(text.trim_end()) <= width.max(16);
        assert!(fits || one, "{text:?} is wider than {width}");
    }
}

fn shown(source: &str, line: &Line) -> String {
    line.spans.iter().map(|span| span.text(source)).collect()
}

fn texts(source: &str, lines: &[Line]) -> Vec<String> {
    let texts = lines.iter().map(|line| shown(source, line));
    texts.map(|text| text.trim_end().to_owned()).collect()
}

/// Markdown is shown as these lines, however it comes.
#[track_caller]
fn check(source: &str, expect: &[&str]) {
    assert_eq!(texts(source, &whole(source, 40)), expect, "{source:?}");
    for chars in [1, 2, 3, 7] {
        assert_eq!(
            texts(source, &streamed(source, chars, 40)),
            expect,
            "{source:?} by {chars}"
        );
    }
}

/// A growing text is shown as these lines.
#[track_caller]
fn check_tail(source: &str, expect: &[&str]) {
    let (mut lines, mut code) = (Vec::new(), Vec::new());
    Flow::new(true).extend(source, true, 40, &mut lines, &mut code);
    assert_eq!(texts(source, &lines), expect, "{source:?}");
}

/// The look of the part of the text that reads `part`.
fn look(source: &str, part: &str) -> Look {
    let lines = whole(source, 80);
    let mut spans = lines.iter().flat_map(|line| &line.spans);
    spans
        .find(|span| span.text(source) == part)
        .unwrap_or_else(|| panic!("{lines:?}"))
        .look
}

#[test]
fn blocks() {
    check("one\ntwo\n\nthree\n", &["one", "two", "", "three"]);
    check("# Title\ntext", &["# Title", "text"]);
    check("Title\n===\n\ntext", &["# Title", "", "text"]);
    check("a\n\n---\n\nb", &["a", "", &"─".repeat(40), "", "b"]);
    check(
        "> a\n> b\n>\n> c\n\nd",
        &["│ a", "│ b", "│", "│ c", "", "d"],
    );
    check(
        "<div>\n  <b>x</b>\n</div>\n\ny",
        &["<div>", "  <b>x</b>", "</div>", "", "y"],
    );
    check(
        "a\n\n    code\n      more\n\nb",
        &["a", "", "    code", "      more", "", "b"],
    );
    check("[x]: http://e.org\n\ny", &["[x]: http://e.org", "", "y"]);
}

#[test]
fn lists() {
    check(
        "- a\n- b\n  - c\n\n- d",
        &["• a", "• b", "  ◦ c", "", "• d"],
    );
    check(
        "1. a\n2. b\n   more\n10. c",
        &["1. a", "2. b", "   more", "10. c"],
    );
    check("- [ ] a\n- [x] b", &["• [ ] a", "• [x] b"]);
    check("1) a\n\n   b", &["1) a", "", "   b"]);
    check(
        "- one two three four five six seven eight nine",
        &["• one two three four five six seven", "  eight nine"],
    );
    check(
        "1. a:\n   ```sh\n   ls\n\n   cd\n   ```\n2. b",
        &["1. a:", "   ┌─ sh", "   ls", "", "   cd", "   └─", "2. b"],
    );
}

#[test]
fn code() {
    check(
        "a\n\n```rust\nfn f() {\n\n\tx\n}\n```\nb",
        &["a", "", "┌─ rust", "fn f() {", "", "\tx", "}", "└─", "b"],
    );
    check("```\na\n~~~\n``", &["┌─", "a", "~~~", "``"]);
    check("````\n```\n````\n", &["┌─", "```", "└─"]);
    // Nothing at all, where nothing follows the opening one and it has no word.
    check("a\n\n```", &["a"]);
    check("a\n```\n\n", &["a"]);
    check("a\n```rust", &["a", "┌─ rust"]);
    check("> ```py\n~~~~word", &["│ ┌─ py", "┌─ word"]);
    check("```\n```", &["┌─", "└─"]);
    check("  ```\n  a\n b\n   c\n  ```", &["┌─", "a", "b", " c", "└─"]);
    check(
        "```a\n```\n```b\n```\nx",
        &["┌─ a", "└─", "┌─ b", "└─", "x"],
    );
}

#[test]
fn inline_markup() {
    check("a **b** *c* `d` ~~e~~ f", &["a b c `d` ~~e~~ f"]);
    check(
        "[t](http://e.org) <http://f.org>",
        &["t (http://e.org) http://f.org"],
    );
    check("[http://e.org](http://e.org)", &["http://e.org"]);
    check("![alt](pic.png)", &["image: alt (pic.png)"]);
    check("a &lt;b&gt; \\*c\\*", &["a <b> *c*"]);
    check("x <b>y</b>", &["x <b>y</b>"]);
    check("hard  \nbreak\\\nhere", &["hard", "break", "here"]);
    assert!(look("a **b**", "b").strong);
    assert!(look("a *b*", "b").emphasis);
    assert!(look("~~b~~", "b").strike);
    assert_eq!(look("`b`", "b").role, Role::Code);
    assert_eq!(look("## b", "b").role, Role::Heading);
    assert_eq!(look("[b](c)", "b").role, Role::Link);
}

#[test]
fn tables() {
    check(
        "| a | bb |\n|:--|---:|\n| long | 1 |\n| x | 22 |\n\nend",
        &[
            "a    │ bb",
            "─────┼───",
            "long │  1",
            "x    │ 22",
            "",
            "end",
        ],
    );
    check(
        "| name | what it is for |\n|---|---|\n| alpha | the first of the letters, and often the best |",
        &[
            "name  │ what it is for",
            "──────┼─────────────────────────────────",
            "alpha │ the first of the letters, and",
            "      │ often the best",
        ],
    );
    check(
        "| 日本 | b |\n|--|--|\n| c | d |",
        &["日本 │ b", "─────┼──", "c    │ d"],
    );
    let wide = format!("|{}\n|{}\n", "a|".repeat(20), "-|".repeat(20));
    assert_eq!(
        texts(&wide, &whole(&wide, 40))[0],
        "|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a"
    );
}

#[test]
fn a_growing_text_is_calm() {
    check_tail("a **bo", &["a bo"]);
    check_tail("a **bo*", &["a bo"]);
    check_tail("a `co", &["a `co"]);
    check_tail("para\n-", &["para", ""]);
    check_tail("para\n\n##", &["para", "", ""]);
    check_tail("```\na\n", &["┌─", "a"]);
    check_tail("```\na\n``", &["┌─", "a", ""]);
    check_tail("```\na\n```", &["┌─", "a", "└─"]);
    check_tail("| a | b |\n|--", &["", ""]);
    check_tail("| a | b |\n|--|--|\n| c", &["a │ b", "──┼──", ""]);
    check_tail("```py", &["┌─ py"]);
}

#[test]
fn what_entities_stand_for_is_cleaned() {
    for source in [
        "&#27;[2J",
        "`x` &#x9b;1m",
        "[a](http://&#27;&#10;x)",
        "```&#10;&#27;\nx\n```\ny",
        "- ```&#10;a\n  b\n  ```",
        "```&#27;\nx\n```",
        "- &#8238;x",
    ] {
        sane(source, &whole(source, 40), 40);
    }
}

#[test]
fn the_view_may_be_of_any_width() {
    let source =
        "- a\n  - b\n    - | c |\n> > > 日本語\n\n| a | b |\n|---|---|\n| c | d |\n\n```x\ny\n```";
    for width in 0..20 {
        streamed(source, 3, width);
    }
}

/// Texts that could make a parser slow or deep.
#[test]
fn hostile_texts_end() {
    let hostile = [
        ">".repeat(50_000),
        "- ".repeat(50_000),
        "*a ".repeat(50_000),
        "**a _b ".repeat(20_000),
        "[".repeat(50_000),
        "![[]()".repeat(20_000),
        "`".repeat(50_000),
        "` `` ```a".repeat(10_000),
        "<a ".repeat(30_000),
        "&#".repeat(50_000),
        "x".repeat(1_000_000),
        "日本".repeat(100_000),
        format!("```\n{}", "y".repeat(1_000_000)),
        format!("|a|\n|-|\n{}", "|b|\n".repeat(50_000)),
        format!("|{}\n|{}\n", "a|".repeat(5_000), "-|".repeat(5_000)),
        (0..2_000)
            .flat_map(|depth| ["  ".repeat(depth % 500), "- x\n".to_owned()])
            .collect(),
        "```\n```\n".repeat(20_000),
        "[a]: b\n".repeat(20_000),
    ];
    for source in hostile {
        let start = std::time::Instant::now();
        let lines = whole(&source, 80);
        sane(&source, &lines, 80);
        println!(
            "{:?} …: {} bytes, {} lines, {:?}",
            source.chars().take(9).collect::<String>(),
            source.len(),
            lines.len(),
            start.elapsed()
        );
    }
}

/// Pieces of Markdown that may stand in any order.
fn markdown() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "word",
        " ",
        "\n",
        "\n\n",
        "**",
        "*",
        "`",
        "~~",
        "- ",
        "1. ",
        "  ",
        "> ",
        "# ",
        "```py\n",
        "```\n",
        "\n```\n",
        "| a | b |\n|---|---|\n| c | d |\n",
        "[t](u)",
        "---\n",
        "日本語",
        "é",
        "<b>",
        "&amp;",
        "\\",
        "    x",
    ]);
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_text_in_any_pieces(source in any::<String>(), chars in 1_usize..9, width in 1_usize..60) {
        streamed(&clean(&source), chars, width);
    }

    #[test]
    fn a_streamed_text_ends_as_the_whole(source in markdown(), chars in 1_usize..9, width in 20_usize..60) {
        let streamed = streamed(&source, chars, width);
        prop_assert_eq!(texts(&source, &streamed), texts(&source, &whole(&source, width)), "{:?}", source);
    }

    #[test]
    fn words_never_vanish(source in markdown()) {
        let count = |text: &str| text.matches("word").count();
        let shown = texts(&source, &whole(&source, 200)).concat();
        prop_assert_eq!(count(&shown), count(&source), "{:?} is shown as {:?}", source, shown);
    }
}
