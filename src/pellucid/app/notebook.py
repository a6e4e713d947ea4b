"""Progress in a notebook: one display that is drawn anew, and that ends as a single line."""

from __future__ import annotations

import time
from html import escape
from typing import Any

from pellucid.app.messages import Voice
from pellucid.app.progress import Board

# Notebooks push a preformatted block that stands alone to the right, and wrap its lines.
FRAME = '<div style="overflow-x:auto"><pre style="margin:0;white-space:pre">{}</pre></div>'
PAUSE = 0.2  # seconds between two drawings


def framed(text: str) -> str:
    """Lines of text as they are, whatever the notebook does to such blocks."""
    return FRAME.format(escape(text))


class Notebook(Board):
    """The board as the output of a cell."""

    def __init__(self, voice: Voice, plan: Any) -> None:
        super().__init__(voice, plan)
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
        again = "stopping after the current fits ... (interrupting again stops at once)"
        self.last = f"{again if times == 1 else 'stopped'}\n"
        self.drawn = 0.0  # the next drawing comes at once

    def close(self) -> None:
        """The board gives way to one line; the result says the rest."""
        done, spent = len(self.scores) + len(self.failed), time.monotonic() - self.began
        text = f"{done} of {len(self.plan.running)} models compared in {spent:.0f} s"
        self.handle.update(self.html(framed(text)))
