//! Hostile text in the real program in a pseudo-terminal: on the screen, in line mode, in one answer, and in
//! whatever a command quotes of its arguments and files.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use portable_pty::CommandBuilder;

use crate::corpus::{Hostile, corpus};
use crate::gguf_writer::{TinyModel, Value, tiny_model_writer};
use crate::oracle::{Surface, faults};
use crate::pty::Pty;
use crate::{CTRL_C, CTRL_D, ENTER};

/// All kinds in one name, without `/` and NUL, which no file name holds.
const NAME: &str = "x\u{1b}[31mA\u{1b}]52;c;aGk=\u{7}B\u{9b}2JC\u{202e}D\u{1b}_Gi=1\u{1b}\\E\rF\u{8}G\u{1b}Pq\u{9c}H\u{e0041}I\u{1b}]0;J";

/// Every `step`th text of the corpus that `fits`, a line each.
fn selection(step: usize, fits: impl Fn(&Hostile) -> bool) -> Vec<String> {
    let corpus = corpus();
    let fitting = corpus.iter().filter(|hostile| fits(hostile));
    fitting.step_by(step).map(Hostile::text).collect()
}

/// Whether a text is short and can be pasted: what ends the paste is the terminal's to leave out.
fn can_be_pasted(hostile: &Hostile) -> bool {
    let text = hostile.text();
    hostile.forbidden && text.len() < 60 && !text.contains("201~") && !text.contains('\n')
}

#[test]
fn a_message_and_its_answer_on_the_screen_are_harmless() {
    let mut pty = Pty::chat(&["--strategy", "lookup"]);
    pty.wait_for("scripted");
    let texts = selection(13, can_be_pasted);
    assert!(texts.len() >= 30, "only {}", texts.len());
    for part in texts.chunks(12) {
        pty.keys(&format!("\x1b[200~{}\nlast line\x1b[201~", part.join("\n")));
        pty.wait_for("last line");
        pty.keys(ENTER);
        pty.wait_for("✓ done");
        pty.keys("/new");
        pty.wait_for("/new");
        pty.keys(ENTER);
        pty.wait_for("a new conversation");
    }
    pty.keys(CTRL_D);
    assert_eq!(pty.exit_code(), 0);
    pty.assert_restored();
    pty.assert_harmless("the screen");
}

#[test]
fn a_message_and_its_answer_in_line_mode_are_harmless() {
    // The terminal's driver acts on most control characters itself, and echoes ESC as ^[.
    let plain = |text: &str| {
        text.chars()
            .all(|c| !c.is_control() || "\u{1b}\u{7}".contains(c))
    };
    let texts = selection(11, |hostile| {
        can_be_pasted(hostile) && plain(&hostile.text()) && !hostile.text().starts_with('/')
    });
    assert!(texts.len() >= 10, "only {}", texts.len());
    let mut pty = Pty::chat(&["--no-tui"]);
    pty.wait_for("> ");
    pty.keys("/mode x\x1b[31m\x07\x1b]0;title\r");
    pty.wait_for("no strategy");
    pty.keys(&format!("{}\r", texts[..10].join(" ")));
    pty.wait_for("tok/s");
    pty.keys("/quit\r");
    assert_eq!(pty.exit_code(), 0);
    pty.assert_harmless("line mode");
}

#[test]
fn one_answer_is_harmless() {
    for texts in selection(17, |hostile| hostile.forbidden && hostile.bytes.len() < 60).chunks(10) {
        let question = texts.join("\n").replace('\0', "");
        let mut pty = Pty::chat(&["--strategy", "lookup", "--", &question]);
        assert_eq!(pty.exit_code(), 0);
        pty.wait_for("tok/s");
        pty.assert_harmless("one answer");
    }
}

/// Runs `speck` in `folder` with these arguments until it ends, and judges what it wrote.
fn judge(folder: &Path, args: &[OsString], expect: &str) {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_speck"));
    command.args(args);
    command.cwd(folder);
    let folder = folder.display().to_string();
    let mut pty = Pty::start(command, &[("XDG_CONFIG_HOME", &folder)]);
    pty.exit_code();
    pty.wait(expect, |screen| {
        screen.contents().replace('\n', "").contains(expect)
    });
    let found = faults(&pty.bytes(), Surface::Lines);
    let written = pty.written();
    assert!(found.is_empty(), "{args:?}: {found:?}\n{written:?}");
}

fn words(line: &str) -> Vec<OsString> {
    line.split(' ')
        .map(|word| word.replace("NAME", NAME).into())
        .collect()
}

