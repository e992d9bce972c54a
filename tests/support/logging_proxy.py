"""A web proxy on loopback that writes down what it is asked to reach, and reaches nothing."""

from __future__ import annotations

from loopback import Handler, Loopback


class LoggingProxy(Loopback):
    """As a context manager; ``connections`` holds the method and target of each request that arrived."""

    def __init__(self) -> None:
        super().__init__(_Refusing)
        self.connections: list[str] = []


class _Refusing(Handler):
    service: LoggingProxy

    def handle_one_request(self) -> None:
        line = self.rfile.readline(65_536).decode("latin-1").strip()
        if line:
            self.service.connections.append(line)
            self.wfile.write(b"HTTP/1.1 502 Refused\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        self.close_connection = True
