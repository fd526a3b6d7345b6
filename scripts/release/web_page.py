#!/usr/bin/env python3
"""Opens docs/try in headless Chromium, uses it as a visitor would, and holds what it shows against `seqtune`.

usage: scripts/release/web_page.py CHROMIUM SEQTUNE SCREENSHOTS

Serves the folder on this machine alone. Chromium is driven through a pipe (the DevTools protocol); nothing but Python is needed.
"""
import base64
import functools
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

chromium, seqtune, shots = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
root = pathlib.Path(__file__).resolve().parents[2]
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --hide-scrollbars --remote-debugging-pipe""".split()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Browser:
    """Chromium with one page."""

    def __init__(self, folder):
        to_read, self.to = os.pipe()
        self.of, to_write = os.pipe()

        def connect():
            # descriptors 3 and 4 are the protocol's; copies first, so that neither is closed by the other's
            read, write = os.dup(to_read), os.dup(to_write)
            os.dup2(read, 3)
            os.dup2(write, 4)

        words = [chromium, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        self.process = subprocess.Popen(words, preexec_fn=connect, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.number, self.rest, self.errors, self.requests = 0, b"", [], []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Network", "Log"]:
            self.call(f"{domain}.enable")

    session = None

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self):
        while b"\0" not in self.rest:
            read = os.read(self.of, 1 << 20)
            if not read:
                raise RuntimeError("Chromium ended")
            self.rest += read
        line, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(line)
        event = message.get("method")
        if event == "Runtime.exceptionThrown":
            self.errors.append(message["params"]["exceptionDetails"].get("exception", {}).get("description", "exception"))
        if event == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
            self.errors.append(message["params"]["entry"]["text"])
        if event == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        return message

    def js(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression):
        """Until it holds."""
        end = time.monotonic() + 60
        while not self.js(expression):
            if time.monotonic() > end:
                raise RuntimeError(f"never came true: {expression}; the page says: {self.js(SAID)}; {self.errors}")
            time.sleep(0.02)

    def type(self, name, text):
        """Types into an input as the keyboard does."""
        self.js(f"document.getElementById('{name}').select(), document.getElementById('{name}').focus()")
        for character in text:
            self.call("Input.dispatchKeyEvent", type="keyDown", text=character)
            self.call("Input.dispatchKeyEvent", type="keyUp")

    def choose(self, name, value):
        self.js(f"(e => {{ e.value = {json.dumps(value)}; e.dispatchEvent(new Event('change', {{ bubbles: true }})); }})(document.getElementById('{name}'))")

    def files(self, name, *paths):
        node = self.call("DOM.querySelector", nodeId=self.call("DOM.getDocument")["root"]["nodeId"], selector=f"#{name}")["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[str(p) for p in paths])

    def shot(self, name, width, scheme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        time.sleep(0.3)
        wide = self.js("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{name}: the page is {wide} pixels wider than the window"
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        (shots / f"{name}.png").write_bytes(base64.b64decode(picture))


SAID = "document.getElementById('said').textContent"
DONE = "Boolean(document.body?.dataset.done)"
FIRST = "document.querySelector('#predictions li')"
VERDICT = "document.getElementById('verdict').textContent"


def asked(*words):
    out = subprocess.run([seqtune, *words, "--json"], cwd=root, capture_output=True, text=True)
    return json.loads(out.stdout)


def first(browser):
    """The first prediction as it is shown: config, percent, time."""
    config = browser.js(f"[...{FIRST}.querySelectorAll('.config > *')].map((e) => e.textContent).join(',')")
    return config, *(browser.js(f"{FIRST}.querySelector('{part}').textContent") for part in (".percent", ".time"))


def equal(what, found, expected):
    assert found == expected, f"{what}: the page shows {found!r}, expected {expected!r}"
    print(f"  {what}: {found}")


def settled(browser, act):
    """After an act and its answers."""
    browser.js("delete document.body.dataset.done")
    act()
    browser.wait(DONE)


def visit(browser, address):
    browser.call("Page.navigate", url=address)
    browser.wait(DONE)

    # the model learned several devices: the page asks which one is meant
    assert "Choose the device" in browser.js(SAID), browser.js(SAID)
    devices = browser.js("[...document.querySelectorAll('#device optgroup:first-of-type option')].map((e) => e.value)")
    assert len(devices) > 1 and not browser.js("document.getElementById('device').value"), devices
    settled(browser, lambda: browser.choose("device", devices[0]))
    assert browser.js("document.getElementById('on').textContent").startswith(f"On {devices[0]}; learned on "), "no device is named"

    # sizes typed key by key: the first config, its probability, its time and the count are the program's
    settled(browser, lambda: [browser.type("field-M", "1024"), browser.type("field-N", "96"), browser.type("field-K", "333")])
    browser.wait("document.getElementById('space').textContent !== ''")
    told = asked("predict", "models/gemm-cpu", "gemm", "M=1024,N=96,K=333", "--quality", "fast", "--top", "10", "--device", devices[0])
    best = told["predictions"][0]
    milliseconds = f"{best['predicted_us'] / 1e3:.2f} ms"
    expected = (best["config"], f"{100 * best['probability']:.1f} %", milliseconds)
    equal("first config, probability, time", first(browser), expected)
    equal("configs", browser.js("document.querySelectorAll('#predictions li').length"), len(told["predictions"]))
    equal("doubt", "unsure" in browser.js("document.getElementById('doubt').textContent"), told["unsure"])
    settled(browser, lambda: browser.choose("device", "H200"))
    space = asked("space", "gemm", "M=1024,N=96,K=333", "--device", "H200")
    equal("space on H200", browser.js("document.getElementById('space').dataset.legal"), str(space["legal"]))

    # a config of one's own: an illegal value is told with its reason
    settled(browser, lambda: browser.js("document.getElementById('defaults').click()"))
    equal("default config", browser.js(VERDICT), "Legal.")
    settled(browser, lambda: browser.js("document.querySelector('#parameters input[name=VWN][value=\"16\"]').click()"))
    why = asked("space", "gemm", "M=1024,N=96,K=333", "--device", "H200", "--check", config_of(browser))["violation"]
    assert why.split(" (")[0] in browser.js(VERDICT), f"{browser.js(VERDICT)} lacks {why}"
    print(f"  illegal config: {browser.js(VERDICT)}")
    closed = browser.js("document.querySelectorAll('#parameters .closed').length")
    assert closed > 0, "no value is marked as closed"

    # what is shared by its address is what is seen
    shared = browser.js("location.href")
    browser.call("Page.navigate", url="about:blank")
    browser.call("Page.navigate", url=shared)
    browser.wait(DONE)
    assert why.split(" (")[0] in browser.js(VERDICT), "the address does not hold the config"
    equal("size in a shared address", browser.js("document.getElementById('field-M').value"), "1024")


def config_of(browser):
    values = "[...document.querySelectorAll('#parameters input:checked')].map((e) => `${e.name}=${e.value}`).join(',')"
    return browser.js(values)


def mislead(browser):
    """Wrong input is answered with a sentence, and right input after it as if nothing had been."""
    browser.type("field-M", "12x")
    browser.wait(f"{SAID}.includes('12x')")
    equal("wrong size", browser.js(SAID), "field `M`: `12x` is not a whole number from 1 to 65536")
    equal("marked as wrong", browser.js("document.getElementById('field-M').getAttribute('aria-invalid')"), "true")
    settled(browser, lambda: browser.type("field-M", "12"))
    equal("right size", browser.js(SAID), "")
    browser.files("model-file", root / "README.md")
    browser.wait(f"{SAID}.startsWith('README.md: ')")
    print(f"  no model: {browser.js(SAID)}")
    settled(browser, lambda: browser.choose("device", "own"))
    browser.type("limit-local_memory", "-5")
    browser.wait(f"{SAID}.includes('local_memory')")
    print(f"  wrong limit: {browser.js(SAID)}")
    settled(browser, lambda: browser.type("limit-local_memory", "1024"))
    few = int(browser.js("document.getElementById('space').dataset.legal"))
    assert few > 0, "nothing is legal with little local memory"
    settled(browser, lambda: browser.choose("kernel", "conv2d"))
    assert "conv2d" in browser.js("document.getElementById('doubt').textContent"), "not told that the model does not know conv2d"
    browser.js("location.hash = '#kernel=nonsense'")
    browser.wait(f"{SAID}.includes('nonsense')")
    print(f"  wrong address: {browser.js(SAID)}")
    settled(browser, lambda: browser.js("location.hash = '#kernel=gemm&device=nonsense&problem=M=7,N=7,K=7'"))
    print(f"  wrong device: {browser.js(SAID)}")
    assert "nonsense" in browser.js(SAID)
    browser.call("Page.navigate", url=(root / "docs/try/index.html").as_uri())
    browser.wait("document.readyState === 'complete'")
    assert "http.server" in browser.js(SAID), "a page opened as a file does not say what to do"
    browser.errors.clear()
    browser.requests.clear()


def load(browser, address):
    """A model and a kernel from disk."""
    browser.call("Page.navigate", url=address)
    browser.wait(DONE)
    settled(browser, lambda: browser.files("model-file", root / "models/miopen/ConvAsm1x1U/distilled.safetensors"))
    equal("kernel of a model from disk", browser.js("document.getElementById('kernel').value"), "ConvAsm1x1U")
    settled(browser, lambda: browser.choose("device", "MI50"))
    told = browser.js("location.hash").split("problem=")[1].split("&")[0]
    device = browser.js("document.getElementById('device').value")
    best = asked("predict", "models/miopen", "ConvAsm1x1U", told, "--device", device)["predictions"][0]
    found = first(browser)
    equal("its first config and probability", found[:2], (best["config"], f"{100 * best['probability']:.1f} %"))
    folder = root / "kernels/hub/hub_convolution"
    settled(browser, lambda: browser.files("kernel-file", folder / "kernel.toml"))
    equal("kernel from disk", browser.js("document.getElementById('kernel').value"), "hub_convolution")


def main():
    shots.mkdir(parents=True, exist_ok=True)
    handler = functools.partial(Quiet, directory=root / "docs/try")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(folder)
        try:
            visit(browser, address)
            for name, width, scheme in [("desktop", 1280, "light"), ("desktop-dark", 1280, "dark"), ("phone", 390, "light"), ("phone-dark", 390, "dark")]:
                browser.shot(name, width, scheme)
            mislead(browser)
            browser.shot("wrong", 1280, "light")
            load(browser, address)
            browser.shot("miopen", 1280, "light")
            elsewhere = [url for url in browser.requests if not url.startswith((address, "about:", "data:"))]
            equal("requests to elsewhere", elsewhere, [])
            equal("errors of the page", browser.errors, [])
        finally:
            browser.process.terminate()
            browser.process.wait()
    print(f"the page shows what the program says; screenshots in {shots}")


main()
