"""What a loader may do to the process that reads a file, and what becomes of the file and the program."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import psutil
import pytest

from adaptive_rag.errors import AdaptiveRAGWarning
from adaptive_rag.ingest import (
    Failure,
    SourceFile,
    SourceText,
    discover,
    extract_text,
    process,
    read_source,
    workers,
)
from adaptive_rag.ingest.allowance import Bounds
from adaptive_rag.ingest.loaders import LOADERS, Loader

# Loaders that each do something to the process they run in, and what is said of the file then.
HARMFUL = {
    "crashes": ("import ctypes; ctypes.string_at(0)", r"made the process that read it crash \(SIGSEGV\)"),
    "leaves": ("import os; os._exit(3)", r"crash \(exit code 3\)"),
    "exits": ("raise SystemExit(0)", r"crash \(exit code 0\)"),
    "aborts": ("import os; os.abort()", r"crash \(SIGABRT\)"),
    "loops": ("while True: pass", "takes more than 1 s of processor time"),
    "loops in C": ("import re; re.match('(a+)+b', 'a' * 60)", "takes more than 1 s of processor time"),
    "loops in a child": (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])",
        "takes more than 1 s of processor time",
    ),
    "sleeps": ("import time; time.sleep(99)", "was not read within 3 s"),
    "stops": ("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", "was not read within 3 s"),
    # the child holds the pipe open
    "leaves a child": (
        "import os, time\n    if not os.fork(): time.sleep(99)\n    os._exit(4)", r"crash \(exit code 4\)"
    ),
    "grows": (
        "a = []\n    while True: a.append(bytearray(10_000_000))",
        "takes more than 300 MB of memory|needs more memory",
    ),
    "wants 10 GB": ("bytearray(10_000_000_000)", "needs more memory than a file may take"),
    "recurs": ("def f(): f()\n    f()", "is nested too deep"),
    "raises": ("raise KeyError('a bug')", r"its loader failed on it \(KeyError\)"),
    "is interrupted": ("raise KeyboardInterrupt", "crash"),
    "prints": ("import os; os.write(1, b'gibberish' * 9999); print('x'); builder.add('tide')", None),
    "closes all": ("import os; os.closerange(0, 3); builder.add('tide')", None),
    "changes its place": ("import os; os.chdir('/tmp'); builder.add('tide')", None),
    "leaves a thread": (
        "import threading, time\n    threading.Thread(target=time.sleep, args=(99,)).start()\n"
        "    builder.add('tide')", None
    ),
}  # fmt: skip
SLOW = Bounds(seconds=1, seconds_per_mb=0, memory_mb=300, memory_per_mb=0)


@pytest.fixture
def load_with(tmp_path, monkeypatch):
    """Return a function that makes a file whose loader runs the given lines."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(lines):
        name = f"harmful_{abs(hash(lines))}"
        (tmp_path / f"{name}.py").write_text(f"def load(path, builder):\n    {lines}\n")
        monkeypatch.setitem(LOADERS, "harmful", Loader((".harm",), f"{name}:load"))
        path = tmp_path / "a.harm"
        path.write_text("tide")
        return path

    return make


def read_with(path):
    return read_source(SourceFile(path, "a.harm"))


@pytest.fixture
def tide(tmp_path):
    """A file that any process can read."""
    (tmp_path / "a.txt").write_text("The tide comes in.")
    return tmp_path / "a.txt"


@pytest.mark.few(5)
@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
@pytest.mark.parametrize("what", HARMFUL)
def test_a_loader_loses_its_own_file_alone(what, load_with, tide, monkeypatch):
    monkeypatch.setattr(process, "BOUNDS", SLOW)
    lines, said = HARMFUL[what]
    if said == "was not read within 3 s":
        monkeypatch.setattr(process, "longest_wait", lambda seconds: 3 * seconds)
    started = time.perf_counter()
    result = read_with(load_with(lines))
    assert time.perf_counter() - started < 10
    if said is None:
        assert isinstance(result, SourceText) and result.text == "tide"
    else:
        assert isinstance(result, Failure) and re.search(said, result.reason), result
        assert "\n" not in str(result)
    assert extract_text(tide).text == "The tide comes in."


def test_many_threads_read_at_once(tmp_path):
    notes = [f"Note {number} of the tide." for number in range(40)]
    for number, note in enumerate(notes):
        (tmp_path / f"{number:02}.txt").write_text(note)
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(read_source, discover(tmp_path)))
    assert [text.text for text in texts if isinstance(text, SourceText)] == notes
    assert len(workers._idle) <= workers.MOST_IDLE


