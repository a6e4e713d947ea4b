"""Headless Chromium, driven through its debugging pipe: no package, no port, no network.

Only the Chromium of the system is used; where there is none, tests that need it are skipped.
"""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)  # fmt: skip


class Browser:
    """One page; what it asked the network for and what it complained about is kept."""

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="pellucid-browser-")
        theirs_in, self.out = os.pipe()
        self.inn, theirs_out = os.pipe()
        flags = [*FLAGS, f"--user-data-dir={self.profile}", "about:blank"]
        command = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self.process = subprocess.Popen(
            ["bash", "-c", command, "bash", CHROMIUM, *flags],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.number, self.buffer, self.session = 0, b"", None
        self.requests, self.complaints, self.events = [], [], []
        pages = self.call("Target.getTargets")["targetInfos"]
        page = next(p for p in pages if p["type"] == "page")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *error):
        self.session = None
        try:
            self.call("Browser.close", seconds=5)
            self.process.wait(timeout=10)
        except (OSError, TimeoutError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.inn)
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, seconds=60, **params):
        """One command, and its answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + seconds
        while True:
            answer = self.read(end)
            if answer.get("id") == self.number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def read(self, end):
        while b"\0" not in self.buffer:
            if not select.select([self.inn], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.inn, 1 << 20)
            if not part:
                raise OSError("the browser has gone")
            self.buffer += part
        line, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(line)
        self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, method, params):
        self.events.append(method)
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.complaints.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])

    def open(self, path, width=1200, height=900, dark=False, scripts=True, media=""):
        """Load a file and wait until it is there."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.requests, self.complaints, self.events = [], [], []
        self.call("Page.navigate", url=path.as_uri())
        end = time.monotonic() + 60
        while "Page.loadEventFired" not in self.events:
            self.read(end)

    def ask(self, expression):
        """The value of an expression on the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")
