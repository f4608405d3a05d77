"""How kernels are compiled, kept and called; and AES as the kernels compute it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from parties.jobs.execution import profiles
from protocols.counts import RowCounts
from protocols.id3 import Problem, id3
from smc import kernels
from smc.engines import Profile, engine_of
from smc.hashing import hash_keys, round_keys
from smc.kernels import native, private_files, processor, warm
from smc.local import run_local
from tests.support.gate_hash import gate_hash
from tests.support.waiting import PATIENCE


def aes(key: bytes, blocks: np.ndarray) -> np.ndarray:
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return np.frombuffer(encryptor.update(blocks.tobytes()), dtype=np.uint64).reshape(-1, 2)


def test_round_keys_are_those_of_fips_197() -> None:
    key = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")
    schedule = round_keys(key).tobytes()
    assert schedule[:16] == key
    assert schedule[16:32].hex() == "a0fafe1788542cb123a339392a6c7605"  # FIPS-197, appendix A.1
    assert schedule[160:176].hex() == "d014f9a8c9ee2589e13f0cc8b6630ca6"


@pytest.mark.parametrize("count", [0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 1000])
def test_the_hash_is_its_formula(count: int) -> None:
    rng = np.random.default_rng(count)
    key = rng.bytes(16)
    source = rng.integers(0, 1 << 64, (count, 2), dtype=np.uint64)
    target = np.zeros_like(source)
    first = (1 << 40) + 8 * count  # the last case goes through seventeen keys
    kernels.hash_blocks(hash_keys(key), first, source, target)
    for i in range(count):
        block = int.from_bytes(source[i].tobytes(), "little")
        assert int.from_bytes(target[i].tobytes(), "little") == gate_hash(key, block, first + i)


def test_wrong_arguments_are_refused() -> None:
    words = hash_keys(bytes(16))
    blocks = np.zeros((4, 2), dtype=np.uint64)
    with pytest.raises(TypeError, match="takes 4 arguments"):
        kernels.hash_blocks(words, 0, blocks)
    with pytest.raises(TypeError, match="C-ordered array of uint64 in 2 dimensions, got uint8"):
        kernels.hash_blocks(words, 0, blocks.astype(np.uint8), blocks)
    with pytest.raises(TypeError, match="got uint64 in 1"):
        kernels.hash_blocks(words, 0, blocks.reshape(-1), blocks)
    with pytest.raises(TypeError):
        kernels.hash_blocks(words, 0, np.zeros((2, 4), dtype=np.uint64).T, blocks)


def test_a_program_that_finds_its_kernels_compiled_does_not_load_numba() -> None:
    program = (
        "import sys, numpy as np\n"
        "from smc.hashing import round_keys\n"
        "round_keys(bytes(16))\n"
        "print('numba' in sys.modules)\n"
    )
    round_keys(bytes(16))  # compiled now at the latest
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert found.stdout.strip() == "False"


def test_a_damaged_or_missing_file_is_compiled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    code = [b"machine code"]
    # Inside, since calls keep the code in memory, and real compiling takes long.
    monkeypatch.setattr(native, "cache_directories", lambda: [tmp_path / "new", tmp_path])
    monkeypatch.setattr(native, "compiled", lambda module: code[0])
    monkeypatch.setattr(native, "on_compile", told.append)
    assert native._machine_code("labels") == b"machine code"
    (file,) = (tmp_path / "new").iterdir()
    code[0] = b"other code"
    assert native._machine_code("labels") == b"machine code"  # from the file
    file.write_bytes(file.read_bytes()[:-1])
    assert native._machine_code("labels") == b"other code"
    assert told == ["labels", "labels"]
    assert [path.name for path in (tmp_path / "new").iterdir()] == [file.name]  # and nothing half-written


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[str]]:
    """A safe folder with a file of machine code in it, and what is said of code that is not loaded."""
    refused: list[str] = []
    folder = tmp_path / "cache"
    monkeypatch.setattr(native, "cache_directories", lambda: [folder])
    monkeypatch.setattr(native, "compiled", lambda module: b"planted")
    monkeypatch.setattr(native, "on_refusal", refused.append)
    assert native._machine_code("labels") == b"planted"
    monkeypatch.setattr(native, "compiled", lambda module: b"own")
    assert native._machine_code("labels") == b"planted"
    return folder, refused


@pytest.mark.parametrize("which", ["file", "folder"])
@pytest.mark.parametrize("mode", [0o020, 0o002, 0o022])
def test_code_that_others_may_write_is_not_loaded(cache: tuple[Path, list[str]], which: str, mode: int) -> None:
    folder, refused = cache
    (file,) = folder.iterdir()
    place = file if which == "file" else folder
    place.chmod(place.stat().st_mode | mode)
    assert native._machine_code("labels") == b"own"
    assert len(refused) == 1
    assert f"{place} may be written by other users" in refused[0]
    if which == "file":  # put right: written anew, by this user alone
        assert native._machine_code("labels") == b"own"
        assert len(refused) == 1
        assert file.stat().st_mode & 0o077 == 0
    else:  # left alone, and said each time
        native._machine_code("labels")
        assert len(refused) == 2
        assert b"planted" in file.read_bytes()


@pytest.mark.parametrize("which", ["file", "folder"])
def test_code_of_another_user_is_not_loaded(
    cache: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    folder, refused = cache
    (file,) = folder.iterdir()
    place = file if which == "file" else folder
    other, status = place.stat(), native.os.fstat

    def fstat(handle: int) -> Any:
        found = status(handle)
        if (found.st_dev, found.st_ino) != (other.st_dev, other.st_ino):
            return found
        return SimpleNamespace(st_uid=found.st_uid + 1, st_mode=found.st_mode)

    monkeypatch.setattr(native.os, "fstat", fstat)
    assert native._machine_code("labels") == b"own"
    assert len(refused) == 1
    assert f"{place} belongs to another user" in refused[0]


def test_what_root_has_compiled_is_loaded_by_all_and_left_alone(
    cache: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an installation for a service's user: in an image, or below /opt."""
    folder, refused = cache
    (file,) = folder.iterdir()
    roots, status = {place.stat().st_ino for place in (folder, file)}, native.os.fstat

    def fstat(handle: int) -> Any:
        found = status(handle)
        return SimpleNamespace(st_uid=0, st_mode=found.st_mode) if found.st_ino in roots else found

    monkeypatch.setattr(native.os, "fstat", fstat)
    monkeypatch.setattr(native.os, "geteuid", lambda: 10001)
    monkeypatch.setattr(native, "lock", lambda folder: pytest.fail("a lock on root's folder stops other users"))
    assert native._machine_code("labels") == b"planted"
    assert refused == []
    file.unlink()
    assert native._machine_code("labels") == b"own"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("which", ["file", "folder"])
