//! Bytes of changed cells.

use ratatui::style::{Color, Style};

use super::*;

fn check(cells: &[(u16, u16, &str, Style)], expect: &str) {
    let cells: Vec<_> = cells
        .iter()
        .map(|(x, y, symbol, style)| {
            let mut cell = Cell::EMPTY;
            cell.set_symbol(symbol).set_style(*style);
            (*x, *y, cell)
        })
        .collect();
    let mut out = Vec::new();
    let cells = cells.iter().map(|(x, y, cell)| (*x, *y, cell));
    Cells::default().write(cells, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), expect);
}

#[test]
fn what_stands_between_is_written_again_where_that_is_shorter() {
    let mut cells = Cells::default();
    let mut write = |forget: bool, text: &[(u16, &str, Style)]| {
        if forget {
            cells.forget();
        }
        let made: Vec<_> = text
            .iter()
            .map(|(x, symbol, style)| {
                let mut cell = Cell::EMPTY;
                cell.set_symbol(symbol).set_style(*style);
                (*x, cell)
            })
            .collect();
        let mut out = Vec::new();
        let content = made.iter().map(|(x, cell)| (*x, 0, cell));
        cells.write(content, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let plain = Style::new();
    let line = [(0, "a", plain), (1, "b", plain), (2, "c", plain)];
    assert_eq!(write(false, &line), "\x1b[1;1Habc");
    let ends = [(0, "x", plain), (2, "z", plain)];
    assert_eq!(write(false, &ends), "\x1b[1;1Hxbz");
    let red = plain.fg(Color::Red);
    let ends = [(0, "x", red), (2, "z", red)];
    assert_eq!(write(false, &ends), "\x1b[1;1H\x1b[31mx\x1b[Cz\x1b[m");
    assert_eq!(write(false, &[(0, "日", plain)]), "\x1b[1;1H日");
    let ends = [(0, "x", plain), (2, "z", plain)];
    assert_eq!(write(false, &ends), "\x1b[1;1Hx z");
    assert_eq!(write(true, &[(1, "b", plain)]), "\x1b[1;2Hb");
    assert_eq!(write(true, &ends), "\x1b[1;1Hx\x1b[Cz");
}

#[test]
fn no_half_of_a_wide_character_is_left() {
    let check = |frames: &[&[(u16, &str)]], expect: &str| {
        let mut cells = Cells::default();
        cells.clear();
        let mut out = Vec::new();
        for content in frames {
            let content: Vec<_> = content
                .iter()
                .map(|(x, symbol)| {
                    let mut cell = Cell::EMPTY;
                    cell.set_symbol(symbol);
                    (*x, cell)
                })
                .collect();
            out.clear();
            let content = content.iter().map(|(x, cell)| (*x, 0, cell));
            cells.write(content, &mut out).unwrap();
        }
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    };
    let check_one = |before, after: &[(u16, &str)], expect| check(&[&[(1, before)], after], expect);
    check_one("日", &[(1, "a")], "\x1b[1;2Ha ");
    check_one("日", &[(1, "a"), (2, "b")], "\x1b[1;2Hab");
    check_one("日", &[(1, "本")], "\x1b[1;2H本");
    check_one("日", &[(0, "本")], "\x1b[1;1H本 ");
    check_one("日", &[(0, " "), (1, " ")], "\x1b[1;1H   ");
    check_one("日", &[(0, "a")], "\x1b[1;1Ha");
    check_one("🇩🇪", &[(1, "é")], "\x1b[1;2Hé ");
    check_one("❤️", &[(1, "👍🏽")], "\x1b[1;2H  \x1b[1;2H👍🏽");
    check_one("…", &[(1, "a")], "\x1b[1;2Ha");
    let shifted = [(0, "⚠️"), (1, " ")];
    let blanked = "\x1b[1;1H  \x1b[1;1H⚠️\x1b[1;3H ";
    check_one("⚠️", &shifted, blanked);
    check_one("日", &shifted, blanked);
    // Four columns for ratatui.
    check_one("あﾞ", &[(1, "日")], "\x1b[1;2H日  ");
    check_one("あﾞ", &[(1, "a"), (2, "b")], "\x1b[1;2Hab  ");
    let unsure_before: [&[(u16, &str)]; 3] = [&[(1, "日")], &[(0, "·")], &[(1, "a")]];
    check(&unsure_before, "\x1b[1;2Ha ");
}

#[test]
fn what_a_clear_has_left_is_known_to_be_blank() {
    let plain = Style::new();
    let text = |columns: &[u16]| -> Vec<(u16, Cell)> {
        let mut cell = Cell::EMPTY;
        cell.set_symbol("x").set_style(plain);
        columns.iter().map(|x| (*x, cell.clone())).collect()
    };
    let blanks = |columns: &[u16]| -> Vec<(u16, Cell)> {
        columns.iter().map(|x| (*x, Cell::EMPTY)).collect()
    };
    let mut cells = Cells::default();
    let mut check = |content: &[(u16, Cell)], expect: &str| {
        let mut out = Vec::new();
        let content = content.iter().map(|(x, cell)| (*x, 0, cell));
        cells.write(content, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expect);
        cells.clear();
    };
    check(&text(&[0, 2]), "\x1b[1;1Hx\x1b[Cx");
    check(&text(&[0, 2]), "\x1b[1;1Hx x");
    check(&blanks(&[3, 9, 13, 15]), "\x1b[1;4H\x1b[13X");
    check(&blanks(&[3, 9, 13]), "\x1b[1;4H\x1b[11X");
    check(&blanks(&[3, 9, 12]), "\x1b[1;4H \x1b[5C    ");
}

#[test]
fn moves_are_short() {
    let plain = Style::new();
    check(&[], "");
    check(&[(0, 0, "a", plain), (1, 0, "b", plain)], "\x1b[1;1Hab");
    check(
        &[(4, 1, "a", plain), (6, 1, "b", plain)],
        "\x1b[2;5Ha\x1b[Cb",
    );
    check(
        &[(4, 1, "a", plain), (9, 1, "b", plain)],
        "\x1b[2;5Ha\x1b[4Cb",
    );
    check(
        &[(4, 1, "a", plain), (5, 2, "b", plain)],
        "\x1b[2;5Ha\x1b[3;6Hb",
    );
}

#[test]
fn what_follows_an_unsure_width_is_placed_absolutely() {
    let plain = Style::new();
    check(&[(0, 0, "日", plain), (2, 0, "b", plain)], "\x1b[1;1H日b");
    check(
        &[(0, 0, "👍🏽", plain), (2, 0, "b", plain)],
        "\x1b[1;1H  \x1b[1;1H👍🏽\x1b[1;3Hb",
    );
    check(
        &[(0, 0, "e\u{301}", plain), (1, 0, "b", plain)],
        "\x1b[1;1He\u{301}\x1b[1;2Hb",
    );
    check(
        &[(0, 0, "⚠️", plain), (1, 0, " ", plain), (2, 0, "b", plain)],
        "\x1b[1;1H  \x1b[1;1H⚠️\x1b[1;3Hb",
    );
    check(
        &[(0, 0, "⚠️", plain), (2, 0, "b", plain)],
        "\x1b[1;1H  \x1b[1;1H⚠️\x1b[1;3Hb",
    );
}

#[test]
fn colours_change_only_where_they_show() {
    let red = Style::new().fg(Color::Red);
    let bold = Style::new().fg(Color::Red).bold();
    let plain = Style::new();
    check(
        &[(0, 0, "a", red), (1, 0, " ", plain), (2, 0, "b", red)],
        "\x1b[1;1H\x1b[31ma b\x1b[m",
    );
    check(
        &[(0, 0, "a", bold), (1, 0, "b", red), (2, 0, "c", plain)],
        "\x1b[1;1H\x1b[1;38;5;1ma\x1b[22mb\x1b[mc",
    );
    check(
        &[
            (0, 0, "a", red),
            (1, 0, "b", bold),
            (2, 0, "c", plain.bold()),
        ],
        "\x1b[1;1H\x1b[31ma\x1b[1;38;5;1mb\x1b[39mc\x1b[m",
    );
    let filled = Style::new().bg(Color::Rgb(1, 2, 3));
    check(&[(0, 0, " ", filled)], "\x1b[1;1H\x1b[48;2;1;2;3m \x1b[m");
    let underlined = Style::new().underlined();
    check(&[(0, 0, " ", underlined)], "\x1b[1;1H\x1b[4m \x1b[m");
}

#[test]
fn long_blanks_are_erased() {
    let plain = Style::new();
    let blanks: Vec<_> = (0..20).map(|x| (x, 0, " ", plain)).collect();
    check(&blanks, "\x1b[1;1H\x1b[20X");
    check(&blanks[..5], "\x1b[1;1H     ");
    let mut then = blanks.clone();
    then.insert(0, (0, 0, "a", plain.reversed()));
    then.remove(1);
    then.push((20, 0, "b", plain));
    check(&then, "\x1b[1;1H\x1b[7ma\x1b[m\x1b[19X\x1b[19Cb");
    let filled: Vec<_> = (0..12)
        .map(|x| (x, 0, " ", plain.bg(Color::Blue)))
        .collect();
    check(&filled, "\x1b[1;1H\x1b[44m            \x1b[m");
}
