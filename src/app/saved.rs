//! Saved chats on the screen: the list to pick one from, opening one, and what is told of saving.

use std::borrow::Cow;

use crate::app::block::{Answer, AnswerState, Block, Kind, Summary};
use crate::app::conversation::Conversation;
use crate::app::filtered::{Asked, Filtered, Searched};
use crate::app::keymap::Action;
use crate::app::notice::whole_sentence;
use crate::app::{App, Effect, pasted};
use crate::clean::clean;
use crate::engine::protocol::FinishReason;
use crate::session::export::{self, Part, one_line, said, you};
use crate::session::record::{Reason, Turn};
use crate::session::{Entry, Id, News, Note, Opened, Request, Unanswered};

/// The list of saved chats, open over the conversation.
#[derive(Debug, Default)]
pub struct SavedChats {
    list: Filtered<Item>,
    /// Whether one has been picked and is being opened.
    opening: bool,
}

/// What the saver was asked: all but lists, which have answers of their own.
#[derive(Debug)]
pub(super) enum SaverAsked {
    /// To open a chat, by this command if it was typed.
    Open(Option<String>),
    /// To save or export, by this command.
    Write(String),
}

/// A saved chat in the list. All its texts are clean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its id.
    pub id: Id,
    /// When it was used last.
    pub when: String,
    /// The same in few columns.
    pub brief: String,
    /// Its name or first words; or why it cannot be read.
    pub title: String,
    /// Messages with their answers; `None` where it cannot be read.
    pub turns: Option<usize>,
    /// The model that answered last.
    pub model: String,
}

impl From<Entry> for Item {
    fn from(entry: Entry) -> Self {
        let (title, turns, model) = match &entry.summary {
            Ok(summary) => (summary.title(), Some(summary.turns), summary.model.as_str()),
            Err(why) => (why.as_str(), None, ""),
        };
        Self {
            title: clean(&one_line(title)).into_owned(),
            turns,
            model: clean(&one_line(model)).into_owned(),
            when: entry.when,
            brief: entry.brief,
            id: entry.id,
        }
    }
}

impl Searched for Item {
    fn text(&self) -> String {
        format!("{} {} {}", self.id, self.title, self.model)
    }
}

impl SavedChats {
    /// The chats, once they are read.
    pub fn list(&self) -> &Filtered<Item> {
        &self.list
    }

    /// Whether one is being opened.
    pub fn is_opening(&self) -> bool {
        self.opening
    }

    /// Takes a paste into the filter.
    pub(super) fn paste(&mut self, text: &str) {
        self.list.paste(text);
    }
}

impl App {
    /// `/resume`: with an id at once, else by a list.
    pub(super) fn resume(&mut self, id: Option<String>) -> Result<Vec<Effect>, String> {
        if self.is_dead() {
            return Err("the engine has ended: q quits, then speck chat --resume".to_owned());
        }
        self.open(SavedChats {
            opening: id.is_some(),
            ..SavedChats::default()
        });
        let request = id.map_or(Request::List, |id| {
            let typed = Some(format!("/resume {id}"));
            self.saver_asked.push_back(SaverAsked::Open(typed));
            Request::Open(id)
        });
        Ok(vec![Effect::Session(request)])
    }

    /// `/save`
    pub(super) fn save(&mut self, name: Option<String>) -> Vec<Effect> {
        self.ask_to_write("/save", name.as_deref());
        vec![Effect::Session(Request::Save(name))]
    }

    /// Keeps a command until its answer, which may be that it cannot be done.
    fn ask_to_write(&mut self, command: &str, argument: Option<&str>) {
        let words = [Some(command), argument].into_iter().flatten();
        let typed = words.collect::<Vec<_>>().join(" ");
        self.saver_asked.push_back(SaverAsked::Write(typed));
    }

    /// `/export`
    pub(super) fn export(&mut self, file: Option<String>) -> Result<Vec<Effect>, String> {
        let blocks = self.transcript.blocks();
        let first = blocks.iter().find(|block| block.kind == Kind::User);
        let first = first.ok_or("nothing was said yet")?;
        let title = one_line(first.text());
        let said = said(parts(blocks, &self.conversation));
        self.ask_to_write("/export", file.as_deref());
        Ok(vec![Effect::Session(Request::Export { file, title, said })])
    }

    /// Takes what is typed while the list is open. `None`: it is not, or closes and the key acts.
    pub(super) fn act_in_saved(&mut self, action: Action) -> Option<Vec<Effect>> {
        let page = self.page();
        let saved = self.overlay.saved_mut()?;
        if saved.opening {
            // What is typed goes into the input.
            let goes_on = matches!(
                action,
                Action::Interrupt | Action::EndOfInput | Action::Edit(_)
            );
            return (!goes_on).then(Vec::new);
        }
        match saved.list.act(action, page) {
            Asked::Nothing => {}
            Asked::Take => {
                if let Some(item) = saved.list.choice() {
                    let id = item.id.to_string();
                    saved.opening = true;
                    self.saver_asked.push_back(SaverAsked::Open(None));
                    return Some(vec![Effect::Session(Request::Open(id))]);
                }
            }
            Asked::Close => self.close(),
            Asked::Elsewhere => return None,
        }
        Some(Vec::new())
    }

    fn close_opening(&mut self) {
        if self.saved().is_some_and(SavedChats::is_opening) {
            self.close();
        }
    }

    fn close_saved(&mut self) {
        if self.saved().is_some() {
            self.close();
        }
    }

