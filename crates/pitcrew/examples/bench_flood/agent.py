"""An agent for the benchmark: `ask FILE` asks for permission repeatedly and writes the latency of each
answer in microseconds; `flood FILE RATE` sends RATE megabytes a second until FILE exists.
"""

import json
import os
import subprocess
import sys
import time

OUT = sys.stdout.buffer
ASKS = 200
PAUSE = 0.02


def say(data):
    OUT.write(data)
    OUT.flush()


def send(**frame):
    say(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")


def complete():
    tool = ["pitcrew", "tool", "orchestrator_complete_task", "--json", '{"summary": "done"}']
    subprocess.run(tool, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def ask(file):
    options = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]
    times = []
    for number in range(ASKS):
        call = {"toolCallId": f"call {number}", "kind": "read", "title": "look"}
        began = time.monotonic_ns()
        asked = {"sessionId": "s", "toolCall": call, "options": options}
        send(id=number, method="session/request_permission", params=asked)
        sys.stdin.readline()
        times.append((time.monotonic_ns() - began) // 1000)
        time.sleep(PAUSE)
    with open(f"{file}.{os.getpid()}", "w") as out:
        out.write("\n".join(map(str, times)))


def flood(file, rate):
    text = {"type": "text", "text": "all work and no play " * 400}
    update = {"sessionUpdate": "agent_message_chunk", "content": text}
    params = {"sessionId": "s", "update": update}
    frame = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    block = (json.dumps(frame).encode() + b"\n") * 16
    began, said = time.monotonic(), 0
    while not os.path.exists(file):
        say(block)
        said += len(block)
        ahead = said / (rate * 1e6) - (time.monotonic() - began)
        if ahead > 0:
            time.sleep(ahead)
    with open(f"{file}.rate", "w") as out:
        out.write(str(round(said / 1e6 / (time.monotonic() - began))))


def main():
    for line in iter(sys.stdin.readline, ""):
        frame = json.loads(line)
        method, number = frame.get("method"), frame.get("id")
        if method == "initialize":
            send(id=number, result={"protocolVersion": 1, "agentCapabilities": {}})
        elif method == "session/new":
            send(id=number, result={"sessionId": "s"})
        elif method == "session/prompt":
            if sys.argv[1] == "ask":
                ask(sys.argv[2])
            else:
                flood(sys.argv[2], int(sys.argv[3]))
            complete()
            send(id=number, result={"stopReason": "end_turn"})


main()
