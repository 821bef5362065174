//! The message in the user's editor: `$VISUAL`, `$EDITOR`, or `vi`.
//!
//! The caller gives the terminal back first and takes it again when [`Editor::ended`] is done. The text
//! is in a file that only its owner can read; it is gone when the editor is dropped, unless what is in it
//! could not be taken.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::{Builder, TempPath};
use tokio::sync::oneshot;

use crate::app::draft::MOST_BYTES;
use crate::files;

/// An editor that runs.
pub(super) struct Editor {
    name: String,
    file: TempPath,
    /// While it runs.
    pid: Option<Pid>,
    status: oneshot::Receiver<io::Result<ExitStatus>>,
}

impl Editor {
    /// Starts the user's editor on a text. An error says what to do.
    pub fn start(text: &str) -> Result<Self, String> {
        let words = words(|name| env::var_os(name), is_program)?;
        let file = write(text).map_err(|error| {
            format!("Cannot write a file for the editor: {error}. The text is as it was.")
        })?;
        let name = words[0].clone();
        let mut command = Command::new(&words[0]);
        let child = command.args(&words[1..]).arg(&file).spawn();
        let child = child.map_err(|error| {
            format!("Cannot start the editor `{name}`: {error}. Set EDITOR to another one.")
        })?;
        Ok(Self {
            name,
            file,
            pid: Pid::from_raw(child.id().cast_signed()),
            status: wait(child),
        })
    }

    /// Waits for the editor, and gives the text; or says why the text stays as it was.
    pub async fn ended(&mut self) -> Result<String, String> {
        let name = self.name.clone();
        let status = (&mut self.status).await;
        self.pid = None;
        let status = match status {
            Ok(Ok(status)) => status,
            Ok(Err(error)) => return Err(format!("Cannot wait for the editor `{name}`: {error}")),
            Err(_) => return Err(format!("The editor `{name}` was lost.")),
        };
        if !status.success() {
            return Err(format!(
                "The editor `{name}` ended with {status}: the text is as it was."
            ));
        }
        read(&self.file).map_err(|why| {
            self.file.disable_cleanup(true);
            format!(
                "What the editor wrote cannot be taken: {why}. It is in {}.",
                self.file.display()
            )
        })
    }
}

/// An editor that still runs is asked to end: nobody takes its text any more.
impl Drop for Editor {
    fn drop(&mut self) {
        if let Some(pid) = self.pid {
            kill_process(pid, Signal::TERM).ok();
        }
    }
}

/// A file with the text, for its owner alone. It ends with a newline, as editors want it.
fn write(text: &str) -> io::Result<TempPath> {
    let mut file = Builder::new().prefix("speck-").suffix(".md").tempfile()?;
    file.write_all(text.as_bytes())?;
    if !text.is_empty() {
        file.write_all(b"\n")?;
    }
    Ok(file.into_temp_path())
}

/// The text, without the newline at its end.
fn read(path: &Path) -> Result<String, String> {
    let bytes = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if bytes > MOST_BYTES as u64 {
        return Err(format!("a message holds {} MB", MOST_BYTES >> 20));
    }
    let text = files::read_text(path).map_err(|error| format!("{error:#}"))?;
    let text = text.replace("\r\n", "\n");
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}

/// Waits on a thread: the loop must go on meanwhile.
fn wait(mut child: Child) -> oneshot::Receiver<io::Result<ExitStatus>> {
    let (sender, receiver) = oneshot::channel();
    thread::spawn(move || sender.send(child.wait()));
    receiver
}

/// The editor's command in words, at least one.
fn words(
    variable: impl Fn(&str) -> Option<OsString>,
    is_program: impl Fn(&str) -> bool,
) -> Result<Vec<String>, String> {
    for name in ["VISUAL", "EDITOR"] {
        let Some(value) = variable(name) else {
            continue;
        };
        let value = value.to_string_lossy();
        let words = shell_words::split(&value)
            .map_err(|error| format!("Cannot read {name}, `{value}`: {error}."))?;
        if !words.is_empty() {
            return Ok(words);
        }
    }
    if is_program("vi") {
        return Ok(vec!["vi".into()]);
    }
    Err("There is no editor: set EDITOR to one, such as `nano` or `code -w`.".into())
}

/// Whether a program of this name is on the search path.
fn is_program(name: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[track_caller]
    fn check(variables: &[(&str, &str)], vi: bool, expect: Result<&[&str], &str>) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.into())
        };
        match (words(variable, |_| vi), expect) {
            (Ok(words), Ok(expect)) => assert_eq!(words, expect),
            (Err(error), Err(expect)) => assert!(error.contains(expect), "{error}"),
            (result, expect) => panic!("{result:?}, not {expect:?}"),
        }
    }

    #[test]
    fn the_editor_is_what_the_user_says() {
        check(
            &[("VISUAL", "code -w"), ("EDITOR", "ed")],
            true,
            Ok(&["code", "-w"]),
        );
        check(&[("VISUAL", " "), ("EDITOR", "nano")], true, Ok(&["nano"]));
        check(
            &[("EDITOR", "'/Applications/My Editor/bin' --wait")],
            false,
            Ok(&["/Applications/My Editor/bin", "--wait"]),
        );
        check(&[], true, Ok(&["vi"]));
        check(&[], false, Err("set EDITOR"));
        check(&[("EDITOR", "code '-w")], true, Err("Cannot read EDITOR"));
    }

    #[test]
    fn the_file_is_private_and_its_text_comes_back() {
        for text in ["", "one", "one\n\n", "日本語\nzwei"] {
            let file = write(text).unwrap();
            let mode = fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            assert_eq!(read(&file).unwrap(), text);
        }
    }

    #[test]
    fn what_cannot_be_taken_is_told() {
        let file = write("").unwrap();
        fs::write(&file, [0xff]).unwrap();
        assert!(read(&file).unwrap_err().contains("UTF-8"));
        fs::write(&file, vec![b'a'; MOST_BYTES + 1]).unwrap();
        assert!(read(&file).unwrap_err().contains("holds 4 MB"));
    }
}
