"""Progress in a notebook: one output that is updated, and replaced by a single line at the end."""

from __future__ import annotations

import time
from html import escape
from typing import Any

from pellucid.app.messages import Messages
from pellucid.app.progress import Board

# Without the frame, notebooks indent a preformatted block and wrap its lines.
FRAME = '<div style="overflow-x:auto"><pre style="margin:0;white-space:pre">{}</pre></div>'
PAUSE = 0.2  # seconds between updates


def framed(text: str) -> str:
    """Preformatted text as HTML."""
    return FRAME.format(escape(text))


class Notebook(Board):
    """The board as the output of a cell."""

    def __init__(self, messages: Messages, plan: Any) -> None:
        super().__init__(messages, plan)
        from IPython.display import HTML, display

        self.html, self.drawn, self.last = HTML, 0.0, ""
        self.handle = display(HTML(self.page()), display_id=True)

    def page(self) -> str:
        return framed(self.board() + self.last)

    def draw(self) -> None:
        now = time.monotonic()
        if now - self.drawn > PAUSE:
            self.drawn = now
            self.handle.update(self.html(self.page()))

    def stopping(self, times: int) -> None:
        first = "stopping after the current fits ... (interrupt again to stop at once)"
        self.last = f"{first if times == 1 else 'stopped'}\n"
        self.drawn = 0.0  # update at the next event

    def close(self) -> None:
        """Replace the board by one line."""
        done, spent = len(self.scores) + len(self.failed), time.monotonic() - self.began
        text = f"{done} of {len(self.plan.running)} models compared in {spent:.0f} s"
        self.handle.update(self.html(framed(text)))