@pytest.mark.usefixtures("without_workers")
def test_what_python_prints_at_its_start_does_no_harm(tmp_path, monkeypatch, tide):
    (tmp_path / "sitecustomize.py").write_text("print('Welcome to the Python of this company.', end='')")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    assert extract_text(tide).text == "The tide comes in."
    assert workers._idle


@pytest.fixture
def temporary(tmp_path, monkeypatch, without_workers):
    """Return an empty folder for the temporary files of this program and of those that it starts."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    workers.end_idle_workers()


def test_temporary_files_go_with_the_process_that_made_them(temporary, load_with, monkeypatch):
    monkeypatch.setattr(process, "BOUNDS", SLOW)
    lines = "import tempfile; path = tempfile.mkdtemp(); {} builder.add(path)"
    path = extract_text(load_with(lines.format(""))).text
    assert Path(path).is_dir() and Path(path).is_relative_to(temporary)
    workers.end_idle_workers()
    assert not any(temporary.iterdir())
    for harm in ("import os; os._exit(3);", "exec('while True: pass');"):
        assert isinstance(read_with(load_with(lines.format(harm))), Failure)
        assert not any(temporary.iterdir()), harm


def test_a_process_that_has_ended_by_itself_leaves_no_temporary_files(temporary, load_with):
    path = load_with("import tempfile; builder.add(tempfile.mkdtemp())")
    extract_text(path)
    [ended] = workers._idle
    ended._process.kill()
    wait_until(ended._has_ended)
    extract_text(path)
    [worker] = workers._idle
    assert worker is not ended and [str(folder) for folder in temporary.iterdir()] == [worker._folder]


def test_where_no_temporary_folder_can_be_created_files_are_read_in_a_process_too(temporary, tide):
    temporary.rmdir()
    assert extract_text(tide).text == "The tide comes in."
    assert workers._idle


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("end", ["", "os.kill(os.getpid(), signal.SIGTERM)"], ids=["ends", "is killed"])
def test_a_program_leaves_no_temporary_files_and_its_forks_keep_them(temporary, tide, end):
    code = (
        f"extract_text({str(tide)!r}); [worker] = workers._idle\n"
        "if child := os.fork(): os.waitpid(child, 0); assert os.path.isdir(worker._folder)\n"
        f"if child: {end or 'pass'}\n"
    )
    run_python(code, expected=-signal.SIGTERM if end else 0)
    wait_until(lambda: not any(temporary.iterdir()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_of_the_program_has_a_worker_of_its_own(tide):
    run_python(
        f"path = {str(tide)!r}\n"
        "extract_text(path); [worker] = workers._idle; before = worker._process.pid\n"
        "child = os.fork()\n"
        "text = extract_text(path).text; [worker] = workers._idle\n"
        "if child: assert os.waitpid(child, 0)[1] == 0 and worker._process.pid == before\n"
        "else: workers.end_idle_workers(); os._exit(worker._process.pid == before)\n"
    )


def test_a_worker_imports_no_more_than_it_needs(load_with):
    lines = "import sys; import adaptive_rag.ingest.docx; builder.add(' '.join(sorted(sys.modules)))"
    loaded = set(extract_text(load_with(lines)).text.split())
    heavy = {"lancedb", "onnxruntime", "langgraph", "langchain", "numpy", "pydantic", "tokenizers"}
    assert "docx" in loaded and not loaded & heavy


def test_a_worker_ends_when_there_is_nothing_to_do():
    code = "import adaptive_rag.ingest.worker as worker; worker.IDLE_SECONDS = 0.5; worker.serve()"
    left = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert left.wait(timeout=30) == 1
    assert left.stdin is not None
    left.stdin.close()


def test_a_run_that_stops_gives_up_the_file_at_once(load_with):
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    started = time.perf_counter()
    result = read_source(SourceFile(load_with("while True: pass"), "a.harm"), stop)
    assert str(result) == "a.harm was not read: the run was ended"
    assert time.perf_counter() - started < 10


PROGRAM = """
import sys
print("once", flush=True)
sys.path.insert(0, {folder!r})
from pathlib import Path
from adaptive_rag.ingest import SourceFile, allowance, loaders, process, read_source
loaders.LOADERS["harmful"] = loaders.Loader((".harm",), "endless:load")
process.BOUNDS = allowance.Bounds(seconds={seconds})
print(read_source(SourceFile(Path({folder!r}, "a.harm"), "a.harm")), flush=True)
"""


@pytest.fixture
def program(tmp_path):
    """Return a function that starts a program, from standard input, that reads a file without end."""
    (tmp_path / "endless.py").write_text(
        "import os, re\ndef load(path, builder):\n"
        "    path.with_name('pid').write_text(str(os.getpid()))\n    re.match('(a+)+b', 'a' * 60)\n"
    )
    (tmp_path / "a.harm").write_text("tide")
    started = []

    def start(seconds, **options):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        running = subprocess.Popen([sys.executable, "-"], text=True, **pipes, **options)
        started.append(running)
        running.stdin.write(PROGRAM.format(folder=str(tmp_path), seconds=seconds))
        running.stdin.close()
        running.stdin = None
        return running

    yield start
    for running in started:
        running.kill()
        running.communicate()


def wait_until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def run_python(code, expected=0):
    """Run a program that reads files, and return what it prints."""
    imports = "import os, resource, signal; from adaptive_rag.ingest import extract_text, workers\n"
    command = [sys.executable, "-W", "error", "-c", imports + code]
    program = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert program.returncode == expected, program.stderr
    return program.stdout.strip()


def worker_of(folder):
    """Wait for the worker to begin, and return it."""
    wait_until(lambda: (folder / "pid").exists() and (folder / "pid").read_text(), 60)
    return psutil.Process(int((folder / "pid").read_text()))


def test_a_program_without_a_guard_runs_once(tmp_path, program):
    stdout, stderr = program(1).communicate(timeout=60)
    assert stdout.splitlines() == [
        "once",
        "a.harm takes more than 1 s of processor time to read. Save it anew, or split it",
    ]
    assert stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
def test_a_program_that_is_killed_leaves_no_worker(tmp_path, program):
    running = program(0.5)
    worker = worker_of(tmp_path)
    running.kill()
    worker.wait(timeout=200)  # it ends after some processor time


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
def test_ctrl_c_ends_the_program_and_its_worker(tmp_path, program):
    heed = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    running = program(60, start_new_session=True, preexec_fn=heed)
    worker = worker_of(tmp_path)
    # as a terminal does it: to all that the program started in its session
    os.killpg(running.pid, signal.SIGINT)
    _, stderr = running.communicate(timeout=20)
    assert stderr.rstrip().endswith("KeyboardInterrupt")
    worker.wait(timeout=10)


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX is needed")
def test_a_program_without_standard_streams_reads_too(tmp_path, tide):
    code = (
        "from adaptive_rag.ingest import extract_text\n"
        f"open({str(tmp_path / 'found')!r}, 'w').write(extract_text({str(tide)!r}).text)"
    )
    command = ["sh", "-c", 'exec "$0" -c "$1" <&- >&- 2>&-', sys.executable, code]
    subprocess.run(command, check=True, timeout=60)
    assert (tmp_path / "found").read_text() == "The tide comes in."


@pytest.fixture
def without_workers(monkeypatch):
    """Begin as a program that has not yet started a worker."""
    workers.end_idle_workers()
    monkeypatch.setattr(workers, "_refused_until", 0.0)
    yield
    workers.end_idle_workers()


@pytest.mark.few(2)
@pytest.mark.usefixtures("without_workers")
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"frozen": True}, "a frozen program has no Python to start"),
        ({"executable": ""}, "this program is not Python"),
        ({"executable": "/usr/bin/blender"}, "blender is not Python"),
        ({"executable": "/nowhere/python3"}, "No such file or directory"),
        ({"executable": "PYTHON"}, "Out of order"),
    ],
    ids=["frozen", "no name", "another program", "nowhere", "broken"],
)
def test_where_no_process_can_be_started_files_are_read_here(tmp_path, monkeypatch, tide, changes, said):
    broken = tmp_path / "python3"
    broken.write_text("#!/bin/sh\necho 'Out of order' >&2\nexit 1\n")
    broken.chmod(0o755)
    for name, value in changes.items():
        monkeypatch.setattr(sys, name, str(broken) if value == "PYTHON" else value, raising=False)
    (tmp_path / "b.docx").write_text("no document")
    with pytest.warns(AdaptiveRAGWarning, match="without bounds of time and memory") as told:
        assert extract_text(tide).text == "The tide comes in."
    assert len(told) == 1 and said in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = read_source(SourceFile(tmp_path / "b.docx", "b.docx"))
    assert isinstance(result, Failure) and "is not a Word document" in result.reason


def test_a_loader_of_a_notebook_is_run_in_the_notebook(tmp_path, monkeypatch):
    def load_toy(path, builder):
        builder.add(f"{os.getpid()}")

    monkeypatch.setattr(sys.modules["__main__"], "load_toy", load_toy, raising=False)
    monkeypatch.setitem(LOADERS, "toy", Loader((".toy",), "__main__:load_toy"))
    (tmp_path / "a.toy").write_text("tide")
    assert extract_text(tmp_path / "a.toy").text == str(os.getpid())


def test_bounds_grow_with_what_a_file_takes_on_the_disk_and_more_so_for_rows(tmp_path):
    bounds = Bounds(10, 5, 100, 10, memory_per_mb_of_rows=40, memory_per_mb_of_packed_rows=190)

    def granted(name, data=b"", size=0):
        (tmp_path / name).write_bytes(data)
        if size:
            os.truncate(tmp_path / name, size)
        seconds, memory = bounds.for_file(tmp_path / name)
        return round(seconds), round(memory / 1e7)

    two_mb = os.urandom(2_000_000)
    assert granted("small.txt", b"tide") == (10, 10) and granted("large.txt", two_mb) == (20, 12)
    assert granted("rows.csv", two_mb) == (20, 18)
    assert [granted(f"rows.{suffix}", two_mb) for suffix in ("xlsx", "xls", "ots")] == [(20, 48)] * 3
    assert bounds.for_file(tmp_path / "gone") == (10, 100_000_000)
    assert granted("hole.txt", size=1 << 32) == (10, 10) or not hasattr(os.stat(tmp_path), "st_blocks")
    assert Bounds(memory_mb=10**9).for_file(tmp_path / "large.txt")[1] < psutil.virtual_memory().total


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limit")
def test_files_are_read_under_a_limit_that_cannot_be_raised(tide):
    # An ordinary user may not raise it; root may, where nobody has taken the right away.
    limit = "resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))"
    assert run_python(f"{limit}; print(extract_text({str(tide)!r}).text)") == "The tide comes in."


@pytest.mark.usefixtures("without_workers")
def test_a_start_that_the_system_refused_is_tried_again(monkeypatch, tide):
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", "/nowhere/python3")
        with pytest.warns(AdaptiveRAGWarning, match="without bounds"):
            extract_text(tide)
    assert workers.take_worker() is None
    monkeypatch.setattr(workers, "_refused_until", time.monotonic() - 1)
    worker = workers.take_worker()
    assert worker is not None
    worker.end()


BUSY = "    def compute(seconds):\n        while time.process_time() < seconds: pass\n    "


@pytest.mark.parametrize(
    ("bounds", "asked", "reason"),
    [
        (SLOW, "ask_for(20, 0); compute(1.5)", None),
        (SLOW, "ask_for(0.2, 0); compute(99)", "takes more than 1 s of processor time"),
        (SLOW, "time.sleep(2.5)", None),
        (Bounds(20, 0, 300, 0), "worker._GRACE_SECONDS = 0; ask_for(0.1, 0); time.sleep(0.5)", None),
    ],
    ids=["more", "not enough", "waiting does not count", "less than is left does not shorten it"],
)
def test_a_loader_may_ask_for_more_time(load_with, monkeypatch, bounds, asked, reason):
    monkeypatch.setattr(process, "BOUNDS", bounds)
    imports = "import time; from adaptive_rag.ingest import allowance, worker; ask_for = allowance.ask_for"
    read = read_with(load_with(f"{imports}\n{BUSY}{asked}; builder.add('tide')"))
    workers.end_idle_workers()
    if reason:
        assert isinstance(read, Failure) and reason in read.reason
    else:
        assert isinstance(read, SourceText), read


def test_a_loader_may_ask_for_more_memory(load_with, monkeypatch):
    monkeypatch.setattr(process, "BOUNDS", Bounds(20, 0, 200, 0))
    lines = "from adaptive_rag.ingest.allowance import ask_for; {} a = b'1' * 4 * 10**8; builder.add('tide')"
    for_one, for_all = "ask_for(9, 500_000_000, stays=False);", "ask_for(9, 500_000_000);"
    outcomes = [type(read_with(load_with(lines.format(asked)))) for asked in ("", for_one, "", for_all)]
    assert outcomes == [Failure, SourceText, Failure, SourceText]
