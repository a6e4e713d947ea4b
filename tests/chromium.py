"""Chromium without a driver: the browser's own protocol over two pipes (`--remote-debugging-pipe`).

A test asks for `open_browser()`, which skips where there is no Chromium, and looks at pages in tabs of a
given width and colour scheme. A tab keeps the addresses it asked for and the messages of its console.
"""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

OPTIONS = [
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars"),
    *("--disable-dev-shm-usage", "--remote-debugging-pipe", "about:blank"),
]
# Chromium reads from descriptor 3 and writes to 4. A shell could not do this for numbers above 9.
LAUNCH = """
import fcntl, os, sys
high = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
os.dup2(high[0], 3)
os.dup2(high[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
PATIENCE = 120.0  # seconds; machines that test are busy


class CommandError(AssertionError):
    """The browser refused a command."""


class Browser:
    """A running Chromium: commands out, answers and events in, each ended by a zero byte."""

    def __init__(self, out: int, into: int) -> None:
        self.out, self.into, self.count, self.waiting = out, into, 0, b""
        self.tabs: dict[str, Tab] = {}

    def send(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """The answer to a command; events that come before it go to their tabs."""
        self.count += 1
        message: dict[str, Any] = {"id": self.count, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data) :]
        until = time.monotonic() + PATIENCE
        while True:
            answer = self.receive(until)
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise CommandError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self, until: float) -> dict[str, Any]:
        """The next message."""
        while b"\0" not in self.waiting:
            ready, _, _ = select.select([self.into], [], [], max(0.0, until - time.monotonic()))
            assert ready, "Chromium does not answer"
            read = os.read(self.into, 1 << 20)
            assert read, "Chromium has ended"
            self.waiting += read
        one, _, self.waiting = self.waiting.partition(b"\0")
        message: dict[str, Any] = json.loads(one)
        tab = self.tabs.get(message.get("sessionId", ""))
        if tab is not None and "method" in message:
            tab.hear(message["method"], message["params"])
        return message

    def tab(self, width: int = 1280, height: int = 800, scheme: str = "light") -> "Tab":
        """A new tab in a profile of its own."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        made = self.send("Target.createTarget", url="about:blank", browserContextId=context)
        attached = self.send("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        tab = Tab(self, attached["sessionId"], context)
        self.tabs[tab.session] = tab
        for domain in ("Page", "Runtime", "Network", "Log"):
            tab.send(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        tab.send("Emulation.setDeviceMetricsOverride", **size)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        tab.send("Emulation.setEmulatedMedia", features=[feature])
        return tab


class Tab:
    """A page in the browser."""

    def __init__(self, browser: Browser, session: str, context: str) -> None:
        self.browser, self.session, self.context = browser, session, context
        self.requests: list[str] = []
        self.messages: list[str] = []
        self.loaded = False

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """A command to this tab."""
        return self.browser.send(method, self.session, **params)

    def hear(self, event: str, params: dict[str, Any]) -> None:
        """Keep what tests ask about."""
        if event == "Page.loadEventFired":
            self.loaded = True
        elif event == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif event == "Runtime.consoleAPICalled":
            self.messages.append(" ".join(str(a.get("value")) for a in params["args"]))
        elif event == "Runtime.exceptionThrown":
            self.messages.append(json.dumps(params["exceptionDetails"])[:500])
        elif event == "Log.entryAdded":
            self.messages.append(params["entry"]["text"])

    def goto(self, address: str) -> None:
        """Open an address and wait until it is loaded."""
        self.loaded = False
        self.send("Page.navigate", url=address)
        until = time.monotonic() + PATIENCE
        while not self.loaded:
            self.browser.receive(until)

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page; a promise is awaited."""
        found = self.send(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true, also across a change of the page."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                if self.evaluate(f"Boolean({condition})"):
                    return
            except CommandError as error:
                if "navigated" not in str(error):
                    raise
            assert time.monotonic() < until, f"not seen: {condition}"
            time.sleep(0.05)

    def press(self, key: str) -> None:
        """Press and release a key, such as "Tab"."""
        code = {"Tab": 9, "Enter": 13}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            more = text if kind == "keyDown" else {}
            self.send(
                "Input.dispatchKeyEvent",
                **{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, **more},
            )

    def screenshot(self, file: Path) -> None:
        """Save what is seen as a PNG file."""
        file.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))

    def close(self) -> None:
        """Close the tab and forget its profile."""
        del self.browser.tabs[self.session]
        self.browser.send("Target.disposeBrowserContext", browserContextId=self.context)


@contextlib.contextmanager
def open_browser() -> Iterator[Browser]:
    """A browser that ends with the block; skips the test without Chromium."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("there is no Chromium here")
    ours_in, theirs_out = os.pipe()
    theirs_in, ours_out = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [program, f"--user-data-dir={profile}", *OPTIONS]
        child = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(theirs_in), str(theirs_out), *command],
            pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Browser(ours_out, ours_in)
        finally:
            os.close(ours_out)
            os.close(ours_in)
            child.terminate()
            child.wait()
