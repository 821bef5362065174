#!/usr/bin/env python3
"""Records docs/demo.cast: drives the real program in a pseudo-terminal, as a person would.

Usage: scripts/record-demo.py SPECK [ARGUMENTS OF speck chat ...] > docs/demo.cast

The result is an asciicast of version 2 (play it with `asciinema play docs/demo.cast`). Nothing is edited: times are
those of the recording, so record on an idle machine. The home folder is a new one, so that no setting, history or
session of yours is in it.
"""

import fcntl
import json
import os
import pty
import re
import select
import struct
import sys
import tempfile
import termios
import time
import unicodedata

COLUMNS, ROWS = 100, 30
DEADLINE = 120.0
KEY_PAUSE = 0.05
SHIFT_TAB, ESC, CTRL_D, ENTER = "\x1b[Z", "\x1b", "\x04", "\r"
SEQUENCE = re.compile(r"\x1b\[([?<>]?)([0-9;]*)([A-Za-z])")


class Screen:
    """As much of a terminal as speck's own output needs, to know what is shown."""

    def __init__(self):
        self.rest = ""
        self.x = self.y = 0
        self.clear()

    def clear(self):
        self.cells = [[" "] * COLUMNS for _ in range(ROWS)]

    def text(self):
        return "\n".join("".join(row) for row in self.cells)

    def feed(self, text):
        text, at = self.rest + text, 0
        while at < len(text):
            if text[at] != "\x1b":
                self.put(text[at])
                at += 1
            elif match := SEQUENCE.match(text, at):
                self.control(*match.groups())
                at = match.end()
            else:
                break
        self.rest = text[at:]

    def control(self, private, numbers, last):
        first, *more = [int(number or 0) for number in numbers.split(";")]
        if last == "H":
            self.y, self.x = max(first, 1) - 1, max((more or [1])[0], 1) - 1
        elif last == "C":
            self.x += max(first, 1)
        elif last == "X" and self.y < ROWS:
            end = min(self.x + max(first, 1), COLUMNS)
            self.cells[self.y][self.x : end] = [" "] * (end - self.x)
        elif last == "J" or (private and first == 1049):
            self.clear()

    def put(self, character):
        if character == "\n":
            self.y = min(self.y + 1, ROWS - 1)
        elif character == "\r":
            self.x = 0
        elif self.x < COLUMNS and self.y < ROWS:
            self.cells[self.y][self.x] = character
            self.x += 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Session:
    """The program, what it has written with the time of each piece, and what its screen shows."""

    def __init__(self, command, home):
        keep = ("PATH", "LANG", "SPECK_TEST_TARGET")
        environment = {name: os.environ[name] for name in keep if name in os.environ}
        environment |= {"HOME": home, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.execvpe(command[0], command, environment)
        self.started = time.monotonic()
        self.events, self.screen, self.cut = [], Screen(), b""

    def read(self, seconds):
        """Takes what is written within a time; False once the program has ended."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.fd], [], [], left)[0]:
                continue
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return False
            if not data:
                return False
            text, self.cut = whole_characters(self.cut + data)
            self.events.append((time.monotonic() - self.started, text))
            self.screen.feed(text)
        return True

    def wait(self, text, shown=True):
        """Waits until a text is on the screen, or no more."""
        end = time.monotonic() + DEADLINE
        while (text in self.screen.text()) != shown:
            if time.monotonic() > end or not self.read(0.02):
                sys.exit(f"waited for {text!r} in vain; the screen is:\n{self.screen.text()}")

    def wait_gone(self, text):
        self.wait(text, shown=False)

    def keys(self, text):
        for key in text:
            os.write(self.fd, key.encode())
            self.read(KEY_PAUSE)

    def key(self, sequence, pause):
        os.write(self.fd, sequence.encode())
        self.read(pause)

    def ask(self, text):
        self.keys(text)
        self.key(ENTER, 0.3)


def whole_characters(data):
    """The text of bytes, and the bytes of a character that is cut off at their end."""
    for cut in range(4):
        try:
            return data[: len(data) - cut].decode(), data[len(data) - cut :]
        except UnicodeDecodeError:
            continue
    return data.decode(errors="replace"), b""


def play(session):
    """What the person does: swaps the strategy in the middle of an answer, then has lookup repeat it."""
    session.wait("Type a message")
    session.read(2.0)
    session.ask("Explain in three short paragraphs why the sky is blue.")
    session.wait("… writing")
    session.read(0.7)
    session.key(SHIFT_TAB, 0.1)
    if "… writing" not in session.screen.text():
        sys.exit("the answer ended before the strategy was swapped")
    session.wait_gone("… writing")
    session.read(2.0)
    session.ask("/show tokens")
    session.ask("/mode lookup")
    session.read(1.0)
    session.ask("Repeat your answer word for word.")
    session.wait("… writing")
    session.wait_gone("… writing")
    session.read(3.0)
    session.key("?", 4.0)
    session.key(ESC, 1.0)
    os.write(session.fd, CTRL_D.encode())
    while session.read(0.2):
        pass


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as home:
        session = Session([sys.argv[1], "chat", *sys.argv[2:]], home)
        play(session)
        os.waitpid(session.pid, 0)
    header = {
        "version": 2,
        "width": COLUMNS,
        "height": ROWS,
        "title": "speck: swapping the drafting strategy in the middle of an answer",
        "env": {"TERM": "xterm-256color"},
    }
    print(json.dumps(header))
    for at, text in session.events:
        print(json.dumps([round(at, 3), "o", text.replace(home, "~")], ensure_ascii=False))


if __name__ == "__main__":
    main()
