"""``attest …`` in processes of its own that start in milliseconds: copies of one that has imported everything.

    subprocess.run([*attest_command(), "fit", "DATA=sst"])

starts a small client, which hands its arguments, environment, files and limit of a file's size to a server; the server forks,
and the copy runs the command, hears the client's signals and ends with it. What a copy starts in its turn, the other ranks
of a training and the jobs of a table, are copies, too. They draw no figures (``tests.cheap``). Tests of the start of a
process start it as users do.
"""

import atexit
import fcntl
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1]
ATTEST = "attest.app.cli.main"
KILLED = 128 + signal.SIGKILL
"""Exit code of a client whose copy ended without a word."""


def attest_command(module: str = ATTEST) -> tuple[str, ...]:
    """What to type in place of ``python -m attest``, or of another module whose ``main`` takes the arguments."""
    return client(_server(), module)


@cache
def _server() -> str:
    """The address of this process's server; it starts when one is first asked, and ends with this process."""
    place = tempfile.mkdtemp(prefix="attest-")
    address = os.path.join(place, "socket")
    server = subprocess.Popen([sys.executable, "-m", "tests.forking", address], cwd=ROOT, stdout=subprocess.PIPE)
    atexit.register(server.kill)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return address


def client(address: str, module: str = ATTEST) -> tuple[str, ...]:
    """The command whose arguments a server runs."""
    return sys.executable, "-S", __file__, address, module


def ask(address: str, module: str, arguments: list[str]) -> int:
    """Have a command run by the server; returns its exit code."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        mine = {"folder": os.getcwd(), "environment": dict(os.environ), "most": resource.getrlimit(resource.RLIMIT_FSIZE)}
        asked = json.dumps({"module": module, "arguments": arguments, **mine}).encode()
        socket.send_fds(connection, [len(asked).to_bytes(4, "big")], [0, 1, 2])
        connection.sendall(asked)
        process = int.from_bytes(connection.recv(4), "big")
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, lambda number, frame: os.kill(process, number))
        code = connection.recv(1)
        return code[0] if code else KILLED


def serve(address: str) -> None:
    """Copy this process for each client; it ends with the one that started it, however that ends."""
    from attest.core.processes import end_with_parent
    from tests.cheap import draw_nothing

    end_with_parent()
    draw_nothing()
    _start_copies(address)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the copies
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()
        print("ready", flush=True)
        while True:
            connection, _ = door.accept()
            if os.fork() == 0:
                door.close()
                _run(connection)
            connection.close()


def _run(connection: socket.socket) -> None:
    size, files, _, _ = socket.recv_fds(connection, 4, 3)
    asked = json.loads(connection.makefile("rb").read(int.from_bytes(size, "big")))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for standard, file in enumerate(files):
        os.dup2(file, standard)
        os.close(file)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    resource.setrlimit(resource.RLIMIT_FSIZE, tuple(asked["most"]))
    connection.sendall(os.getpid().to_bytes(4, "big"))
    _end_with(connection)
    code = _main(asked["module"], asked["arguments"])
    sys.stdout.flush()
    sys.stderr.flush()
    fcntl.fcntl(connection, fcntl.F_SETFL, 0)
    connection.sendall(bytes([code]))
    os._exit(0)


def _start_copies(address: str) -> None:
    """Have what starts further processes ask the server for them."""
    from pytorch_lightning.strategies.launchers import subprocess_script

    from attest.app.cli import main, reproduce

    main.end_with_first_rank = lambda: None  # no copy is another's child; where this is tested nothing is copied
    reproduce.ATTEST = client(address)
    subprocess_script._basic_subprocess_cmd = lambda: [*client(address), *sys.argv[1:]]


def _end_with(connection: socket.socket) -> None:
    """Let the client's end kill this process."""
    set_signal = 10  # F_SETSIG of Linux's fcntl
    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(connection, set_signal, signal.SIGKILL)
    fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) | os.O_ASYNC)


def _main(module: str, arguments: list[str]) -> int:
    import traceback

    sys.argv = ["attest", *arguments]
    try:
        return import_module(module).main(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:  # as Python ends a command
        traceback.print_exc()
        return 1


if __name__ == "__main__":
    if len(sys.argv) == 2:
        serve(sys.argv[1])
    else:
        sys.exit(ask(*sys.argv[1:3], sys.argv[3:]))
