"""An agent that speaks the protocol but has one fault.

Its prompt names the fault after `fault:`, and then its region. Its arguments are a file that its
daemons hold open, so that they can be found, and the number of bytes of a flood.
"""

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.getcwd()
HELD = sys.argv[1]
OUT = sys.stdout.buffer


def say(data):
    OUT.write(data)
    OUT.flush()


def send(**frame):
    say(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")


def update(**fields):
    send(method="session/update", params={"sessionId": "s", "update": fields})


def chunk(text):
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})


def region():
    return os.path.join(ROOT, place)


def work():
    """Does the work of a correct agent."""
    os.makedirs(region(), exist_ok=True)
    with open(os.path.join(region(), "done.txt"), "w") as file:
        file.write("done\n")
    complete()


def complete():
    arguments = json.dumps({"summary": "done"})
    tool = ["pitcrew", "tool", "orchestrator_complete_task", "--json", arguments]
    subprocess.run(tool, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/")


def wait_for_ever():
    while True:
        signal.pause()


def exits(_):
    os._exit(0)


def dies_in_the_middle_of_a_frame(_):
    say(b'{"jsonrpc":"2.0","method":"session/upd')
    os.kill(os.getpid(), signal.SIGKILL)


def ignores_signals(_):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    wait_for_ever()


def says_what_is_no_text(_):
    say(b"\xff\xfe\x00\xc3\x28\n" * 50)
    work()


def says_nothing_but_noise(_):
    say(b"\xff\xfe\n" * 1000)
    wait_for_ever()


def nests_deeply(_):
    deep = b"[" * 100_000
    shut = b"]" * 100_000
    say(deep + b"\n")
    say(b'{"jsonrpc":"2.0","method":"session/update","params":' + deep + shut + b"}\n")
    say(b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n")
    work()


def counts_too_far(_):
    huge = b"9" * 100_000
    for number in (huge, b"-" + huge, b"1e999999", b"1e-999999", b"0." + huge, b"18446744073709551616"):
        say(b'{"jsonrpc":"2.0","id":' + number + b',"result":' + number + b"}\n")
        usage = b'"sessionUpdate":"usage_update","used":' + number + b',"size":' + number
        say(b'{"jsonrpc":"2.0","method":"session/update","params":{"update":{' + usage + b"}}}\n")
    work()


def answers_what_nobody_asked(prompt):
    for name in ("7", None, -1, 1.5, True, [], {}, prompt + 1000, 2**64 - 1):
        send(id=name, result={"stopReason": "end_turn"})
        send(id=name, error={"code": -1, "message": "no"})
    work()


def answers_under_a_wrong_number(prompt):
    send(id=prompt + 1000, result={"stopReason": "end_turn"})
    wait_for_ever()


def asks_twice_under_one_number(_):
    call = {"toolCallId": "t", "kind": "read", "title": "look", "rawInput": {"path": "."}}
    options = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]
    for _ in range(2):
        asked = {"sessionId": "s", "toolCall": call, "options": options}
        send(id=1, method="session/request_permission", params=asked)
    answers = [json.loads(sys.stdin.readline()) for _ in range(2)]
    assert all(it["result"]["outcome"]["optionId"] == "yes" for it in answers), answers
    work()


def answers_twice(prompt):
    work()
    for _ in range(3):
        send(id=prompt, result={"stopReason": "end_turn"})


def closes_its_input(prompt):
    os.close(0)
    work()
    send(id=prompt, result={"stopReason": "end_turn"})
    wait_for_ever()


def closes_its_output(_):
    os.close(1)
    wait_for_ever()


def leaves_its_folder(_):
    os.chdir("/")
    work()


def deletes_its_tree(_):
    shutil.rmtree(ROOT)
    complete()


def deletes_its_git_folder(_):
    shutil.rmtree(os.path.join(ROOT, ".git"))
    work()


def leaves_its_git_locked(_):
    for name in ("index.lock", "HEAD.lock", "packed-refs.lock", "config.lock"):
        open(os.path.join(ROOT, ".git", name), "w").close()
    work()


def become_a_daemon():
    """Forks a daemon with its own session, no parent and ignored signals. Returns whether this is it."""
    if os.fork() != 0:
        os.wait()
        return False
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    os.chdir("/")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    return True


def leaves_a_daemon(_):
    held = os.open(HELD, os.O_RDWR | os.O_CREAT)
    if become_a_daemon():
        os.execve("/bin/sleep", ["sleep", "600"], {})
    os.close(held)
    work()


def breeds(_):
    """Processes that replace each other: each starts the next one and exits, for a minute at most."""
    held = os.open(HELD, os.O_RDWR | os.O_CREAT)
    until = time.monotonic() + 60
    for _ in range(16):
        if become_a_daemon():
            while time.monotonic() < until:
                if os.fork() != 0:
                    os._exit(0)
                time.sleep(0.001)
            os._exit(0)
    os.close(held)
    work()


def forks_without_end(_):
    """A fork bomb in its own process, which writes its result beside the held file."""
    folder = f"{HELD}.bomb"
    os.makedirs(folder)
    program = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "bombs.py")
    with open(os.path.join(folder, "report"), "w") as report:
        # Few enough that other processes still make progress on a small machine.
        bomb = [sys.executable, program, "sessions", "40"]
        subprocess.Popen(bomb, cwd=folder, stdout=report)
    wait_for_ever()


