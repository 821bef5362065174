//! Signals, as events of the screen's loop; and stopping to come back (Ctrl-Z).
//!
//! A suspension is one path: the key sends SIGTSTP to the whole job, the loop receives it, gives the
//! terminal back and stops; SIGCONT takes the terminal again.

use std::fs;
use std::future::poll_fn;
use std::io::{self, IsTerminal};
use std::task::Poll;
use std::thread;

use rustix::process::{
    Signal as Raw, getpgrp, getpid, getsid, kill_current_process_group, kill_process,
};
use tokio::select;
use tokio::signal::unix::{self, SignalKind};

use crate::cancel::Cancel;

use super::exit::Exit;

/// Makes a write beyond the limit of a file's size an error, which is told, instead of the end of the process.
/// To be called in a runtime.
pub fn outlive_file_size_limit() -> io::Result<()> {
    unix::signal(SignalKind::from_raw(Raw::XFSZ.as_raw())).map(drop)
}

/// A signal that the screen acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT from outside: raw mode makes Ctrl-C a key.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGQUIT from outside, as for Ctrl-C.
    Quit,
    /// SIGHUP: the terminal is gone.
    HangUp,
    /// SIGTSTP.
    Stop,
    /// SIGCONT.
    Continue,
    /// SIGWINCH.
    Resize,
    /// One that would end the program without restoring the terminal, by its number.
    Other(u8),
}

/// Signals with no meaning here that end a program which does not listen to them.
const DEADLY: &[Raw] = &[
    Raw::USR1,
    Raw::USR2,
    Raw::ALARM,
    Raw::VTALARM,
    Raw::PROF,
    Raw::XCPU,
    #[cfg(target_os = "linux")]
    Raw::IO,
    #[cfg(target_os = "linux")]
    Raw::POWER,
    #[cfg(target_os = "linux")]
    Raw::STKFLT,
];

/// Listens for all of them.
pub struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    quit: unix::Signal,
    hang_up: unix::Signal,
    stop: unix::Signal,
    resume: unix::Signal,
    resize: unix::Signal,
    others: Vec<(u8, unix::Signal)>,
}

impl Signals {
    /// Starts listening; from now on none of them ends or stops the process by itself.
    pub fn listen() -> io::Result<Self> {
        outlive_file_size_limit()?;
        let on = |signal: Raw| unix::signal(SignalKind::from_raw(signal.as_raw()));
        Ok(Self {
            interrupt: on(Raw::INT)?,
            terminate: on(Raw::TERM)?,
            quit: on(Raw::QUIT)?,
            hang_up: on(Raw::HUP)?,
            stop: on(Raw::TSTP)?,
            resume: on(Raw::CONT)?,
            resize: on(Raw::WINCH)?,
            others: DEADLY
                .iter()
                .map(|&signal| Ok((signal.as_raw() as u8, on(signal)?)))
                .collect::<io::Result<_>>()?,
        })
    }

    /// The next signal.
    pub async fn next(&mut self) -> Signal {
        select! {
            biased;
            _ = self.hang_up.recv() => Signal::HangUp,
            _ = self.terminate.recv() => Signal::Terminate,
            number = any(&mut self.others) => Signal::Other(number),
            _ = self.quit.recv() => Signal::Quit,
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.resume.recv() => Signal::Continue,
            _ = self.stop.recv() => Signal::Stop,
            _ = self.resize.recv() => Signal::Resize,
        }
    }
}

/// Requests to end from outside, for a chat without a screen.
pub struct Ending {
    terminate: unix::Signal,
    hang_up: Option<unix::Signal>,
}

impl Ending {
    /// Starts listening; a SIGHUP that is ignored stays so.
    pub fn listen() -> io::Result<Self> {
        let hang_up = !ignores_hang_up();
        Ok(Self {
            terminate: unix::signal(SignalKind::terminate())?,
            hang_up: hang_up
                .then(|| unix::signal(SignalKind::hangup()))
                .transpose()?,
        })
    }

    /// How the program is to end, once that is asked for.
    pub async fn next(&mut self) -> Exit {
        let hang_up = poll_fn(|context| match &mut self.hang_up {
            Some(signal) => signal.poll_recv(context),
            None => Poll::Pending,
        });
        select! {
            _ = hang_up => Exit::HungUp,
            _ = self.terminate.recv() => Exit::Terminated,
        }
    }
}

/// Whether the program was started to outlive its terminal, as by `nohup`.
fn ignores_hang_up() -> bool {
    match fs::read_to_string("/proc/self/status") {
        Ok(status) => {
            let mask = status
                .lines()
                .find_map(|line| line.strip_prefix("SigIgn:"))
                .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
            mask.is_some_and(|mask| mask >> (Raw::HUP.as_raw() - 1) & 1 == 1)
        }
        // Not on a Mac, where there is no safe way to ask; `nohup` leaves no terminal to write to.
        Err(_) => !io::stdout().is_terminal() && !io::stderr().is_terminal(),
    }
}

/// The number of the next of these signals.
async fn any(signals: &mut [(u8, unix::Signal)]) -> u8 {
    poll_fn(|context| {
        let came = signals.iter_mut().find_map(|(number, signal)| {
            let came = signal.poll_recv(context).is_ready();
            came.then_some(*number)
        });
        came.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

/// A request to stop that Ctrl-C makes, for work without a loop of its own. A second Ctrl-C does not
/// wait for the work to notice.
pub fn cancel_on_interrupt() -> io::Result<Cancel> {
    let cancel = Cancel::new();
    let shared = cancel.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut interrupt = runtime.block_on(async { unix::signal(SignalKind::interrupt()) })?;
    thread::spawn(move || {
        runtime.block_on(async {
            while interrupt.recv().await.is_some() {
                if shared.is_cancelled() {
                    std::process::exit(Exit::Interrupted.code().into());
                }
                shared.cancel();
            }
        });
    });
    Ok(cancel)
}

/// Whether a shell with job control is there to continue a stopped job. A process whose group leads
/// the session (`ssh -t host speck chat`) would stop for ever.
pub fn can_stop() -> bool {
    getsid(None).is_ok_and(|session| session != getpgrp())
}

/// Asks the whole job to stop, as Ctrl-Z does outside raw mode: a program that waits for speck (such
/// as `cargo run`) has to stop too, or the shell would not get the terminal.
pub fn ask_job_to_stop() -> io::Result<()> {
    Ok(kill_current_process_group(Raw::TSTP)?)
}

/// Stops this process until SIGCONT.
pub fn stop() -> io::Result<()> {
    Ok(kill_process(getpid(), Raw::STOP)?)
}
