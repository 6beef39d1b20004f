"""kazoo, the Python client: one of its locks, told by lines on stdin what to do. Debian's python3-kazoo."""
import sys

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout

hosts, path, kind, session_s = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])


def say(word):
    print(word, flush=True)


client = KazooClient(hosts=hosts, timeout=session_s)
client.start(timeout=30)
# With the pattern, kazoo waits for the nodes of Curator and Holdfast; its own are those of every kazoo lock.
patterns = ["-lock-"]
locks = {
    "lock": lambda: client.Lock(path, "kazoo", extra_lock_patterns=patterns),
    "read": lambda: client.ReadLock(path, "kazoo", extra_lock_patterns=patterns),
    "semaphore": lambda: client.Semaphore(path, "kazoo", max_leases=1),
}
lock = locks[kind]()
say("ready")
for line in sys.stdin:
    word = line.strip()
    if word == "acquire":
        lock.acquire()
        say("acquired")
    elif word == "try":
        try:
            say("acquired" if lock.acquire(timeout=0.2) else "busy")
        except LockTimeout:
            say("busy")
    elif word == "release":
        lock.release()
        say("released")
    else:
        say("what?")
