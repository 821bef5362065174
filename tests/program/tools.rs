//! `speck tokenize` and `speck template`.

use std::fs;

use crate::{check, check_error, speck};

/// The draft model in the repository has a whole tokenizer.
const DRAFT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/assets/smollm2-135m-draft.gguf"
);

#[test]
fn tokenize_prints_ids() {
    let check_ids = |args: &[&str], input, expect| {
        let mut command = speck(&["tokenize", "--target", DRAFT]);
        assert_eq!(check(command.args(args), input, 0).0, expect, "{input:?}");
    };
    check_ids(&[], "Hello, world!", "[19556,28,905,17]\n");
    check_ids(&[], "", "[]\n");
    check_ids(&[], "<|im_end|>", "[2]\n");
    let (out, _) = check(
        &mut speck(&["tokenize", "--target", DRAFT, "--no-special"]),
        "<|im_end|>",
        0,
    );
    let ids: Vec<u32> = serde_json::from_str(&out).unwrap();
    assert!(ids.len() > 1 && !ids.contains(&2), "{ids:?}");
    check_error(
        &mut speck(&["tokenize", "--target", "scripted"]),
        "a",
        1,
        &["no file"],
    );
}

#[test]
fn template_prints_a_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let write = |name: &str, text: &str| {
        fs::write(path(name), text).unwrap();
        path(name)
    };
    let messages = write("hi.json", r#"[{"role":"user","content":"Hi"}]"#);
    let template = write(
        "t.jinja",
        "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}{% endfor %}",
    );
    let mut own = speck(&[
        "template",
        &template,
        "--messages",
        &messages,
        "--bos",
        "<s>",
        "--eos",
        "</s>",
    ]);
    assert_eq!(check(&mut own, "", 0).0, "<s>user: Hi</s>");
    let wrong = write("wrong.json", r#"[{"role":"wizard","content":"Hi"}]"#);
    check_error(
        &mut speck(&["template", &template, "--messages", &wrong]),
        "",
        1,
        &["wrong.json", "wizard"],
    );
    check_error(
        &mut speck(&["template", &template, "--messages", "/no/such"]),
        "",
        1,
        &["/no/such"],
    );
    let endless = write(
        "endless.jinja",
        "{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}",
    );
    check_error(
        &mut speck(&["template", &endless, "--messages", &messages]),
        "",
        1,
        &[],
    );
}