    /// The word of the one who saves.
    pub(super) fn hear_of_saving(&mut self, note: Note) -> Vec<Effect> {
        match note {
            Note::Listed(Ok(entries)) => {
                if let Some(saved) = self.overlay.saved_mut() {
                    let items = entries.into_iter().map(Item::from).collect();
                    saved.list.fill(items, 0);
                }
            }
            Note::Listed(Err(why)) => {
                self.close_saved();
                self.tell(Kind::Error, &why);
            }
            Note::Refused(why) => {
                let command = match self.saver_asked.pop_front() {
                    Some(SaverAsked::Open(typed)) => {
                        self.close_opening();
                        typed
                    }
                    Some(SaverAsked::Write(typed)) => Some(typed),
                    None => None,
                };
                match command {
                    Some(command) => self.refuse_command(&command, &why),
                    None => self.tell(Kind::Error, &why),
                }
            }
            Note::Opened(opened) => {
                self.saver_asked.pop_front();
                return self.opened(*opened);
            }
            Note::Done(told) => {
                self.saver_asked.pop_front();
                self.tell(Kind::Notice, &whole_sentence(&told));
            }
            Note::News(news) => {
                let kind = match news {
                    News::Trouble(_) | News::SavesAgain { lost: true } => Kind::Error,
                    News::SavesAgain { lost: false } | News::WrittenAnew(_) => Kind::Notice,
                };
                self.tell(kind, &news.to_string());
            }
        }
        Vec::new()
    }

    /// Shows a chat that was opened, and has the engine go on with it.
    fn opened(&mut self, opened: Opened) -> Vec<Effect> {
        let restore = opened.restore();
        let Opened {
            id,
            conversation,
            repaired,
        } = opened;
        self.close_saved();
        // An answer that was asked for meanwhile belongs to the chat before.
        if let Some(asked) = self.asked.take() {
            asked.cancel.cancel();
        }
        self.clear_conversation();
        for turn in &conversation.turns {
            let typed = pasted::typed(&turn.user, &turn.pasted);
            let question = self.transcript.push_unrendered(Kind::User, &typed.shown());
            self.transcript.push_unrendered(answer(turn), &turn.answer);
            self.conversation.put(question, typed, &turn.answer);
        }
        self.dropped(conversation.dropped);
        if let Some(repaired) = repaired {
            self.tell(Kind::Notice, &repaired);
        }
        self.was_with = conversation.turns.last().map(|turn| turn.model.clone());
        self.tell_other_model();
        if let Some(Unanswered { text, pasted }) = &conversation.unanswered
            && self.input.is_empty()
        {
            self.input.put_back(pasted::typed(text, pasted));
            self.tell(
                Kind::Notice,
                "The last message was not answered: it is below again, for Enter to send.",
            );
        }
        self.scroll.to_end();
        self.say(format!("{id} goes on"));
        let system = self.go_on_with_system(conversation.settings.system);
        vec![system, Effect::Engine(restore)]
    }

    /// Says that the opened chat was with another model than the one that is loaded.
    pub(super) fn tell_other_model(&mut self) {
        let Some(ready) = &self.ready else { return };
        let Some(was) = self.was_with.take() else {
            return;
        };
        let was = clean(&was);
        if was != ready.target {
            let told = format!(
                "This chat was with {was}; it goes on with {}.",
                ready.target
            );
            self.tell(Kind::Notice, &told);
        }
    }
}

/// A saved answer, as the transcript shows one.
fn answer(turn: &Turn) -> Kind {
    Kind::Assistant(Answer {
        model: Some(clean(&one_line(&turn.model)).into_owned()),
        state: AnswerState::Ended(Summary {
            reason: FinishReason::from(turn.reason),
            strategies: Vec::new(),
            tokens: turn.stats.answer_tokens,
            tokens_per_pass: turn.stats.tokens_per_pass,
            tokens_per_second: turn.stats.tokens_per_second,
            speed_up: turn.stats.speed_up,
            prefill_time: std::time::Duration::from_micros(turn.stats.prefill_us),
            drafters: None,
        }),
    })
}

/// Whether the message before is no part of the conversation: it failed, or was stopped before a word was written.
fn is_unanswered(state: &AnswerState, text: &str) -> bool {
    match state {
        AnswerState::Failed => true,
        AnswerState::Ended(summary) => summary.tokens == 0 && text.is_empty(),
        AnswerState::Waiting
        | AnswerState::Sent
        | AnswerState::Prefill { .. }
        | AnswerState::Writing
        | AnswerState::Stopping => false,
    }
}

/// What was said, in parts of a document; without messages that could not be answered.
fn parts<'a>(blocks: &'a [Block], asked: &'a Conversation) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    for (i, block) in blocks.iter().enumerate() {
        match &block.kind {
            // The block may show less of a long paste.
            Kind::User => {
                let text = asked.question(i).map_or(block.text().into(), Cow::from);
                parts.push(you(text, None));
            }
            Kind::Assistant(Answer { state, .. }) if is_unanswered(state, block.text()) => {
                parts.pop();
            }
            Kind::Assistant(answer) => parts.push(Part {
                who: answer.model.as_deref().unwrap_or("Model"),
                text: block.text().into(),
                remark: match &answer.state {
                    AnswerState::Ended(summary) => export::remark(Reason::from(summary.reason)),
                    AnswerState::Failed
                    | AnswerState::Waiting
                    | AnswerState::Sent
                    | AnswerState::Prefill { .. }
                    | AnswerState::Writing
                    | AnswerState::Stopping => Some("not finished"),
                },
            }),
            Kind::Notice | Kind::Error => {}
        }
    }
    parts
}
