"""A page in headless Chromium, driven over the pipe of its DevTools protocol: no network, no driver program.

    browser.py PAGE [OPTION] STEP ...

Options: width=390 height=844 dark touch noscript. Steps run one after another:

    js:EXPRESSION        prints its value, as JSON
    key:+                a key press, where the focus is
    tap:X,Y click:X,Y move:X,Y
    drag:X,Y,X2,Y2       with the mouse
    pinch:X,Y,FACTOR     with two fingers
    file:ID,PATH         that file, for an input of files
    png:FILE             a screenshot of the window; page:FILE of the whole page
    @FILE                steps from a file, a line each

Behind the steps it prints "console: TEXT" for each message or error that the page gave and "request: URL"
for each thing that it asked for besides itself, and "done".
"""
import json
import os
import subprocess
import sys
import tempfile
import base64
import pathlib

# A browser starts in a second or two; under load in more.
SECONDS = 60


class Browser:
    def __init__(self, folder):
        # The browser reads commands from descriptor 3 and answers on 4.
        command_read, self.command = os.pipe()
        self.answer, answer_write = os.pipe()
        self.process = subprocess.Popen(
            ["sh", "-c", 'exec "$@" 3<&%d 4>&%d' % (command_read, answer_write), "sh",
             "timeout", str(SECONDS), os.environ.get("CHROMIUM", "chromium"), "--headless",
             "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-extensions",
             "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir=" + folder],
            pass_fds=(command_read, answer_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(command_read)
        os.close(answer_write)
        self.buffer, self.number, self.events, self.session = b"", 0, [], None

    def receive(self):
        while b"\0" not in self.buffer:
            more = os.read(self.answer, 1 << 16)
            if not more:
                sys.exit("the browser is gone")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.command, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit("%s: %s" % (method, answer["error"]))
                return answer["result"]
            self.events.append(answer)

    def wait(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.receive())

    def attach(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            sys.exit("%s: %s" % (expression, result["exceptionDetails"]))
        return result["result"].get("value")

    def mouse(self, kind, x, y, pressed=False):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left" if pressed else "none",
                  buttons=1 if pressed and kind != "mouseReleased" else 0, clickCount=1 if pressed else 0)

    def step(self, text):
        kind, rest = text.split(":", 1)
        if kind == "js":
            print(json.dumps(self.value(rest)))
        elif kind == "key":
            key = {"key": rest, "text": rest} if len(rest) == 1 else {"key": rest}
            self.call("Input.dispatchKeyEvent", type="keyDown", **key)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=rest)
        elif kind == "file":
            element, file = rest.split(",", 1)
            root = self.call("DOM.getDocument")["root"]["nodeId"]
            node = self.call("DOM.querySelector", nodeId=root, selector="#" + element)["nodeId"]
            self.call("DOM.setFileInputFiles", nodeId=node, files=[str(pathlib.Path(file).resolve())])
        elif kind in ("png", "page"):
            shot = self.call("Page.captureScreenshot", captureBeyondViewport=kind == "page")
            pathlib.Path(rest).write_bytes(base64.b64decode(shot["data"]))
        elif kind == "tap":
            x, y = map(float, rest.split(","))
            self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
            self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        elif kind == "pinch":
            # Two fingers, 20 pixels apart, that move to 20 times FACTOR.
            x, y, factor = map(float, rest.split(","))
            for way, gap in (("touchStart", 10), ("touchMove", 10 * (1 + factor) / 2), ("touchMove", 10 * factor)):
                points = [{"x": x - gap, "y": y, "id": 0}, {"x": x + gap, "y": y, "id": 1}]
                self.call("Input.dispatchTouchEvent", type=way, touchPoints=points)
            self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        else:
            at = list(map(float, rest.split(",")))
            self.mouse("mouseMoved", *at[:2])
            if kind != "move":
                self.mouse("mousePressed", *at[:2], pressed=True)
                if kind == "drag":
                    for part in (0.25, 0.5, 0.75, 1):
                        self.mouse("mouseMoved", at[0] + part * (at[2] - at[0]),
                                   at[1] + part * (at[3] - at[1]), pressed=True)
                self.mouse("mouseReleased", *at[-2:], pressed=True)
        # What a step changes is drawn before the next frame.
        if kind not in ("js", "png", "page"):
            self.value("new Promise(f => requestAnimationFrame(() => requestAnimationFrame(() => f(0))))")


def main():
    page = pathlib.Path(sys.argv[1]).resolve().as_uri()
    options = dict(width="1280", height="800")
    steps = []
    words = []
    for word in sys.argv[2:]:
        words += pathlib.Path(word[1:]).read_text().splitlines() if word.startswith("@") else [word]
    for word in words:
        if word.split(":")[0] in ("js", "key", "png", "page", "tap", "pinch", "click", "move", "drag", "file"):
            steps.append(word)
        else:
            name, _, value = word.partition("=")
            options[name] = value or "1"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(folder)
        browser.attach()
        small = int(options["width"]) < 600
        browser.call("Emulation.setDeviceMetricsOverride", width=int(options["width"]),
                     height=int(options["height"]), deviceScaleFactor=2 if small else 1, mobile=small)
        if "touch" in options:
            browser.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
        if "noscript" in options:
            browser.call("Emulation.setScriptExecutionDisabled", value=True)
        scheme = "dark" if "dark" in options else "light"
        browser.call("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": scheme}])
        browser.call("Page.navigate", url=page)
        browser.wait("Page.loadEventFired")
        for step in steps:
            browser.step(step)
        for event in browser.events:
            params = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                print("console:", params["exceptionDetails"].get("exception", {}).get("description"))
            elif event["method"] == "Runtime.consoleAPICalled":
                print("console:", [argument.get("value") for argument in params["args"]])
            elif event["method"] == "Log.entryAdded":
                print("console:", params["entry"]["text"])
            elif event["method"] == "Network.requestWillBeSent" and params["request"]["url"] != page:
                print("request:", params["request"]["url"])
        browser.session = None
        browser.call("Browser.close")
        browser.process.wait()
    print("done")


main()
