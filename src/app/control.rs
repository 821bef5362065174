//! Commands that change the conversation or how answers come about: `/retry`, `/edit`, `/drop`, `/system`,
//! `/set`.
//!
//! **What is taken back leaves the transcript and the engine at once**, and only while no answer is being
//! written, so that both always hold the same.

use crate::app::block::Kind;
use crate::app::typed::Typed;
use crate::app::{App, Effect};
use crate::config::options::Options;
use crate::config::sampling::Seed;
use crate::engine::protocol::{Command, SamplingInfo};

/// What helps once the engine has ended.
pub(super) const ENDED: &str = "the engine has ended: /reload starts it again, q quits";

/// Options that were asked for and not yet confirmed.
#[derive(Debug)]
pub(super) struct WantedOptions {
    options: Options,
    /// Confirmations that are still to come.
    due: usize,
}

/// The system prompt of a chat that goes on, where no engine has confirmed it.
#[derive(Debug)]
pub(super) struct ChatSystem(pub Option<String>);

impl App {
    /// Why `command` must wait, where it must.
    pub(super) fn must_wait(&self, command: &str) -> Result<(), String> {
        match &self.asked {
            _ if self.is_dead() => Err(ENDED.to_owned()),
            Some(asked) if asked.cancel.is_cancelled() => {
                Err(format!("the answer is being stopped: then {command} works"))
            }
            Some(_) => Err(format!(
                "an answer is being written: Ctrl-C stops it, then {command} works"
            )),
            None => Ok(()),
        }
    }

    /// Answers the last message again.
    pub(super) fn retry(&mut self) -> Result<Vec<Effect>, String> {
        let (question, answered, mut effects) = self.take_back(1)?;
        if answered {
            effects.extend(self.another_seed());
        }
        effects.extend(self.ask(question));
        Ok(effects)
    }

    /// Puts a message back into the input: the last, or which one from the end is typed.
    pub(super) fn edit_numbered(&mut self, typed: &str) -> Result<Vec<Effect>, String> {
        let n = if typed.is_empty() { "1" } else { typed };
        match n.parse() {
            Ok(n) if n > 0 => self.edit_message(n),
            Ok(_) | Err(_) => Err(format!(
                "/edit takes a number (1, or nothing, is the last message), not `{typed}`"
            )),
        }
    }

    /// Puts message `n` from the end back into the input.
    fn edit_message(&mut self, n: usize) -> Result<Vec<Effect>, String> {
        let (question, _, effects) = self.take_back(n)?;
        if self.conversation.is_empty() {
            self.clear_numbers();
        }
        self.input.put_back(question);
        self.say(match n {
            1 => "the message is taken back: Enter sends it anew".to_owned(),
            n => format!("{n} messages are taken back: Enter sends this one anew"),
        });
        Ok(effects)
    }

    /// Sends the last message again, with room made for it.
    pub(super) fn drop_oldest(&mut self) -> Result<Vec<Effect>, String> {
        if !self.conversation.last_is_unanswered() {
            return Err(
                "/drop sends a message again that did not fit; the last one did".to_owned(),
            );
        }
        let (question, _, mut effects) = self.take_back(1)?;
        let text = question.whole();
        effects.push(Effect::Engine(Command::MakeRoom { text }));
        effects.extend(self.ask(question));
        Ok(effects)
    }

    /// The model no longer reads so many of the oldest turns.
    pub(super) fn dropped(&mut self, turns: usize) {
        self.conversation.drop_oldest(turns);
        self.mark_dropped();
    }

    /// Takes message `n` from the end and all after it out of the transcript and the engine: what was
    /// typed, whether it was answered, and what to do.
    fn take_back(&mut self, n: usize) -> Result<(Typed, bool, Vec<Effect>), String> {
        let taken = self.conversation.take_back(n);
        let taken = taken.ok_or_else(|| match self.conversation.len() {
            0 => "there is no message yet".to_owned(),
            1 => "there is only one message".to_owned(),
            n => format!("there are only {n} messages"),
        })?;
        self.transcript.truncate(taken.block);
        self.mark_dropped();
        self.scroll.to_end();
        // What is left is counted with the next prompt.
        self.latest.context_used = None;
        self.refresh(true);
        let rewind = taken.rewind;
        let rewind = rewind.map(|(turns, all)| Command::Rewind { turns, all });
        let effects = rewind.map(Effect::Engine).into_iter().collect();
        Ok((taken.question, taken.answered, effects))
    }

