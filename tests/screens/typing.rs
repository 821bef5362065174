//! What is typed: commands completed, the history searched, pastes, the editor; and what commands do.

use speck::app::Msg;
use speck::engine::protocol::FinishReason;
use speck::session::Note;

use crate::keys::{SIZE, check, says, says_not};
use crate::user::{CODE, User};

#[test]
fn commands_are_completed() {
    check("/mo<Tab>", &[], "/mode ");
    check("/mo<Tab>lo<Tab>", &[], "/mode lookup");
    check("/mode pl<Enter>", &["strategy plain"], "");
    check("/mode dr<Tab><Enter>", &["strategy draft"], "");
    check("/mode <Enter>", &[], "");
    check("/mode <Down><Down><Enter>", &["strategy draft"], "");
    check("/mode <C-n><C-n><C-n><C-p><Enter>", &["strategy draft"], "");
    check("/mode <Up><Enter>", &["strategy lookup-transformers"], "");
    check("/sho<Enter>", &[], "/show ");
    check("/sho<Enter><Enter>", &[], "");
    check("/q<Enter>", &["quit"], "");
    check("/qt<Tab><Enter>", &["quit"], "");
    check("/qt<Down><Enter>", &["quit"], "");
    check("/ne<Tab><C-_>", &[], "/ne");
    check("/mo<Esc><Enter>", &[], "/mo");
    check("/mo<Esc><Tab>", &[], "/mode ");
    check("/mode xyz<Tab><Enter>", &[], "/mode xyz");
}

/// Enter runs what is typed, or what alone begins with it, but no guess.
#[test]
fn enter_does_not_guess() {
    for (typed, told) in [
        ("/qt", "no command `/qt`: did you mean /quit?"),
        ("/mo", "did you mean /mode or /model?"),
        ("/", "/ begins a command"),
    ] {
        let mut user = User::ready(SIZE);
        user.keys(typed);
        says(&user, "Tab complete");
        says_not(&user, "Enter run");
        user.keys("<Enter>");
        says(&user, told);
        assert_eq!(user.effects, [""; 0]);
        assert_eq!(user.app.input().text(), typed);
    }
    check("/mode lo<Enter>", &[], "/mode lo");
}

#[test]
fn what_is_no_command_is_not_completed() {
    check("//mode is it<Tab><Enter>", &["send /mode is it"], "");
    check("a /mo<Tab><Enter>", &["send a /mo"], "");
    let mut user = User::ready(SIZE);
    let long = format!("//{}", "x".repeat(2_500));
    user.update(Msg::Paste(long.clone()));
    user.keys("<Enter>");
    assert_eq!(user.effects, [format!("send {}", &long[1..])]);
    check("<Tab>a<Enter>", &["send a"], "");
    check(
        "/mode plain<Enter>x<Enter><C-p><C-p><C-p>",
        &["strategy plain", "send x"],
        "/mode plain",
    );
    check("/new<Enter><C-p><C-u>/mo<Tab>", &["reset"], "/mode ");
    let mut user = User::ready((20, 5));
    user.keys("/mode dr<Enter>");
    assert!(user.effects.is_empty(), "nothing invisible is chosen");
}

#[test]
fn esc_closes_the_list_before_it_stops_the_answer() {
    let mut user = User::ready(SIZE);
    user.keys("one<Enter>/mo<Esc>");
    says_not(&user, "── commands");
    assert!(!user.cancels[0].is_cancelled());
    user.keys("<Esc>");
    assert!(user.cancels[0].is_cancelled());
}

#[test]
fn the_history_is_searched() {
    let typed = "write a poem<Enter><C-c>/mode plain<Enter>Write code<C-c>";
    let search = |keys: &str, input: &str| {
        let mut user = User::ready(SIZE);
        user.keys(&format!("{typed}{keys}"));
        assert_eq!(user.app.input().text(), input, "{keys}");
        assert_eq!(
            user.effects,
            ["send write a poem", "strategy plain"],
            "{keys}"
        );
    };
    search("<C-r><Enter>", "Write code");
    search("<C-r>wri<Enter>", "Write code");
    search("<C-r>wri<C-r><Enter>", "write a poem");
    search("<C-r>wri<C-r><C-r><C-r><Up><Enter>", "Write code");
    search("kept<C-r>wri<Esc>", "kept");
    search("kept<C-r>wri<C-c>", "kept");
    search("kept<C-r>xyz<Enter>", "kept");
    search("<C-r>xyz<C-u>po<Tab>", "write a poem");
    search("<C-r>mode<Enter>", "");
    search("<C-p><C-p>", "/mode plain");
}

