"""An agent that starts processes without end, in a number that the system limits.

Its arguments are how they hide and how many there may be: `group` in the agent's group, `sessions`
each in a session of its own, `chains` the same, and none lives longer than it takes to start two
more. It says `limited` as soon as the system refused one, or why it could not be limited.
"""

import errno
import os
import resource
import signal
import sys
import time

KIND = sys.argv[1]
PROCESSES = int(sys.argv[2])
NOBODY = 65534
STARTS_MAX = 3000


def own_threads():
    """How many the limit counts already: it counts all of a user."""
    total = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{name}").st_uid == os.getuid():
                total += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            pass
    return total


def limit():
    """The limit does not hold for root."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    most = own_threads() + PROCESSES
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))


def fork():
    """A fork that goes on trying, and writes down what came of it."""
    while time.monotonic() < UNTIL and os.fstat(STARTED).st_size < STARTS_MAX:
        try:
            child = os.fork()
        except OSError as error:
            assert error.errno == errno.EAGAIN, error
            if os.fstat(REFUSED).st_size == 0:
                os.write(REFUSED, b"r")
            continue
        if child == 0 and os.fstat(REFUSED).st_size == 0:
            os.write(STARTED, b"s")
        return child
    os._exit(0)


def bomb():
    while True:
        if fork() == 0 and KIND != "group":
            os.setsid()
        elif KIND == "chains" and fork() != 0:
            os._exit(0)


UNTIL = time.monotonic() + 180
STARTED = os.open("started", os.O_RDWR | os.O_CREAT | os.O_APPEND)
REFUSED = os.open("refused", os.O_RDWR | os.O_CREAT | os.O_APPEND)
os.open("lifeline", os.O_WRONLY | os.O_CREAT)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
try:
    limit()
except OSError as error:
    print("unlimited:", error, flush=True)
    sys.exit()
if fork() == 0:
    bomb()
while os.fstat(REFUSED).st_size == 0:
    if os.fstat(STARTED).st_size >= STARTS_MAX:
        print("unlimited: the system refused none", flush=True)
        sys.exit()
    time.sleep(0.01)
print("limited", flush=True)
while True:
    signal.pause()
