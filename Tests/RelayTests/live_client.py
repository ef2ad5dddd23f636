"""An independent client of the live protocol (PyPI websockets), driven by lines on standard input.

Each line is a JSON array: ["open", NAME, PORT, TOKEN], ["send", NAME, TEXT], ["binary", NAME, HEX],
["fragments", NAME, [TEXT...]], ["receive", NAME, COUNT] or ["close", NAME]. Each answer is one JSON line.
"""
import json
import sys

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

sockets = {}


def handle(command, name, *arguments):
    if command == "open":
        port, token = arguments
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            sockets[name] = connect(
                f"ws://127.0.0.1:{port}/api/live", additional_headers=headers, open_timeout=20
            )
        except InvalidStatus as refusal:
            return {"status": refusal.response.status_code}
        return {"status": 101}
    socket = sockets[name]
    if command == "send":
        socket.send(arguments[0])
    elif command == "binary":
        socket.send(bytes.fromhex(arguments[0]))
    elif command == "fragments":
        socket.send(iter(arguments[0]))
    elif command == "ping":
        return {"pong": socket.ping().wait(20)}
    elif command == "receive":
        try:
            return {"frames": [json.loads(socket.recv(timeout=20)) for _ in range(arguments[0])]}
        except ConnectionClosed as closed:
            return {"code": closed.rcvd.code if closed.rcvd else None}
    elif command == "close":
        socket.close()
        return {"code": socket.close_code}
    return {}


for line in sys.stdin:
    print(json.dumps(handle(*json.loads(line))), flush=True)