#[test]
fn what_is_typed_is_remembered_once() {
    let mut user = User::ready(SIZE);
    user.keys("one<Enter>/mode plain<Enter>two<C-c><C-c>two<C-c>/quit<Enter>");
    assert_eq!(user.remembered, ["one", "two"]);
}

#[test]
fn the_editor_gets_the_text_and_gives_it_back() {
    let mut user = User::ready(SIZE);
    let paste = vec!["line"; 30].join("\n");
    user.keys("see ");
    user.update(Msg::Paste(paste.clone()));
    user.keys("<C-g>");
    assert_eq!(user.effects, [format!("edit see {paste}")]);
    user.update(Msg::Edited(Ok(format!("see {paste}"))));
    says(&user, "see [pasted 30 lines]");
    user.update(Msg::Edited(Err("vi\x1b[2J ended with code 1".to_owned())));
    says(&user, "Vi␛[2J ended with code 1.");
    says(&user, "see [pasted 30 lines]");
    user.update(Msg::Edited(Ok("short".to_owned())));
    assert_eq!(user.app.input().text(), "short");
    user.update(Msg::Edited(Ok(String::new())));
    assert!(user.app.input().is_empty());
}

#[test]
fn a_long_paste_is_sent_whole_and_shown_short() {
    let mut user = User::ready(SIZE);
    let paste: Vec<String> = (1..=143).map(|i| format!("line {i}")).collect();
    user.keys("sum up:<C-j>");
    user.update(Msg::Paste(paste.join("\r\n")));
    says(&user, "[pasted 143 lines]");
    user.keys("<Enter>");
    assert_eq!(
        user.effects,
        [format!("send sum up:\n{}", paste.join("\n"))]
    );
    says(&user, "line 4");
    says_not(&user, "line 5");
    says(&user, "[139 more of 143 pasted lines]");
}

#[test]
fn a_huge_paste_is_refused_at_once() {
    let mut user = User::ready(SIZE);
    user.update(Msg::Paste("x".repeat(10_000_000)));
    says(&user, "not pasted: 10.0 MB, and a message holds 4 MB");
    assert!(user.app.input().is_empty());
}

#[test]
fn copying_themes_and_statistics() {
    check("/copy<Enter>", &[], "/copy");
    check("/theme so<Enter>", &["list themes", "theme solarized"], "");
    check("/th so<Enter>", &["list themes", "theme solarized"], "");
    check("/theme mine<Enter>", &["list themes", "theme mine"], "");
    let mut user = User::ready(SIZE);
    user.keys("/stats<Enter>");
    says(&user, "No passes yet");
    user.keys("hello<Enter>");
    user.stream(CODE, "draft", &[2]);
    user.keys("/copy<Enter>/copy co<Enter>/copy 2<Enter>");
    let code = CODE.split("```python\n").nth(1).unwrap();
    let code = code.split("```").next().unwrap();
    let copied = [
        format!("copy the last answer: {CODE}"),
        format!("copy the last code block: {code}"),
    ];
    assert_eq!(user.effects[1..], copied);
    says(&user, "there is one answer only");
    user.keys("<C-u>");
    user.keys("/stats<Enter>");
    says(&user, "all answers: ");
    says(&user, "draft: ");
    user.keys("/theme<Enter>");
    says(&user, "Themes: terminal (now), ");
    user.update(Msg::Themed("light".to_owned(), Ok(())));
    says(&user, "theme light");
    let why = "my.toml, line 3: unknown key";
    user.update(Msg::Themed("my".to_owned(), Err(why.to_owned())));
    says(&user, why);
    assert_eq!(user.app.input().text(), "/theme my");
    user.keys("<C-u>");
    user.update(Msg::Told(Ok("Copied it\x1b]52;c;aa\x07".to_owned())));
    says(&user, "Copied it␛]52;c;aa␇");
    user.keys("/theme <Up><Up><Down>");
    says(&user, "now");
    user.update(Msg::Themes(vec!["terminal".into(), "fresh".into()]));
    says(&user, "▸ fresh");
}

#[test]
fn what_was_refused_because_of_an_answer_is_not_told_beyond_its_end() {
    let mut user = User::ready(SIZE);
    user.keys("one<Enter>");
    user.stream(CODE, "draft", &[2]);
    user.keys("two<Enter>");
    let why = "an answer is being written: Ctrl-C stops it, then Enter sends this";
    says(&user, why);
    user.finish(FinishReason::EndOfTurn);
    says_not(&user, why);
    says(&user, "> two▏");
}

