//! Any text as a chat template: it renders or says why not, in bounded time and memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use speck::model::chat_template::{ChatTemplate, Message, Role};

fuzz_target!(|source: &str| {
    let Ok(template) = ChatTemplate::new(source, Some("<s>"), None) else {
        return;
    };
    let message = |role, content: &str| Message {
        role,
        content: content.to_owned(),
    };
    let messages = [
        message(Role::System, "Be brief."),
        message(Role::User, " hi {{ x }}"),
        message(Role::Assistant, ""),
    ];
    let _ = template.render(&messages);
});
