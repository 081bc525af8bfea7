"""An HTTP server of a test: it answers as the test says, and keeps what it was asked."""

import contextlib
import http.server
import json
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size).decode()
        self.server.asked.append((self.command, self.path, dict(self.headers), body))
        status, headers, said = self.server.route(self.command, self.path)
        if status is None:  # the answer never comes
            self.close_connection = True
            return
        self.send_response(status)
        data = said if isinstance(said, bytes) else json.dumps(said).encode()
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = answer

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def server():
    """Its `answers` are given one after another; or `route(method, path)` says (status, headers, body), status None for none."""
    started = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    started.asked, started.answers = [], []
    started.route = lambda method, path: started.answers.pop(0)
    started.url = f"http://127.0.0.1:{started.server_port}"
    thread = threading.Thread(target=started.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield started
    finally:
        started.shutdown()
        thread.join()
        started.server_close()


def ok(body):
    return 200, {}, body