/// The one who saves answers in the order in which it was asked.
#[test]
fn a_command_that_cannot_be_saved_or_written_comes_back() {
    let mut user = User::ready(SIZE);
    user.keys("/save my chat<Enter>/save<Enter>");
    let done = Note::Done("saved as my chat: 20261130-1432-abc".to_owned());
    user.update(Msg::Session(done));
    says(&user, "Saved as my chat: 20261130-1432-abc.");
    let why = "it cannot be saved now: the disk is full";
    user.update(Msg::Session(Note::Refused(why.to_owned())));
    says(&user, "> /save▏");
    says(&user, why);
    user.keys("<C-c>");
    user.update(Msg::Session(Note::Refused("it is broken".to_owned())));
    says(&user, "It is broken.");
    // A chat is being opened while the answer to another command comes.
    user.keys("/save x<Enter>/resume 2026<Enter>");
    user.update(Msg::Session(Note::Refused(why.to_owned())));
    says(&user, "> /save x");
    says(&user, "… opening");
    user.update(Msg::Session(Note::Refused("no such chat".to_owned())));
    says(&user, "no such chat");
    says_not(&user, "… opening");
}

/// A command that cannot be done stays in the input and leaves nothing in the conversation. Why stands in the
/// status bar, a phrase, until the next key.
#[test]
fn what_is_mistyped_can_be_corrected() {
    let themed = Msg::Themed(
        "my".to_owned(),
        Err("my.toml, line 3: unknown key".to_owned()),
    );
    let refused = Msg::Session(Note::Refused("no saved chat begins with `nope`".to_owned()));
    for (typed, told, came) in [
        ("/nwe", "no command `/nwe`: did you mean /new?", None),
        ("/new now", "nothing can follow /new", None),
        ("/show all", "/show takes `tokens`, not `all`", None),
        ("/mode fast", "there is no strategy `fast` here", None),
        ("/set heat 2", "there is nothing called `heat` to set", None),
        (
            "/set seed 7 8",
            "/set takes one value, and no `8` behind it",
            None,
        ),
        (
            "/set temperature hot",
            "temperature: it is not a number",
            None,
        ),
        ("/edit zero", "/edit takes a number", None),
        ("/edit 3", "there is no message yet", None),
        ("/retry", "there is no message yet", None),
        (
            "/drop",
            "/drop sends a message again that did not fit",
            None,
        ),
        ("/copy all", "/copy takes a number", None),
        ("/copy", "there is no answer to copy yet", None),
        ("/export", "nothing was said yet", None),
        ("/theme my", "my.toml, line 3: unknown key", Some(themed)),
        (
            "/resume nope",
            "no saved chat begins with `nope`",
            Some(refused),
        ),
    ] {
        let mut user = User::ready((160, 30));
        user.keys(&format!("{typed}<Esc><Enter>"));
        if let Some(came) = came {
            user.update(came);
        }
        user.wait(60_000);
        says(&user, &format!("! {told}"));
        let notice = user.app.notice().unwrap();
        assert!(
            !notice.ends_with('.') && !notice.starts_with(char::is_uppercase),
            "{notice}"
        );
        assert_eq!(user.app.input().text(), typed);
        assert!(user.app.transcript().is_empty(), "{typed}");
        assert!(user.app.popup().is_none(), "{typed}");
        user.keys("<Left>");
        says_not(&user, told);
    }
}

/// Where the status bar is too narrow for it, or is not there, it stands above the input.
#[test]
fn a_notice_is_told_whole_at_every_size() {
    for size in [(160, 50), (80, 24), (60, 16), (40, 12), (30, 8), (20, 8)] {
        let mut user = User::ready(size);
        user.keys("/nwe<Enter>");
        let told: String = user
            .picture()
            .lines()
            .map(|line| line.split('│').next().unwrap().trim().to_owned() + " ")
            .collect();
        let whole =
            "no command `/nwe`: did you mean /new? /help lists all, // sends it as a message";
        assert!(told.contains(whole), "{size:?}: {}", user.picture());
    }
}

/// `/nwe` as typed, and what stands there then.
#[test]
fn a_refusal_is_pictured() {
    crate::pictures::pictures("refusal", |size| {
        let mut user = crate::states::streaming(size);
        user.keys("/nwe<Enter>");
        user
    });
}

/// The second Ctrl-C clears what came between.
#[test]
fn a_paste_takes_back_the_wish_to_quit() {
    let mut user = User::ready(SIZE);
    user.keys("<C-c>");
    user.update(Msg::Paste("kept".into()));
    says_not(&user, "press Ctrl-C again to quit");
    user.keys("<C-c>");
    assert!(user.effects.is_empty());
    user.keys("<C-p>");
    assert_eq!(user.app.input().text(), "kept");
}