#[test]
fn what_a_command_quotes_is_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let write = |name: &str, text: &[u8]| fs::write(path.join(name), text).unwrap();
    let quoted = serde_json::to_string(NAME).unwrap();
    let one = format!("[{{\"role\": \"user\", \"content\": {quoted}}}]");
    write("messages.json", one.as_bytes());
    write("broken.json", format!("[{{{quoted}: 1}}]").as_bytes());
    write("echo.jinja", b"{{ messages[0].content }}");
    write("raise.jinja", b"{{ raise_exception(messages[0].content) }}");
    write("syntax.jinja", format!("{{% {NAME} %}}").as_bytes());
    write(&format!("{NAME}.txt"), b"A prompt.");
    write(&format!("{NAME}.gguf"), b"GGUF");
    fs::write(path.join(format!("{NAME}.jinja")), "{% x").unwrap();
    for (line, expect) in [
        ("chat NAME --target scripted --max-tokens 40", "tok/s"),
        ("chat Hi --target NAME", "[31mA"),
        ("chat Hi --target NAME.gguf", "[31mA"),
        ("chat Hi --target scripted --draft NAME", "[31mA"),
        ("chat Hi --target scripted --theme NAME", "[31mA"),
        ("chat Hi --target scripted --strategy NAME", ""),
        ("chat Hi --target scripted --device NAME", ""),
        ("chat Hi --target scripted --threads NAME", ""),
        (
            "chat Hi --target scripted --max-tokens 8 --stop NAME --system NAME",
            "tok/s",
        ),
        ("chat Hi --NAME", ""),
        ("NAME", ""),
        (
            "bench --target scripted --strategies plain --runs 1 --tokens 4 --prompts NAME.txt",
            "[31mA",
        ),
        ("bench --target scripted --strategies NAME", ""),
        ("bench --target scripted --prompts NAME", "[31mA"),
        (
            "bench --target scripted --strategies plain --runs 1 --tokens 4 --prompts story --svg NAME/x",
            "[31mA",
        ),
        ("measure --target NAME", "[31mA"),
        ("models pull NAME --offline", "[31mA"),
        ("models pull owner/repo:NAME.gguf --offline", "[31mA"),
        ("models verify NAME", "[31mA"),
        ("models remove NAME", "[31mA"),
        ("tokenize --target NAME", "[31mA"),
        ("template echo.jinja --messages messages.json", "[31mA"),
        ("template raise.jinja --messages messages.json", "[31mA"),
        (
            "template syntax.jinja --messages messages.json",
            "unknown statement",
        ),
        (
            "template NAME.jinja --messages messages.json",
            "unknown statement",
        ),
        ("template echo.jinja --messages broken.json", "[31mA"),
        ("template echo.jinja --messages NAME", "[31mA"),
    ] {
        judge(path, &words(line), expect);
    }
    let mut bytes = b"no\xffUTF\x9b-8\x1b[31m".to_vec();
    let mut args = words("template echo.jinja --messages");
    args.push(OsString::from_vec(bytes.clone()));
    judge(path, &args, "[31m");
    bytes.insert(0, b'-');
    judge(path, &[OsString::from_vec(bytes)], "For more information");
}

#[test]
fn what_a_configuration_says_is_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("speck");
    fs::create_dir(&place).unwrap();
    let value = toml::Value::String(NAME.to_owned()).to_string();
    for text in [
        format!("[screen]\ntheme = {value}\n"),
        format!("[screen]\n{value} = 1\n"),
        format!("[{value}]\n"),
        format!("[model]\ntarget = {value}\n"),
        format!("[decoding]\nstrategy = {value}\n"),
        format!("[model]\ndevice = {value}\n"),
        format!("[chat]\nsystem = {value}\nmore = 1\n"),
        format!("{NAME}\n"),
    ] {
        fs::write(place.join("config.toml"), &text).unwrap();
        for line in ["config check", "config show", "chat Hi"] {
            judge(folder.path(), &words(line), "");
        }
    }
}

/// A model file names itself, its architecture and its parts, and brings a template that can speak.
#[test]
fn what_a_model_file_says_is_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("{NAME}.gguf");
    let text = || Value::Str(NAME.to_owned());
    let raise = format!(
        "{{{{ raise_exception({}) }}}}",
        serde_json::to_string(NAME).unwrap()
    );
    let keys = [
        ("general.name", text()),
        ("general.architecture", text()),
        ("tokenizer.ggml.model", text()),
        ("tokenizer.ggml.pre", text()),
        ("tokenizer.chat_template", text()),
        ("tokenizer.chat_template", Value::Str(raise)),
        (NAME, text()),
    ];
    for (key, value) in keys {
        let mut model = tiny_model_writer(1, TinyModel::default());
        model.set(key, value);
        fs::write(folder.path().join(&file), model.bytes()).unwrap();
        judge(
            folder.path(),
            &words("chat Hi --target ./NAME.gguf --draft none --max-tokens 20"),
            "",
        );
    }
    let mut model = tiny_model_writer(1, TinyModel::default());
    NAME.clone_into(&mut model.tensor("output_norm.weight").name);
    fs::write(folder.path().join(&file), model.bytes()).unwrap();
    judge(
        folder.path(),
        &words("chat Hi --target ./NAME.gguf"),
        "[31mA",
    );
}

/// On the screen, the names of files stand in the status bar, the welcome and errors.
#[test]
fn names_of_files_on_the_screen_are_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let good = tiny_model_writer(1, TinyModel::default()).bytes();
    for (bytes, code) in [(&good[..], 0), (b"GGUF", 1)] {
        let file = folder.path().join(format!("{NAME}.gguf"));
        fs::write(&file, bytes).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_speck"));
        command.args(["chat", "--draft", "none", "--target"]);
        command.arg(&file);
        let mut pty = Pty::start(command, &[]);
        pty.wait_for("[31mA");
        pty.keys(CTRL_C);
        pty.keys(CTRL_C);
        assert_eq!(pty.exit_code(), code);
        pty.assert_restored();
        pty.assert_harmless("names on the screen");
    }
}