    /// Puts the line that tells where the dropped part ends where it belongs.
    fn mark_dropped(&mut self) {
        let blocks = self.transcript.blocks().len();
        if let Some(old) = self.conversation.take_marker().filter(|old| *old < blocks) {
            self.transcript.remove(old);
            self.shift_blocks(old, -1);
        }
        let Some((turns, after)) = self.conversation.dropped() else {
            return;
        };
        let at = after.unwrap_or(self.transcript.blocks().len());
        let what = match turns {
            1 => "The turn above is".to_owned(),
            n => format!("The {n} turns above are"),
        };
        let text = format!("↑ {what} no longer part of the conversation: there was no room.");
        self.transcript.insert(at, Kind::Notice, &text);
        self.shift_blocks(at, 1);
        self.conversation.set_marker(at);
    }

    fn shift_blocks(&mut self, from: usize, by: isize) {
        self.conversation.shift(from, by);
        if let Some(asked) = &mut self.asked
            && asked.block >= from
        {
            asked.block = asked.block.saturating_add_signed(by);
        }
    }

    /// Another seed, where it has a say.
    fn another_seed(&mut self) -> Option<Effect> {
        let mut options = self.next_options()?;
        let Some(SamplingInfo { seed, .. }) = SamplingInfo::of(&options) else {
            self.say("greedy: the same text again, unless something changed since");
            return None;
        };
        let next = u32::try_from(seed).map_or(0, |seed| seed.wrapping_add(1));
        options.sampling.seed = Seed::Fixed(next);
        self.say(format!("with seed {next} instead of {seed}"));
        Some(self.want_options(options))
    }

    /// Shows the system prompt, or replaces it; `off` leaves it to the model's template.
    pub(super) fn system(&mut self, text: &str) -> Result<Vec<Effect>, String> {
        let mut options = self.known_options()?;
        if text.is_empty() {
            let said = match &options.system {
                Some(system) => format!("System prompt: {system}"),
                None => "No system prompt is set: the model's template may have its own. \
                         /system TEXT sets one."
                    .to_owned(),
            };
            self.tell(Kind::Notice, &said);
            return Ok(Vec::new());
        }
        options.system = (text != "off").then(|| text.to_owned());
        self.say(match &options.system {
            Some(_) => "the system prompt holds from the next message on",
            None => "no system prompt from the next message on",
        });
        Ok(vec![self.want_options(options)])
    }

    /// Lists the options, or sets one: `NAME VALUE`.
    pub(super) fn set(&mut self, change: &str) -> Result<Vec<Effect>, String> {
        let mut options = self.known_options()?;
        let mut words = change.split_whitespace();
        let (Some(name), value) = (words.next(), words.next().unwrap_or_default()) else {
            let lines: Vec<_> = options
                .list()
                .map(|(name, value)| format!("{name:<18}  {value}"))
                .collect();
            self.tell(Kind::Notice, &lines.join("\n"));
            return Ok(Vec::new());
        };
        if let Some(more) = words.next() {
            return Err(format!("/set takes one value, and no `{more}` behind it"));
        }
        options.set(name, value)?;
        self.say(format!("{name} {value} from the next message on"));
        Ok(vec![self.want_options(options)])
    }

    /// The options of the next message, or why they are not known.
    fn known_options(&self) -> Result<Options, String> {
        if self.is_dead() {
            return Err(ENDED.to_owned());
        }
        let options = self.next_options();
        options.ok_or_else(|| "this is known once the models are loaded".to_owned())
    }

    /// The options of the next message, once the models are loaded.
    pub(super) fn next_options(&self) -> Option<Options> {
        let wanted = self.wanted_options.as_ref().map(|wanted| &wanted.options);
        let options = wanted.or(self.ready.as_ref().map(|ready| &*ready.options));
        options.cloned()
    }

    pub(super) fn want_options(&mut self, options: Options) -> Effect {
        let before = self.wanted_options.take().map_or(0, |wanted| wanted.due);
        self.wanted_options = Some(WantedOptions {
            options: options.clone(),
            due: before + 1,
        });
        Effect::Engine(Command::Set(options))
    }

    /// The system prompt of a chat that goes on: like an option that is set, as soon as options are known.
    pub(super) fn go_on_with_system(&mut self, system: Option<String>) -> Effect {
        if let Some(options) = self.next_options() {
            return self.want_options(Options { system, ..options });
        }
        self.chat_system = Some(ChatSystem(system.clone()));
        Effect::Engine(Command::SetSystem(system))
    }

    /// The engine answers by `options` now.
    pub(super) fn options_set(&mut self, options: Options) {
        self.chat_system = None;
        if let Some(ready) = &mut self.ready {
            *ready.options = options;
        }
        if let Some(wanted) = &mut self.wanted_options {
            wanted.due -= 1;
            if wanted.due == 0 {
                self.wanted_options = None;
            }
        }
    }
}