def test_code_behind_a_symbolic_link_is_not_loaded(cache: tuple[Path, list[str]], which: str) -> None:
    folder, refused = cache
    (file,) = folder.iterdir()
    place = file if which == "file" else folder
    place.rename(place.with_name("elsewhere"))
    place.symlink_to(place.with_name("elsewhere"))
    assert native._machine_code("labels") == b"own"
    assert len(refused) == 1
    assert "is a symbolic link" in refused[0]


def test_an_unsafe_folder_without_code_is_passed_over_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such is __pycache__ under the umask 002; the next folder is taken, and never anything is written to the first."""
    shared, own = tmp_path / "shared", tmp_path / "own"
    shared.mkdir()
    shared.chmod(0o775)
    refused: list[str] = []
    monkeypatch.setattr(native, "cache_directories", lambda: [shared, own])
    monkeypatch.setattr(native, "compiled", lambda module: b"code")
    monkeypatch.setattr(native, "on_refusal", refused.append)
    assert native._machine_code("labels") == b"code"
    assert refused == []
    assert list(shared.iterdir()) == []
    assert len(list(own.iterdir())) == 1


def test_a_refusal_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    native.on_refusal("because")
    assert capsys.readouterr().err == "smc: because\n"


def test_the_fingerprint_covers_all_that_a_kernel_is_made_of() -> None:
    """A kernel module may import from the shared sources only: else a change there would leave old code in use."""
    directory = Path(native.__file__).parent
    for module in native.Kernel.registry:
        found = re.findall(r"^from smc\.kernels\.(\w+) import", (directory / f"{module}.py").read_text(), re.MULTILINE)
        assert set(found) <= set(native.SHARED_SOURCES)


def test_no_writable_directory_is_no_reason_to_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a file"
    file.write_text("")
    monkeypatch.setattr(native, "cache_directories", lambda: [file / "below"])
    monkeypatch.setattr(native, "compiled", lambda module: b"code")
    assert native._machine_code("labels") == b"code"


def test_where_linux_describes_no_processor_llvm_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A service with ProcSubset=pid sees no such file; an unknown processor may be described in other words."""
    named, described = processor.identity.__wrapped__, processor.described.__wrapped__
    monkeypatch.setattr(processor, "described", described)
    (tmp_path / "other").write_text("flags: fp asimd\n")
    for path in (tmp_path / "none", tmp_path / "other"):
        monkeypatch.setattr(processor, "CPUINFO", path)
        assert named() == repr(
            (llvm.get_default_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
        )


def test_two_processes_do_not_both_compile(tmp_path: Path) -> None:
    """Both begin at the same time, and the time that one compiles is long: the other waits, and loads."""
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from smc import kernels\n"
        "from smc.kernels import native\n"
        f"folder = Path({str(tmp_path / 'cache')!r})\n"
        "native.cache_directories = lambda: [folder]\n"
        "native.compiled = lambda module: time.sleep(1.0) or b'code'\n"
        "native.on_compile = print\n"
        "sys.stdin.readline()\n"
        "assert native._machine_code('labels') == b'code'\n"
    )
    command = [sys.executable, "-c", program]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    running = [subprocess.Popen(command, **pipes) for _ in range(2)]
    for one in running:
        one.stdin.write("\n")
        one.stdin.flush()
    said = [one.communicate(timeout=PATIENCE)[0] for one in running]
    assert [one.returncode for one in running] == [0, 0]
    assert sorted(said) == ["", "labels\n"]


