//! Other models, and an engine that has ended, in the real program.

use portable_pty::CommandBuilder;

use crate::pty::Pty;
use crate::{CTRL_C, CTRL_D, ENTER, ready};

fn typed(pty: &mut Pty, text: &str) {
    pty.keys(text);
    pty.wait_for(text);
    pty.keys(ENTER);
}

#[test]
fn another_model_goes_on_with_the_conversation() {
    let mut pty = ready(&[]);
    typed(&mut pty, "hello there");
    pty.wait("the whole answer", |screen| {
        screen.contents().contains("done")
    });
    typed(&mut pty, "/model ./no-such-file.gguf");
    pty.wait_for("no-such-file.gguf");
    pty.wait_for("The models from before go on.");
    typed(&mut pty, "/model scripted");
    pty.wait_for("The conversation is kept");
    pty.keys("/model");
    pty.wait_for("/model");
    pty.keys(ENTER);
    pty.wait_for("SmolLM2-135M");
    pty.keys(CTRL_C);
    pty.wait_gone("Esc closes");
    typed(&mut pty, "/retry");
    pty.wait_for("greedy: the same text again");
    pty.keys(CTRL_C);
    pty.keys(CTRL_D);
    assert_eq!(pty.exit_code(), 0);
    pty.assert_restored();
}

#[test]
fn an_engine_that_has_ended_is_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("late.gguf");
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_speck"));
    command.args(["chat", "--target", file.to_str().unwrap()]);
    let mut pty = Pty::start(command, &[]);
    pty.wait_for("The engine has ended");
    pty.wait_for("no such file");
    typed(&mut pty, "/reload");
    pty.wait("the second failure", |screen| {
        screen.contents().matches("The engine has ended").count() == 2
    });
    typed(&mut pty, "/model scripted");
    pty.wait_for("Type a message");
    typed(&mut pty, "hello there");
    pty.wait_for("You wrote:");
    pty.keys(CTRL_C);
    pty.keys(CTRL_D);
    assert_eq!(pty.exit_code(), 0);
    pty.assert_restored();
}