def starts_more_than_it_may(_):
    """Starts as many processes as it can, up to a few hundred."""
    for _ in range(400):
        try:
            child = os.fork()
        except OSError as error:
            print(f"refused: {errno.errorcode[error.errno]}", file=sys.stderr)
            os._exit(7)
        if child == 0:
            wait_for_ever()
    wait_for_ever()


def writes_more_than_it_may(_):
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    os.makedirs(region(), exist_ok=True)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    with open(os.path.join(region(), "large"), "wb") as file:
        while True:
            file.write(bytes(1 << 16))


def fills_the_disk(_):
    """Fills the disk with ignored files, and writes one file of real work."""
    ballast = os.path.join(region(), "ballast")
    os.makedirs(ballast)
    with open(os.path.join(region(), "work"), "w") as file:
        file.write("done\n")
    try:
        for number in range(1_000_000):
            with open(os.path.join(ballast, str(number)), "wb", buffering=0) as file:
                for _ in range(10):
                    file.write(bytes(1 << 20))
    except OSError as error:
        assert error.errno == errno.ENOSPC, error
    complete()


def writes_many_files(_):
    for folder in range(100):
        os.makedirs(os.path.join(region(), str(folder)))
        for name in range(1000):
            path = os.path.join(region(), str(folder), str(name))
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    complete()


def says_one_endless_line(_):
    part = b"x" * (1 << 20)
    for _ in range(1 << 10):
        say(part)
    say(b"\n")
    work()


def says_the_longest_lines(_):
    """Each as long as a frame may be, and as expensive as possible to parse."""
    size = 4 * 1024 * 1024 - 1
    say(b"\x00" * size + b"\n")
    head = b'{"jsonrpc":"2.0","method":"session/update","params":['
    for part, tail in ((b"0,", b"0]}"), (b'{"":0},', b"0]}"), (b'\\"', b'"]}')):
        begin = head + b'"' if part == b'\\"' else head
        say(begin + part * ((size - len(begin) - len(tail)) // len(part)) + tail + b"\n")
    for number in range(10):
        call = {"toolCallId": f"call {number}", "title": "look", "kind": "read"}
        update(sessionUpdate="tool_call", **call, rawInput="x" * (size - 1000))
    work()


def floods(_):
    """Sends valid frames as fast as they are read."""
    part = json.dumps({"type": "text", "text": "all work and no play " * 400})
    frame = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":%s}}}\n'
    block = (frame % part).encode() * 16
    left = int(sys.argv[2])
    while left > 0:
        say(block)
        left -= len(block)
    for number in range(20_000):
        call = {"toolCallId": f"call {number}", "title": "look", "kind": "read"}
        update(sessionUpdate="tool_call", **call, rawInput={"text": "x" * 1_000})
    work()


def main():
    global place
    for line in iter(sys.stdin.readline, ""):
        frame = json.loads(line)
        method, number = frame.get("method"), frame.get("id")
        if method == "initialize":
            send(id=number, result={"protocolVersion": 1, "agentCapabilities": {}})
        elif method == "session/new":
            send(id=number, result={"sessionId": "s"})
        elif method == "session/prompt":
            text = frame["params"]["prompt"][0]["text"]
            name, place = text.split("fault:", 1)[1].split()[:2]
            globals()[name](number)
            send(id=number, result={"stopReason": "end_turn"})


main()