def test_a_lock_that_is_never_given_back_is_not_waited_for_forever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "cache_directories", lambda: [tmp_path])
    monkeypatch.setattr(native, "compiled", lambda module: b"code")
    monkeypatch.setattr(private_files, "LOCK_SECONDS", 0.05)
    tmp_path.chmod(0o700)
    with native.compiling():
        assert native._machine_code("labels") == b"code"


def test_without_a_home_or_a_package_to_write_in_the_temporary_directory_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("package", "tmp"):
        (tmp_path / name).mkdir(mode=0o700)
    (tmp_path / "file").touch()  # no folder can be made below: even for root
    monkeypatch.setattr(native, "__file__", str(tmp_path / "file" / "native.py"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(native.tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(native, "compiled", lambda module: b"code")
    assert native._machine_code("labels") == b"code"
    (folder,) = (tmp_path / "tmp").iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    monkeypatch.setattr(native, "compiled", lambda module: b"other")
    assert native._machine_code("labels") == b"code"  # from there
    assert native.is_compiled("labels")


def test_what_is_compiled_ahead_is_said_with_its_share(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    made: list[str] = []
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(warm, "_seen", set())
    monkeypatch.setattr(warm, "is_compiled", lambda module: module in ("ot", *made))
    monkeypatch.setattr(warm, "prepare", made.append)
    monkeypatch.setattr(warm, "compiling", lambda: nullcontext(False))
    warm.warm(["labels", "ot", "gmw", "labels"], lambda done, total: told.append((done, total)))
    assert made == ["labels", "gmw"]
    assert told == [(0, 2), (1, 2), (2, 2)]
    warm.warm(["gmw", "ot"], lambda done, total: told.append((done, total)))
    assert len(told) == 3  # nothing is said where nothing is to be done
    warm.warm(["lpn"])
    assert capsys.readouterr().err == f"smc: {warm.NOTICE}\n"


def test_each_core_compiles_a_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process with the longest module fails: what it has not compiled is compiled here."""
    prepared: list[str] = []
    shares: list[Sequence[str]] = []
    monkeypatch.setattr(warm, "_seen", set())
    monkeypatch.setattr(warm, "_cores", lambda: 2)
    monkeypatch.setattr(warm, "prepare", prepared.append)
    monkeypatch.setattr(warm, "is_compiled", lambda module: (tmp_path / module).exists())
    monkeypatch.setattr(native, "cache_directories", lambda: [tmp_path / "cache"])

    def process(modules: Sequence[str]) -> subprocess.Popen[bytes]:
        shares.append(modules)
        paths = [str(tmp_path / module) for module in modules if module != "ot"]
        program = f"import time; [(time.sleep(0.2), open(path, 'w')) for path in {paths}]"
        return subprocess.Popen([sys.executable, "-c", program])

    monkeypatch.setattr(warm, "_process", process)
    warm.warm(["labels", "halfgates", "threehalves", "ot"], lambda done, total: None)
    assert shares == [["ot", "labels"], ["threehalves", "halfgates"]]
    assert prepared[-1] == "ot"
    assert sorted(prepared[:-1]) == ["halfgates", "labels", "threehalves"]


def test_a_process_of_a_core_finds_the_package() -> None:
    assert warm._process([]).wait(PATIENCE) == 0


@pytest.mark.parametrize(
    "profile", dict.fromkeys((*profiles.profiles(integers=True), Profile("yao", "trapdoor"))), ids=str
)
def test_a_profile_names_all_kernels_that_it_runs(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or some would be compiled while the peer waits."""
    called: set[str] = set()
    plain = native.Kernel.__call__

    def call(kernel: native.Kernel, *arguments: Any) -> None:
        called.add(kernel.module)
        plain(kernel, *arguments)

    monkeypatch.setattr(native.Kernel, "__call__", call)
    rows = RowCounts((2, 2), 2, np.array([[0, 0], [1, 0], [0, 1], [1, 1]]), np.array([0, 1, 1, 0]))
    problem = Problem((2, 2), 2, max_rows=8)
    run_local(lambda session: id3(engine_of(session, profile), problem, rows))
    assert called
    assert called <= set(profile.kernels)


def test_a_missing_compiler_is_reported_without_a_promise_to_compile(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(warm, "_absent", list)
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    with pytest.raises(ImportError, match="llvmlite"):
        warm.warm(["labels"])
    assert capsys.readouterr().err == ""
