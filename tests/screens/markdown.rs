//! Answers in Markdown: pictures at every class of size, marks of tokens, and what streaming costs.

use std::time::Instant;

use insta::assert_snapshot;
use speck::app::block::{Answer, AnswerState, Kind};
use speck::app::transcript::Transcript;
use speck::engine::protocol::{Event, FinishReason, Piece};
use speck::ui::{ColorDepth, Theme};

use crate::pictures::{pictures, styles};
use crate::user::User;

const LONG: &str = "\
## How it works

A **draft** model guesses *a few* tokens; the target verifies them in `one` pass.

1. The draft model writes `k` tokens.
2. The target looks at all of them:
   - what it agrees with is kept,
   - the rest is ~~kept~~ rolled back.

3. Again from the first.

> Nothing is lost: the text is the target's own.
> See [the paper](https://arxiv.org/abs/2211.17192).

---

- [x] verified
- [ ] sampled

Done, <b>really</b> &amp; truly.";

const CODE: &str = "\
In Rust:

```rust
/// The longest common prefix.
fn common(a: &[u32], b: &[u32]) -> usize {
    let same = a.iter().zip(b).take_while(|(x, y)| x == y);
    same.count() // never more than either has
}
```

And in Python, with a very long line:

```python
def common(a, b):
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b)))
```

    indented code";

const TABLE: &str = "\
| Strategy | Drafts from | Best for |
|:---------|:-----------:|---------:|
| `plain` | nothing | the baseline |
| **draft** | a small model that shares the target's tokens, if there is one | text that is easy to guess |
| lookup | the conversation | code that is edited: 2.5x |

| 名前 | 説明 |
|---|---|
| 投機的デコード 🚀 | 小さなモデルが次のトークンを下書きし、大きなモデルが検証する |
";

const WIDE: &str = "\
# 見出し 🎉

- 投機的デコードは、**小さなモデル**が下書きし、大きなモデルが一度の計算でまとめて検証する方法です。
- 👩‍👩‍👧‍👦 👍🏽 🇯🇵 한국어도 됩니다. cafe\u{301}

```python
print(\"こんにちは 👋🏽\")  # 注釈
```";

fn answered(size: (u16, u16), text: &str) -> User {
    let mut user = User::ready(size);
    user.keys("Explain.<Enter>");
    user.stream(text, "draft", &[3, 1, 0, 2]);
    user
}

#[test]
fn long_answer() {
    pictures("markdown_long", |size| {
        let mut user = answered(size, LONG);
        user.finish(FinishReason::EndOfTurn);
        user
    });
}

#[test]
fn code() {
    pictures("markdown_code", |size| answered(size, CODE));
}

#[test]
fn tables() {
    pictures("markdown_table", |size| answered(size, TABLE));
}

#[test]
fn wide_text() {
    pictures("markdown_wide", |size| answered(size, WIDE));
}

#[test]
fn a_search() {
    pictures("find", |size| {
        let mut user = answered(size, LONG);
        user.keys("<C-f>the");
        user
    });
}

#[test]
fn looks() {
    for (name, depth) in [
        ("terminal", ColorDepth::Ansi16),
        ("dark", ColorDepth::Rgb),
        ("terminal", ColorDepth::None),
    ] {
        let mut user = answered((80, 50), &[LONG, "\n\n", CODE].concat());
        user.keys("<C-f>target");
        let theme = Theme::load(name, depth).unwrap();
        assert_snapshot!(
            format!("markdown_{name}_{depth:?}"),
            styles(&user.buffer(&theme).0)
        );
    }
}

/// Also where a token or a place that was found begins with one.
#[test]
fn combining_marks_stay_with_their_letters() {
    let mut user = User::ready((100, 30));
    user.keys("go<Enter>");
    for text in ["cafe", "\u{301} noe", "\u{308}l ete", "\u{301}"] {
        user.stream(text, "draft", &[1]);
    }
    for keys in ["", "/show tokens<Enter>", "<C-f>e"] {
        user.keys(keys);
        let picture = user.picture();
        let whole = "cafe\u{301} noe\u{308}l ete\u{301}";
        assert!(picture.contains(whole), "{keys}: {picture}");
    }
}

/// Who drafted is told by how a token is marked, also without colours, and a legend says how.
#[test]
fn who_drafted_is_told_without_colours() {
    let mut user = User::ready((100, 30));
    user.keys("/show tokens<Enter>go<Enter>");
    for (text, strategy) in [
        ("aaa bbb ", "draft"),
        ("ccc ddd ", "lookup"),
        ("eee fff ", "recycling"),
    ] {
        user.stream(text, strategy, &[1]);
    }
    for name in ["terminal", "dark"] {
        let theme = Theme::load(name, ColorDepth::None).unwrap();
        let (buffer, _) = user.buffer(&theme);
        let style = |text: &str| {
            let picture = user.picture();
            let (y, line) = picture
                .lines()
                .enumerate()
                .find(|(_, line)| line.contains(text))
                .unwrap();
            let x = line[..line.find(text).unwrap()].chars().count();
            buffer[(x as u16, y as u16)].style()
        };
        let marks = [style("aaa"), style("ccc"), style("eee"), style("bbb")];
        for (i, mark) in marks.iter().enumerate() {
            assert!(!marks[..i].contains(mark), "{name}: {marks:?}");
        }
        let legend = "accepted from ◆ draft ≡ lookup ↻ recycling";
        assert!(user.picture().contains(legend), "{}", user.picture());
    }
}

#[test]
fn markdown_can_be_turned_off() {
    let mut user = answered((80, 30), "# A **bold** title");
    assert!(user.picture().contains("# A bold title"));
    user.keys("/markdown<Enter>");
    assert!(user.picture().contains("# A **bold** title"));
    assert!(user.picture().contains("as the model wrote them"));
    user.keys("/markdown<Enter>");
    assert!(user.picture().contains("# A bold title"));
}

#[test]
fn what_the_user_wrote_stays_as_it_is() {
    let mut user = User::ready((80, 24));
    user.keys("**bold** `x`<C-j># no title<Enter>");
    assert!(user.picture().contains("   **bold** `x`\n   # no title\n"));
}

/// The block of an answer never gets shorter while it grows, nor when it ends.
#[test]
fn nothing_moves_up_while_an_answer_grows_or_ends() {
    for text in [
        LONG,
        CODE,
        TABLE,
        WIDE,
        "a **b** [long link text](http://e.org/a/b/c/d) and\n``` \nx\n``",
    ] {
        for size in [(80, 60), (40, 60)] {
            let mut user = User::ready(size);
            user.keys("<C-t>Explain.<Enter>");
            let mut before = 0;
            for c in text.chars() {
                user.stream(&c.to_string(), "draft", &[0]);
                let lines = user.app.transcript().len();
                assert!(lines >= before, "{lines} < {before} in {text:?} at {c:?}");
                before = lines;
            }
            user.finish(FinishReason::EndOfTurn);
            assert_eq!(user.app.transcript().len(), before, "{text:?}");
        }
    }
}

#[test]
fn a_search_goes_through_the_conversation() {
    let mut user = answered((80, 24), &"filler\n\n".repeat(40));
    user.finish(FinishReason::EndOfTurn);
    user.keys("Where is NEEDLE?<Enter>");
    user.stream(
        &["needle here\n\n", &"more\n\n".repeat(40)].concat(),
        "draft",
        &[2],
    );
    user.keys("typed<C-f>needle");
    let says = |user: &User, text: &str| {
        assert!(user.picture().contains(text), "{text}:\n{}", user.picture());
    };
    says(&user, "/ needle");
    says(&user, "2/2");
    says(&user, "needle here");
    user.keys("<C-p>");
    says(&user, "1/2");
    says(&user, "NEEDLE?");
    user.keys("<Enter>");
    says(&user, "2/2");
    user.stream("another Needle", "draft", &[2]);
    says(&user, "2/3");
    user.keys("<C-u>NEEDLE");
    says(&user, "1/1");
    user.keys("x");
    says(&user, "nothing found");
    let view = user.picture().lines().next().map(str::to_owned);
    user.keys("<Esc>");
    assert_eq!(user.picture().lines().next().map(str::to_owned), view);
    says(&user, "> typed");
    user.keys("<C-u>/find filler<Enter>");
    says(&user, "/40");
    user.update(speck::app::Msg::Paste(" nothing\nmore".to_owned()));
    says(&user, "/ filler nothing");
    user.hear(crate::user::failure("it broke", true));
    user.keys("q");
    assert!(!user.effects.contains(&"quit".to_owned()));
}

#[test]
fn colours_of_code_come_for_blocks_that_are_there() {
    let mut user = answered((80, 24), CODE);
    user.finish(FinishReason::EndOfTurn);
    user.keys("/new<Enter>");
    user.update(speck::app::Msg::Highlighted(
        speck::app::highlight::Highlighted {
            id: 1,
            classes: vec![(0..usize::MAX, speck::app::highlight::Class::Keyword)],
        },
    ));
    user.hear(Event::Strategy("plain"));
    user.picture();
}

/// Prints what a 2,000-line answer costs token by token; counts work, not time.
#[test]
fn an_answer_of_2000_lines_costs_the_same_at_its_end() {
    let text = [LONG, "\n\n", CODE, "\n\n", TABLE, "\n\n"].concat();
    let repeats = 2_000_usize.div_ceil(text.lines().count());
    let mut transcript = Transcript::new(80);
    let state = AnswerState::Writing;
    let index = transcript.push(Kind::Assistant(Answer { model: None, state }), "");
    let (mut tokens, mut costs) = (0, Vec::new());
    let start = Instant::now();
    for _ in 0..repeats {
        let before = transcript.blocks()[index].rendered_bytes();
        for token in text.split_inclusive([' ', '\n']) {
            let text = token.to_owned();
            transcript.append(
                index,
                &[Piece {
                    text,
                    drafter: None,
                }],
            );
            tokens += 1;
        }
        costs.push(transcript.blocks()[index].rendered_bytes() - before);
    }
    let per_token = start.elapsed() / tokens;
    let lines = transcript.blocks()[index].lines().len();
    let bytes = costs.iter().sum::<usize>() / tokens as usize;
    println!("{lines} lines, {tokens} tokens: {per_token:?} and {bytes} bytes rendered per token");
    assert_eq!(costs[1], *costs.last().unwrap());
    assert!(bytes < 1_000, "{bytes} bytes per token");
}
