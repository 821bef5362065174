//! Keeps a Mac awake while an answer is written, with the system's own `caffeinate`.
//!
//! It is started when work begins and ended when it ends; told this process's number, it also ends with it.
//! **Nothing depends on it**: that it cannot be started is written to standard error, once.

use std::ffi::OsString;
use std::process::{Child, Command, Stdio};

/// Keeps the machine awake, where it knows how to.
pub(super) struct Awake {
    program: Option<OsString>,
    child: Option<Child>,
}

impl Awake {
    /// With the system's program, if this is a Mac.
    pub fn new() -> Self {
        let program = cfg!(target_os = "macos").then(|| "/usr/bin/caffeinate".into());
        Self::with(program)
    }

    fn with(program: Option<OsString>) -> Self {
        Self {
            program,
            child: None,
        }
    }

    /// Keeps awake from now on, or no longer.
    pub fn set(&mut self, working: bool) {
        match (working, &self.child) {
            (true, None) => self.begin(),
            (false, Some(_)) => self.end(),
            (true, Some(_)) | (false, None) => {}
        }
    }

    fn begin(&mut self) {
        let Some(program) = &self.program else { return };
        let started = Command::new(program)
            .args(["-i", "-w", &std::process::id().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match started {
            Ok(child) => self.child = Some(child),
            Err(why) => {
                // The screen has standard error diverted to its log.
                eprintln!("cannot keep awake with {}: {why}", program.display());
                self.program = None;
            }
        }
    }

    fn end(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            child.kill().ok();
            child.wait().ok();
        }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Whether a process of this number is there, dead or alive.
    fn exists(id: u32) -> bool {
        let id = rustix::process::Pid::from_raw(id.cast_signed()).unwrap();
        rustix::process::test_kill_process(id).is_ok()
    }

    #[test]
    fn the_program_runs_while_there_is_work() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("caffeinate");
        let told = folder.path().join("told");
        let script = format!(
            "#!/bin/sh\necho \"$@\" >>{}\nexec sleep 600\n",
            told.display()
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let mut awake = Awake::with(Some(program.into()));
        awake.set(false);
        assert!(awake.child.is_none());
        for _ in 0..2 {
            awake.set(true);
            let id = awake.child.as_ref().unwrap().id();
            awake.set(true);
            assert_eq!(awake.child.as_ref().unwrap().id(), id);
            let expect = format!("-i -w {}\n", std::process::id());
            while !fs::read_to_string(&told).is_ok_and(|told| told.ends_with(&expect)) {
                std::thread::yield_now();
            }
            fs::remove_file(&told).unwrap();
            awake.set(false);
            assert!(!exists(id));
        }
        awake.set(true);
        let id = awake.child.as_ref().unwrap().id();
        drop(awake);
        assert!(!exists(id));
    }

    #[test]
    fn without_a_program_nothing_happens() {
        for program in [None, Some("/no/such/program".into())] {
            let mut awake = Awake::with(program);
            awake.set(true);
            awake.set(true);
            assert!(awake.child.is_none() && awake.program.is_none());
            awake.set(false);
        }
    }
}
