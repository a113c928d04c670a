"""A small host: it runs a shop and the stock service that the shop asks, looks at both, repairs them, and breaks them.

    host.py run PORT        run both, and answer on PORT; the shop answers on PORT + 1, the stock service on PORT + 2
    host.py break PORT WHAT break something: shop, config or stock

Sprag's operations are the paths that it answers: GET /look, POST /start-shop, /restore-config, /restart-stock.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GOOD = {"fruit": "apples", "price": 2.5}


def fetch(port, path="/", seconds=1.0):
    """The status and the text of an answer; no status where there is no answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=seconds) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return None, str(error)


def serve(port, answers):
    """Answers each path by its function, which gives a status and a text."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            self.rfile.read(int(self.headers.get("content-length") or 0))
            known = answers.get(f"{self.command} {self.path}")
            status, text = known() if known else (404, "there is no such path")
            body = text.encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer

        def log_message(self, *_):
            pass

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


def shop(port, config):
    """Sells fruit: reads its configuration, and asks the stock service."""

    def page():
        with open(config) as file:
            read = json.load(file)
        if not isinstance(read["price"], (int, float)):
            return 500, json.dumps({"error": f"the price in shop.json is no number: {read['price']}"})
        status, count = fetch(port + 1)
        if status != 200:
            return 503, json.dumps({"error": "the stock service does not answer"})
        return 200, json.dumps({"offer": f"{count} {read['fruit']} for {read['price']} each"})

    serve(port, {"GET /": page})


class Host:
    def __init__(self, port):
        self.port = port
        self.config = os.path.join(tempfile.mkdtemp(prefix="sprag-agent-"), "shop.json")
        self.programs = {}
        self.write(GOOD)
        self.start("stock")
        self.start("shop")

    def write(self, config):
        with open(self.config, "w") as file:
            json.dump(config, file)

    def start(self, name):
        running = self.programs.get(name)
        if running:
            running.kill()
            running.wait()
        port = str(self.port + (1 if name == "shop" else 2))
        self.programs[name] = subprocess.Popen([sys.executable, __file__, name, port, self.config])
        while fetch(int(port), "/ready")[0] is None:
            time.sleep(0.05)

    def look(self):
        is_running = self.programs["shop"].poll() is None
        status, text = fetch(self.port + 1, seconds=3)
        began = time.monotonic()
        stock, _ = fetch(self.port + 2)
        return {
            "shop": {"process": "running" if is_running else "ended", "status": status, "text": text},
            "stock": {"answers": stock == 200, "millis": round((time.monotonic() - began) * 1000)},
        }

    def repaired(self, act):
        act()
        return 200, json.dumps(self.look())

    def restore_config(self):
        self.write(GOOD)
        self.start("shop")

    def answers(self):
        return {
            "GET /look": lambda: (200, json.dumps(self.look())),
            "POST /start-shop": lambda: self.repaired(lambda: self.start("shop")),
            "POST /restore-config": lambda: self.repaired(self.restore_config),
            "POST /restart-stock": lambda: self.repaired(lambda: self.start("stock")),
            "POST /break/shop": lambda: self.repaired(lambda: (self.programs["shop"].kill(), self.programs["shop"].wait())),
            "POST /break/config": lambda: self.repaired(lambda: self.write({**GOOD, "price": "cheap"})),
            "POST /break/stock": lambda: self.repaired(lambda: self.programs["stock"].send_signal(signal.SIGSTOP)),
        }

    def end(self, *_):
        for program in self.programs.values():
            program.kill()
        sys.exit(0)


def main():
    what, port = sys.argv[1], int(sys.argv[2])
    if what == "run":
        host = Host(port)
        signal.signal(signal.SIGTERM, host.end)
        signal.signal(signal.SIGINT, host.end)
        print(f"the host answers at http://127.0.0.1:{port}/look", flush=True)
        serve(port, host.answers())
    elif what == "break":
        request = urllib.request.Request(f"http://127.0.0.1:{port}/break/{sys.argv[3]}", method="POST")
        print(urllib.request.urlopen(request).read().decode())
    elif what == "shop":
        shop(port, sys.argv[3])
    elif what == "stock":
        serve(port, {"GET /": lambda: (200, "12")})


main()
