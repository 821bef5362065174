//! Saved chats as a table, for where there is no screen.

use unicode_width::UnicodeWidthStr;

use super::Entry;
use super::export::one_line;

/// What is said of no saved chats.
pub const NONE: &str = "There are no saved chats yet. `speck chat` saves what is said in it.";

/// A line for each chat: id, time, turns, model, name or first words. Raw: clean it.
pub fn table(entries: &[Entry]) -> String {
    if entries.is_empty() {
        return format!("{NONE}\n");
    }
    let rows: Vec<[String; 5]> = entries.iter().map(row).collect();
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].width());
        widths.max().unwrap_or(0)
    };
    let (id, turns, model) = (width(0), width(2), width(3));
    let lines = rows.iter().map(|[name, when, count, by, title]| {
        let gap = " ".repeat(model - by.width());
        format!("{name:<id$}  {when}  {count:>turns$}  {by}{gap}  {title}\n")
    });
    lines.collect::<Vec<_>>().concat()
}

fn row(entry: &Entry) -> [String; 5] {
    let (turns, model, title) = match &entry.summary {
        Ok(summary) => (
            match summary.turns {
                1 => "1 turn ".to_owned(),
                n => format!("{n} turns"),
            },
            one_line(&summary.model),
            match &summary.damaged {
                Some(damaged) => format!("{} ({damaged})", one_line(summary.title())),
                None => one_line(summary.title()),
            },
        ),
        Err(why) => (String::new(), "unreadable".to_owned(), one_line(why)),
    };
    [
        entry.id.to_string(),
        entry.when.clone(),
        turns,
        model,
        title,
    ]
}
